//! `vestry app create|list|show|set|disable|enable`.

use serde_json::{Map, Value};
use vestry_domain::action::Action;
use vestry_domain::app::{self, App, AppSettings, MAX_APPS, NamedEvents};
use vestry_domain::audit::control::{ControlAction, Detail};
use vestry_domain::event::{ChangedFields, Fact};
use vestry_domain::extent::Extent;
use vestry_domain::ids::AppId;
use vestry_domain::test_clock::TestClock;
use vestry_domain::{Environment, Invalid, Timestamp, number};

use crate::kernel::change::{Change, worlds_of};
use crate::kernel::fault::retried;
use crate::kernel::key_pins::hold_root;
use crate::kernel::precondition::Precondition;
use crate::{Fault, Principal, Refusal, Service};

/// A change of an App; whatever is absent is left as it is.
#[derive(Debug, Clone, Default)]
pub struct AppChange {
    /// Its new name.
    pub name: Option<String>,
    /// New settings.
    pub settings: Option<SettingsChange>,
    /// Whether it is disabled.
    pub disabled: Option<bool>,
}

/// New values of settings, by name.
#[derive(Debug, Clone)]
pub enum SettingsChange {
    /// The other settings are left as they are.
    Some(Map<String, Value>),
    /// The other settings get their default values.
    All(Map<String, Value>),
}

impl Service {
    /// Creates an App with the App keys and a signing key for each of its two environments. API keys are created separately.
    ///
    /// # Errors
    /// [`Refusal`].
    pub async fn create_app(&self, by: &Principal, name: &str) -> Result<App, Refusal> {
        by.authorize(Action::CreateApp, Extent::Deployment)?;
        let now = self.ports.clock.machine();
        let app = App {
            id: self.new_id(now),
            name: app::name(name)?,
            settings: AppSettings::default(),
            test_clock: TestClock::default(),
            named_events: NamedEvents::default(),
            disabled_at: None,
            created_at: now,
            updated_at: now,
        };
        retried(|| self.store_app(by, &app)).await?;
        Ok(app)
    }

