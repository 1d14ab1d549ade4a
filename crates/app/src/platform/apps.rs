//! `vestry app create|list|show|set`.

use serde_json::Value;
use vestry_domain::action::Action;
use vestry_domain::app::{self, App, AppSettings, NamedEvents};
use vestry_domain::audit::control::{ControlAction, Detail};
use vestry_domain::event::{ChangedFields, Fact};
use vestry_domain::ids::AppId;
use vestry_domain::test_clock::TestClock;
use vestry_domain::{Environment, Invalid, World, number};

use crate::kernel::change::{Change, worlds_of};
use crate::kernel::fault::retried;
use crate::kernel::key_pins::hold_root;
use crate::{Fault, Principal, Refusal, Service};

impl Service {
    /// Creates an App with the App keys and a signing key for each of its two environments. API keys are created separately.
    ///
    /// # Errors
    /// [`Refusal`].
    pub async fn create_app(&self, by: &Principal, name: &str) -> Result<App, Refusal> {
        by.authorize(Action::CreateApp)?;
        let now = self.ports.clock.machine();
        let app = App {
            id: self.new_id(now),
            name: app::name(name)?,
            settings: AppSettings::default(),
            test_clock: TestClock::default(),
            named_events: NamedEvents::default(),
            created_at: now,
            updated_at: now,
        };
        retried(|| self.store_app(by, &app)).await?;
        // Signing keys are encrypted under the App keys, so those come first. If a run stops in between, `signing-key rotate` creates the
        // missing ones.
        for environment in Environment::ALL {
            self.make_signing_key(by, &app, World::new(app.id, environment), now)
                .await?;
        }
        Ok(app)
    }

    async fn store_app(&self, by: &Principal, app: &App) -> Result<(), Refusal> {
        // Mint new keys on each retry: after losing a race with a root key rotation, the previous ones are wrapped by the old version.
        let custodian = &self.ports.custodian;
        let keys = custodian.mint_app_keys(app.id, app.created_at).await;
        let keys = keys.map_err(Fault::from)?;
        let mut tx = self.begin_change(worlds_of(app.id)).await?;
        tx.apps().insert(app).await?;
        for key in &keys {
            hold_root(&mut *tx, key).await?;
        }
        for key in &keys {
            tx.app_keys().insert(key).await?;
        }
        self.emit_in_both_environments(&mut *tx, by, app.id, Fact::app_created())
            .await?;
        let detail = Detail::default().with("name", app.name.as_str());
        self.note_in_both(by, &mut tx, app.id, ControlAction::AppCreate, &detail);
        Ok(tx.commit().await?)
    }

    /// Records an action on the App as a whole in the control chains of both environments.
    fn note_in_both(
        &self,
        by: &Principal,
        tx: &mut Change<'_>,
        app: AppId,
        action: ControlAction,
        detail: &Detail,
    ) {
        for world in worlds_of(app) {
            tx.note(self.done(&by.at(world), action, app, detail));
        }
    }

    /// Lists all Apps, oldest first.
    ///
    /// # Errors
    /// [`Refusal`].
    pub async fn list_apps(&self, by: &Principal) -> Result<Vec<App>, Refusal> {
        by.authorize(Action::ReadApps)?;
        Ok(self.ports.store.read().await?.apps().list().await?)
    }

    /// Returns one App.
    ///
    /// # Errors
    /// [`Refusal`].
    pub async fn show_app(&self, by: &Principal, id: AppId) -> Result<App, Refusal> {
        by.authorize(Action::ReadApps)?;
        self.app(id).await
    }

    /// Changes settings, given as `name=value` pairs, all or none. `name` changes the App's name. Running services pick the change up
    /// within a second.
    ///
    /// # Errors
    /// [`Refusal`], naming the setting that is unknown or out of bounds.
    pub async fn set_app(
        &self,
        by: &Principal,
        id: AppId,
        changes: &[(String, String)],
    ) -> Result<App, Refusal> {
        by.authorize(Action::UpdateApp)?;
        // Reject invalid changes before taking the lock.
        changed(&self.app(id).await?, changes)?;
        retried(|| self.update_app(by, id, changes)).await
    }

    /// Returns the updated App, or the unchanged one if no value differs.
    async fn update_app(
        &self,
        by: &Principal,
        id: AppId,
        changes: &[(String, String)],
    ) -> Result<App, Refusal> {
        let mut tx = self.begin_change(worlds_of(id)).await?;
        // The lock serialises concurrent changes, so each applies to the result of the previous one.
        let before = tx.apps().lock(id).await?;
        let before = before.ok_or(Refusal::NotFound("app"))?;
        let app = App {
            updated_at: self.ports.clock.machine(),
            ..changed(&before, changes)?
        };
        let (names, detail) = difference(&before, &app)?;
        if names.0.is_empty() {
            return Ok(before);
        }
        if !tx.apps().update(&app).await? {
            return Err(Refusal::NotFound("app"));
        }
        let fact = Fact::app_updated(names);
        self.emit_in_both_environments(&mut *tx, by, id, fact)
            .await?;
        self.note_in_both(by, &mut tx, id, ControlAction::AppUpdate, &detail);
        tx.commit().await?;
        Ok(app)
    }
}

/// Returns a copy of the App with the changes applied.
fn changed(app: &App, changes: &[(String, String)]) -> Result<App, Refusal> {
    let mut app = app.clone();
    let mut settings = json(&app.settings)?;
    for (name, value) in changes {
        if name == "name" {
            app.name = app::name(value)?;
            continue;
        }
        let known = settings.get_mut(name.as_str());
        let slot = known.ok_or_else(|| {
            Invalid::unknown(
                name.clone(),
                format!("unknown setting {name}; `vestry app show` lists them"),
            )
        })?;
        *slot = setting(value);
        serde_json::from_value::<AppSettings>(settings.clone())
            .map_err(|_unfit| Invalid::value(name.clone(), format!("invalid value for {name}")))?;
    }
    let parsed: AppSettings =
        serde_json::from_value(settings).map_err(|error| Fault::Internal(Box::new(error)))?;
    app.settings = parsed.validated()?;
    Ok(app)
}

fn json(settings: &AppSettings) -> Result<Value, Fault> {
    serde_json::to_value(settings).map_err(|error| Fault::Internal(Box::new(error)))
}

/// Returns the names of the fields that differ, including `name`, and their old and new values for the audit entry.
fn difference(before: &App, after: &App) -> Result<(ChangedFields, Detail), Fault> {
    let (earlier, later) = (json(&before.settings)?, json(&after.settings)?);
    let earlier = |name: &str| earlier.get(name).cloned().unwrap_or_default();
    let settings = later.as_object().into_iter().flatten();
    let settings = settings.map(|(name, value)| (name.as_str(), earlier(name), value.clone()));
    let name = (
        "name",
        before.name.as_str().into(),
        after.name.as_str().into(),
    );
    let mut names = Vec::new();
    let mut detail = Detail::default();
    for (name, from, to) in std::iter::once(name).chain(settings) {
        if from != to {
            names.push(name.to_owned());
            detail = detail.changed(name, from, to);
        }
    }
    Ok((ChangedFields(names), detail))
}

/// Parses a value as JSON (`true`, `60`, `60.0`, `null`). Anything else, such as `ES256`, is a string.
fn setting(text: &str) -> Value {
    match serde_json::from_str(text) {
        Ok(Value::Number(number)) => {
            number::whole(&number).map_or(Value::Number(number), Value::from)
        }
        Ok(value) => value,
        Err(_word) => text.into(),
    }
}
