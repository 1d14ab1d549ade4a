//! `vestry app create|list|show|set`.

use serde_json::Value;
use vestry_domain::app::{self, App, AppSettings, NamedEvents};
use vestry_domain::audit::control::{ControlAction, Detail};
use vestry_domain::event::{ChangedFields, Fact};
use vestry_domain::ids::AppId;
use vestry_domain::test_clock::TestClock;
use vestry_domain::{Environment, Invalid, World, number};

use super::AdminError;
use crate::change::{Change, worlds_of};
use crate::fault::retried;
use crate::key_holds::hold_root;
use crate::{Fault, Service};

impl Service {
    /// Creates an App with everything its two worlds need: App keys and a signing key each. API keys are made apart.
    ///
    /// # Errors
    /// [`AdminError`].
    pub async fn create_app(&self, name: &str) -> Result<App, AdminError> {
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
        retried(|| self.store_app(&app)).await?;
        // Signing keys are sealed under the App keys, which have to be there first. After a run that stopped between the two,
        // `signing-key rotate` makes what is missing.
        for environment in Environment::ALL {
            self.make_signing_key(&app, World::new(app.id, environment), now)
                .await?;
        }
        Ok(app)
    }

    async fn store_app(&self, app: &App) -> Result<(), AdminError> {
        // Anew each time: what lost against a rotation of the root key is under the old one.
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
        self.tell_app(&mut *tx, app.id, Fact::app_created()).await?;
        let detail = Detail::default().with("name", app.name.as_str());
        self.note_in_both(&mut tx, app.id, ControlAction::AppCreate, &detail);
        Ok(tx.commit().await?)
    }

    /// What belongs to the App and to neither of its worlds stands in the chains of both.
    fn note_in_both(
        &self,
        tx: &mut Change<'_>,
        app: AppId,
        action: ControlAction,
        detail: &Detail,
    ) {
        for world in worlds_of(app) {
            tx.note(self.done_by_cli(world, action, app, detail));
        }
    }

    /// All Apps, oldest first.
    ///
    /// # Errors
    /// [`AdminError`].
    pub async fn list_apps(&self) -> Result<Vec<App>, AdminError> {
        Ok(self.ports.store.read().await?.apps().list().await?)
    }

    /// One App.
    ///
    /// # Errors
    /// [`AdminError`].
    pub async fn show_app(&self, id: AppId) -> Result<App, AdminError> {
        let found = self.ports.store.read().await?.apps().find(id).await?;
        found.ok_or(AdminError::NotFound("app"))
    }

    /// Changes settings, given as `name=value` pairs, all or none; `name` changes the App's name. Running services follow
    /// within a second.
    ///
    /// # Errors
    /// [`AdminError`], naming the setting that is unknown or out of its bounds.
    pub async fn set_app(
        &self,
        id: AppId,
        changes: &[(String, String)],
    ) -> Result<App, AdminError> {
        // What is wrong is refused before anything is locked.
        changed(&self.show_app(id).await?, changes)?;
        retried(|| self.update_app(id, changes)).await
    }

    /// The App as it is afterwards; as it was, where nothing is new.
    async fn update_app(&self, id: AppId, changes: &[(String, String)]) -> Result<App, AdminError> {
        let mut tx = self.begin_change(worlds_of(id)).await?;
        // Parallel changes are made one after the other, each to what the one before left.
        let before = tx.apps().lock(id).await?;
        let before = before.ok_or(AdminError::NotFound("app"))?;
        let app = App {
            updated_at: self.ports.clock.machine(),
            ..changed(&before, changes)?
        };
        let (names, detail) = difference(&before, &app)?;
        if names.0.is_empty() {
            return Ok(before);
        }
        if !tx.apps().update(&app).await? {
            return Err(AdminError::NotFound("app"));
        }
        let told = Fact::app_updated(names);
        self.tell_app(&mut *tx, id, told).await?;
        self.note_in_both(&mut tx, id, ControlAction::AppUpdate, &detail);
        tx.commit().await?;
        Ok(app)
    }
}

/// The App with other settings, or another name.
fn changed(app: &App, changes: &[(String, String)]) -> Result<App, AdminError> {
    let mut app = app.clone();
    let mut settings = json(&app.settings)?;
    for (name, value) in changes {
        if name == "name" {
            app.name = app::name(value)?;
            continue;
        }
        let known = settings.get_mut(name.as_str());
        let slot = known
            .ok_or_else(|| Invalid::unknown(name.clone(), format!("there is no setting {name}")))?;
        *slot = setting(value);
        serde_json::from_value::<AppSettings>(settings.clone()).map_err(|_unfit| {
            Invalid::value(name.clone(), format!("{name} cannot take this value"))
        })?;
    }
    let parsed: AppSettings =
        serde_json::from_value(settings).map_err(|error| Fault::Internal(Box::new(error)))?;
    app.settings = parsed.validated()?;
    Ok(app)
}

fn json(settings: &AppSettings) -> Result<Value, Fault> {
    serde_json::to_value(settings).map_err(|error| Fault::Internal(Box::new(error)))
}

/// `name`, and the names of the settings that differ; and what was and is their value.
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

/// `true`, `60`, `60.0` and `null` are JSON; everything else, such as `ES256`, is a word.
fn setting(text: &str) -> Value {
    match serde_json::from_str(text) {
        Ok(Value::Number(number)) => {
            number::whole(&number).map_or(Value::Number(number), Value::from)
        }
        Ok(value) => value,
        Err(_word) => text.into(),
    }
}
