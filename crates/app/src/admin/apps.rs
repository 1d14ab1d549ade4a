//! `vestry app create|list|show|set`.

use serde_json::Value;
use vestry_domain::app::{self, App, AppSettings, NamedEvents};
use vestry_domain::event::{ChangedFields, Fact};
use vestry_domain::ids::AppId;
use vestry_domain::test_clock::TestClock;
use vestry_domain::{Environment, Invalid, World, number};

use super::AdminError;
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
        let mut tx = self.ports.store.begin().await?;
        tx.apps().insert(app).await?;
        for key in &keys {
            hold_root(&mut *tx, key).await?;
        }
        for key in &keys {
            tx.app_keys().insert(key).await?;
        }
        self.tell_app(&mut *tx, app.id, Fact::app_created()).await?;
        Ok(tx.commit().await?)
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
        let mut app = self.show_app(id).await?;
        let mut settings = json(&app.settings)?;
        for (name, value) in changes {
            if name == "name" {
                app.name = app::name(value)?;
                continue;
            }
            let known = settings.get_mut(name.as_str());
            let slot = known.ok_or_else(|| {
                Invalid::unknown(name.clone(), format!("there is no setting {name}"))
            })?;
            *slot = setting(value);
            serde_json::from_value::<AppSettings>(settings.clone()).map_err(|_unfit| {
                Invalid::value(name.clone(), format!("{name} cannot take this value"))
            })?;
        }
        let parsed: AppSettings =
            serde_json::from_value(settings).map_err(|error| Fault::Internal(Box::new(error)))?;
        app.settings = parsed.validated()?;
        app.updated_at = self.ports.clock.machine();
        retried(|| self.update_app(&app)).await?;
        Ok(app)
    }

    async fn update_app(&self, app: &App) -> Result<(), AdminError> {
        let mut tx = self.ports.store.begin().await?;
        let before = tx.apps().find(app.id).await?;
        let before = before.ok_or(AdminError::NotFound("app"))?;
        if !tx.apps().update(app).await? {
            return Err(AdminError::NotFound("app"));
        }
        let changed = changed_fields(&before, app)?;
        if !changed.0.is_empty() {
            let told = Fact::app_updated(changed);
            self.tell_app(&mut *tx, app.id, told).await?;
        }
        Ok(tx.commit().await?)
    }
}

fn json(settings: &AppSettings) -> Result<Value, Fault> {
    serde_json::to_value(settings).map_err(|error| Fault::Internal(Box::new(error)))
}

/// `name`, and the names of the settings that differ.
fn changed_fields(before: &App, after: &App) -> Result<ChangedFields, Fault> {
    let (earlier, later) = (json(&before.settings)?, json(&after.settings)?);
    let settings = later.as_object().into_iter().flatten();
    let changed = settings.filter(|(name, value)| earlier.get(name.as_str()) != Some(*value));
    let changed = changed.map(|(name, _)| name.clone());
    let name = (before.name != after.name).then(|| "name".to_owned());
    Ok(ChangedFields(name.into_iter().chain(changed).collect()))
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