    async fn store_app(&self, by: &Principal, app: &App) -> Result<(), Refusal> {
        // Outside the transaction, which names one App. Parallel calls can therefore exceed the maximum by their number.
        let known = self.ports.store.read().await?.apps().list().await?;
        if known.len() >= MAX_APPS {
            return Err(Refusal::LimitReached {
                param: Some("app".into()),
                of: "a deployment",
                kind: "Apps",
                most: MAX_APPS,
            });
        }
        // Mint new keys on each retry: after losing a race with a root key rotation, the previous ones are wrapped by the old version.
        let custodian = &self.ports.custodian;
        let keys = custodian.mint_app_keys(app.id, app.created_at).await;
        let keys = keys.map_err(Fault::from)?;
        let mut signing_keys = Vec::with_capacity(Environment::ALL.len());
        for world in worlds_of(app.id) {
            signing_keys.push(self.new_signing_key(app, world, app.created_at).await?);
        }
        self.journal_app(app, &keys).await?;
        let mut tx = self.begin_change(worlds_of(app.id)).await?;
        tx.apps().insert(app).await?;
        for key in &keys {
            hold_root(&mut *tx, key).await?;
        }
        for key in &keys {
            tx.app_keys().insert(key).await?;
        }
        for key in &signing_keys {
            tx.signing_keys().insert(key).await?;
        }
        self.emit_in_both_environments(&mut *tx, by, app.id, Fact::app_created())
            .await?;
        let detail = Detail::default().with("name", app.name.as_str());
        self.note_in_both(by, &mut tx, app.id, ControlAction::AppCreate, &detail);
        for key in &signing_keys {
            tx.note(self.signing_key_made(by, key));
        }
        Ok(tx.commit_last(by).await?)
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

    /// Lists the Apps that the principal may read, oldest first.
    ///
    /// # Errors
    /// [`Refusal`].
    pub async fn list_apps(&self, by: &Principal) -> Result<Vec<App>, Refusal> {
        by.authorize_somewhere(Action::ReadApps)?;
        let apps = self.ports.store.read().await?.apps().list().await?;
        let apps = apps.into_iter().filter(|app| by.reaches_app(app.id));
        Ok(apps.collect())
    }

    /// Returns one App.
    ///
    /// # Errors
    /// [`Refusal`].
    pub async fn show_app(&self, by: &Principal, id: AppId) -> Result<App, Refusal> {
        by.authorize_in_app(Action::ReadApps, id)?;
        self.app(id).await
    }

    /// Returns one App with its settings.
    ///
    /// # Errors
    /// [`Refusal`].
    pub async fn show_settings(&self, by: &Principal, id: AppId) -> Result<App, Refusal> {
        by.authorize_in_app(Action::ReadSettings, id)?;
        self.app(id).await
    }

    /// Changes settings, given as `name=value` pairs with different names, all or none. `name` changes the App's name. Running services pick
    /// the change up within a second.
    ///
    /// # Errors
    /// [`Refusal`], naming the setting that is unknown or out of bounds.
    pub async fn set_app(
        &self,
        by: &Principal,
        id: AppId,
        changes: &[(String, String)],
    ) -> Result<App, Refusal> {
        let mut new_name = None;
        let mut settings = Map::new();
        for (name, value) in changes {
            let is_repeated = match name.as_str() {
                "name" => new_name.replace(value.clone()).is_some(),
                _setting => settings.insert(name.clone(), setting(value)).is_some(),
            };
            if is_repeated {
                return Err(Invalid::value(name.clone(), format!("{name} is given twice")).into());
            }
        }
        let change = AppChange {
            name: new_name,
            settings: (!settings.is_empty()).then_some(SettingsChange::Some(settings)),
            disabled: None,
        };
        self.change_app(by, id, change, &|_| true).await
    }

    /// Disables an App, which ends the sessions of all its users, or enables it. Running services refuse its keys and its users within a
    /// second.
    ///
    /// # Errors
    /// [`Refusal`]. If it fails after the App was disabled, repeat it to end the remaining sessions.
    pub async fn switch_app(
        &self,
        by: &Principal,
        id: AppId,
        disabled: bool,
    ) -> Result<App, Refusal> {
        let change = AppChange {
            disabled: Some(disabled),
            ..AppChange::default()
        };
        self.change_app(by, id, change, &|_| true).await
    }

    /// Returns an App as it is and as it would be with new settings, which are not saved.
    ///
    /// # Errors
    /// As [`Service::change_app`], except for [`Refusal::PreconditionFailed`].
    pub async fn preview_settings(
        &self,
        by: &Principal,
        id: AppId,
        settings: SettingsChange,
    ) -> Result<(App, App), Refusal> {
        by.authorize(Action::UpdateSettings, id)?;
        let before = self.app(id).await?;
        let change = AppChange {
            settings: Some(settings),
            ..AppChange::default()
        };
        let after = change.applied(&before, before.updated_at)?;
        authorize_weakening(by, &before, &after)?;
        Ok((before, after))
    }

    /// Changes the name or settings of an App, disables or enables it, all or none, if it is in the expected state. Running services pick the
    /// change up within a second.
    ///
    /// # Errors
    /// [`Refusal`], naming the setting that is unknown or out of bounds; [`Refusal::PreconditionFailed`].
    pub async fn change_app(
        &self,
        by: &Principal,
        id: AppId,
        change: AppChange,
        is_expected: Precondition<'_, App>,
    ) -> Result<App, Refusal> {
        if change.settings.is_some() {
            by.authorize(Action::UpdateSettings, id)?;
        }
        if change.disabled.is_some() {
            by.authorize(Action::SwitchApp, id)?;
            if id == AppId::BUILT_IN {
                return Err(Refusal::NotFound("app"));
            }
        }
        // A change of nothing needs a right too.
        if change.name.is_some() || change.settings.is_none() && change.disabled.is_none() {
            by.authorize(Action::RenameApp, id)?;
        }
        // Reject invalid changes before taking the lock.
        let before = self.app(id).await?;
        change.applied(&before, before.updated_at)?;
        // Calls that were running when the App was disabled may have started sessions since, and a process may have died while it ended
        // them.
        if change.disabled == Some(false) && before.disabled_at.is_some() {
            self.end_sessions_of_app(by, id).await?;
        }
        let app = retried(|| self.update_app(by, id, &change, is_expected)).await?;
        if change.disabled == Some(true) {
            self.end_sessions_of_app(by, id).await?;
        }
        Ok(app)
    }

    /// Ends the sessions of both environments in steps: there can be millions. The App is disabled, so none of them is accepted.
    async fn end_sessions_of_app(&self, by: &Principal, id: AppId) -> Result<(), Refusal> {
        for world in worlds_of(id) {
            self.end_sessions_in(&by.at(world)).await?;
        }
        Ok(())
    }

    /// Returns the updated App, or the unchanged one if no value differs.
    async fn update_app(
        &self,
        by: &Principal,
        id: AppId,
        change: &AppChange,
        is_expected: Precondition<'_, App>,
    ) -> Result<App, Refusal> {
        let mut tx = self.begin_change(worlds_of(id)).await?;
        // The lock serialises concurrent changes, so each applies to the result of the previous one.
        let before = tx.apps().lock(id).await?;
        let before = before.ok_or(Refusal::NotFound("app"))?;
        let now = self.ports.clock.machine();
        let app = App {
            updated_at: now,
            ..change.applied(&before, now)?
        };
        authorize_weakening(by, &before, &app)?;
        if !is_expected(&before) {
            return Err(Refusal::PreconditionFailed);
        }
        if !self.write_app(by, &mut tx, &before, &app).await? {
            return Ok(before);
        }
        tx.commit().await?;
        Ok(app)
    }

    /// Writes a locked App in an open transaction; `false` if no value differs.
    pub(super) async fn write_app(
        &self,
        by: &Principal,
        tx: &mut Change<'_>,
        before: &App,
        app: &App,
    ) -> Result<bool, Refusal> {
        let (names, detail) = difference(before, app)?;
        if names.0.is_empty() {
            return Ok(false);
        }
        if !tx.apps().update(app).await? {
            return Err(Refusal::NotFound("app"));
        }
        let fact = Fact::app_updated(names);
        self.emit_in_both_environments(&mut **tx, by, app.id, fact)
            .await?;
        self.note_in_both(by, tx, app.id, ControlAction::AppUpdate, &detail);
        Ok(true)
    }
}

impl AppChange {
    /// Returns a copy of the App with the change applied.
    pub(super) fn applied(&self, app: &App, now: Timestamp) -> Result<App, Refusal> {
        let mut app = app.clone();
        if let Some(disabled) = self.disabled {
            app.disabled_at = disabled.then(|| app.disabled_at.unwrap_or(now));
        }
        if let Some(name) = &self.name {
            app.name = app::name(name)?;
        }
        let (mut settings, values) = match &self.settings {
            None => return Ok(app),
            Some(SettingsChange::Some(values)) => (json(&app.settings)?, values),
            Some(SettingsChange::All(values)) => (json(&AppSettings::default())?, values),
        };
        for (name, value) in values {
            let known = settings.get_mut(name.as_str());
            let slot = known.ok_or_else(|| {
                Invalid::unknown(
                    name.clone(),
                    format!("unknown setting {name}; `vestry app show` lists them"),
                )
            })?;
            *slot = value.clone();
            serde_json::from_value::<AppSettings>(settings.clone()).map_err(|_unfit| {
                Invalid::value(name.clone(), format!("invalid value for {name}"))
            })?;
        }
        let parsed: AppSettings =
            serde_json::from_value(settings).map_err(|error| Fault::Internal(Box::new(error)))?;
        app.settings = parsed.validated()?;
        Ok(app)
    }
}

/// Permits a change that weakens a setting that protects wallets. Any other change passes.
pub(super) fn authorize_weakening(
    by: &Principal,
    before: &App,
    after: &App,
) -> Result<(), Refusal> {
    let (earlier, later) = (&before.settings, &after.settings);
    let is_weaker = (later.wallet_export && !earlier.wallet_export)
        || (earlier.require_named_scopes && !later.require_named_scopes);
    match is_weaker {
        true => by.authorize(Action::WeakenSettings, after.id),
        false => Ok(()),
    }
}

pub(super) fn json(settings: &AppSettings) -> Result<Value, Fault> {
    serde_json::to_value(settings).map_err(|error| Fault::Internal(Box::new(error)))
}

/// Returns the names of the fields that differ, including `name` and `disabled`, and their old and new values for the audit entry.
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
    let is_disabled = |app: &App| app.disabled_at.is_some().into();
    let disabled = ("disabled", is_disabled(before), is_disabled(after));
    let mut names = Vec::new();
    let mut detail = Detail::default();
    for (name, from, to) in [name, disabled].into_iter().chain(settings) {
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
