//! `vestry key create|list|update|rotate|revoke`.

use vestry_domain::action::Action;
use vestry_domain::api_key::{self, ApiKey, ApiKeyKind, KeyField, KeyFields, KeyUse, Restrictions};
use vestry_domain::app::App;
use vestry_domain::audit::control::{ControlAction, Detail};
use vestry_domain::event::{ChangedFields, Fact};
use vestry_domain::extent::Extent;
use vestry_domain::ids::ApiKeyId;
use vestry_domain::token::TokenHash;
use vestry_domain::{Secret, Timestamp, World};
use vestry_ports::entropy::Bytes;
use vestry_ports::store::Repositories;

use crate::kernel::fault::retried;
use crate::{Fault, Principal, Refusal, Service};

/// A newly created API key. The key itself cannot be read again later.
#[derive(Debug)]
pub struct NewApiKey {
    /// The stored record.
    pub record: ApiKey,
    /// The key in plain text.
    pub key: Secret<String>,
}

impl Service {
    /// Creates an API key for an environment. Without scopes it has all of them except `wallets:export` and `audit:read`.
    ///
    /// # Errors
    /// [`Refusal`], naming a field.
    pub async fn create_api_key(
        &self,
        by: &Principal,
        world: World,
        kind: ApiKeyKind,
        fields: KeyFields,
    ) -> Result<NewApiKey, Refusal> {
        by.authorize(Action::CreateApiKey, world)?;
        self.app(world.app_id).await?;
        let now = self.ports.clock.machine();
        let (plain, key) = self.unrestricted_key(by, world, kind, now);
        let record = fields.apply(&[], plain, now)?;
        by.grant(&record.scopes)?;
        retried(|| self.store_new_key(by, &record)).await?;
        Ok(NewApiKey { record, key })
    }

    fn unrestricted_key(
        &self,
        by: &Principal,
        world: World,
        kind: ApiKeyKind,
        now: Timestamp,
    ) -> (ApiKey, Secret<String>) {
        let key = api_key::generate(kind, world.environment, &mut Bytes(&*self.ports.entropy));
        let record = ApiKey {
            id: self.new_id(now),
            world,
            kind,
            hash: TokenHash::of(key.expose()),
            last_four: api_key::last_four(key.expose()),
            name: String::new(),
            scopes: Vec::new(),
            restrictions: Restrictions::default(),
            created_by: by.actor(),
            created_at: now,
            revoked_at: None,
        };
        (record, key)
    }

    async fn store_new_key(&self, by: &Principal, record: &ApiKey) -> Result<(), Fault> {
        let mut tx = self.begin_change([record.world]).await?;
        tx.api_keys().insert(record).await?;
        let created = Fact::api_key_created(record.id, record.kind, record.scopes.clone());
        self.emit(&mut *tx, by.at(record.world), [created]).await?;
        let action = ControlAction::ApiKeyCreate;
        tx.note(self.done(&by.at(record.world), action, record.id, &described(record)));
        tx.commit_last(by).await
    }

    /// Lists the API keys of an App or one of its environments, oldest first.
    ///
    /// # Errors
    /// [`Refusal`].
    pub async fn list_api_keys(&self, by: &Principal, of: Extent) -> Result<Vec<ApiKey>, Refusal> {
        by.authorize(Action::ReadApiKeys, of)?;
        let app = self.app_of(of).await?.id;
        let keys = self.ports.store.read().await?.api_keys().list(app).await?;
        let keys = keys.into_iter().filter(|key| of.includes(&key.world));
        Ok(keys.collect())
    }

    /// Lists the last uses of an App's keys by key and operation, to within a minute.
    ///
    /// # Errors
    /// [`Refusal`].
    pub async fn list_key_uses(&self, by: &Principal, of: Extent) -> Result<Vec<KeyUse>, Refusal> {
        by.authorize(Action::ReadApiKeys, of)?;
        let app = self.app_of(of).await?.id;
        let uses = self.ports.store.read().await?.api_keys().uses(app).await?;
        let uses = uses.into_iter().filter(|used| of.includes(&used.world));
        Ok(uses.collect())
    }

    /// Clears and sets fields of a key. Running services follow within a second.
    ///
    /// # Errors
    /// [`Refusal`], naming a field; nothing is changed then.
    pub async fn update_api_key(
        &self,
        by: &Principal,
        of: Extent,
        id: ApiKeyId,
        clear: &[KeyField],
        set: KeyFields,
    ) -> Result<ApiKey, Refusal> {
        by.authorize(Action::UpdateApiKey, of)?;
        retried(|| self.change_api_key(by, of, id, clear, set.clone())).await
    }

    async fn change_api_key(
        &self,
        by: &Principal,
        of: Extent,
        id: ApiKeyId,
        clear: &[KeyField],
        set: KeyFields,
    ) -> Result<ApiKey, Refusal> {
        let before = self.active_key(of, id).await?;
        let mut tx = self.begin_change([before.world]).await?;
        let (app, before) = locked_key(&mut *tx, before.world, id).await?;
        let key = set.apply(clear, before.clone(), self.ports.clock.machine())?;
        let changed = KeyField::differences(&before, &key);
        if !key.is_within(&before, app.settings.require_named_scopes) {
            by.authorize(Action::WidenApiKey, of)?;
        }
        // Every other change could widen what the key does with its scopes.
        if changed.iter().any(|field| *field != KeyField::Name) {
            by.grant(&before.scopes)?;
            by.grant(&key.scopes)?;
        }
        if changed.is_empty() {
            return Ok(key);
        }
        if !tx.api_keys().update(&key).await? {
            return Err(not_found());
        }
        let names = changed.iter().map(|field| field.as_str().to_owned());
        let updated = Fact::api_key_updated(id, ChangedFields(names.collect()));
        self.emit(&mut *tx, by.at(key.world), [updated]).await?;
        let action = ControlAction::ApiKeyUpdate;
        let detail = described(&key).with(
            "changed",
            changed
                .iter()
                .map(|field| field.as_str())
                .collect::<Vec<_>>(),
        );
        tx.note(self.done(&by.at(key.world), action, id, &detail));
        tx.commit().await?;
        Ok(key)
    }

    /// Creates a key with the environment, kind, name, scopes and restrictions of an existing one. Both keys work until the old one is
    /// revoked.
    ///
    /// # Errors
    /// [`Refusal`].
    pub async fn rotate_api_key(
        &self,
        by: &Principal,
        of: Extent,
        id: ApiKeyId,
    ) -> Result<NewApiKey, Refusal> {
        by.authorize(Action::RotateApiKey, of)?;
        let now = self.ports.clock.machine();
        let old = self.active_key(of, id).await?;
        if old.restrictions.has_expired(now) {
            // Its replacement would have expired too.
            return Err(not_found());
        }
        let (plain, key) = self.unrestricted_key(by, old.world, old.kind, now);
        let record = retried(|| self.store_rotated_key(by, id, &plain)).await?;
        Ok(NewApiKey { record, key })
    }

    async fn store_rotated_key(
        &self,
        by: &Principal,
        old: ApiKeyId,
        plain: &ApiKey,
    ) -> Result<ApiKey, Refusal> {
        let mut tx = self.begin_change([plain.world]).await?;
        // Locked, so that a concurrent change of the old key is either copied or comes later, and is then made to the old key only.
        let (_, from) = locked_key(&mut *tx, plain.world, old).await?;
        by.grant(&from.scopes)?;
        let record = ApiKey {
            name: from.name,
            scopes: from.scopes,
            restrictions: from.restrictions,
            ..plain.clone()
        };
        tx.api_keys().insert(&record).await?;
        let created = Fact::api_key_created(record.id, record.kind, record.scopes.clone());
        self.emit(&mut *tx, by.at(record.world), [created]).await?;
        let detail = described(&record).with("replaces", old.to_string());
        let action = ControlAction::ApiKeyRotate;
        tx.note(self.done(&by.at(record.world), action, record.id, &detail));
        tx.commit_last(by).await?;
        Ok(record)
    }

    /// Revokes a key. Running services reject it within a second.
    ///
    /// # Errors
    /// [`Refusal`].
    pub async fn revoke_api_key(
        &self,
        by: &Principal,
        of: Extent,
        id: ApiKeyId,
    ) -> Result<(), Refusal> {
        by.authorize(Action::RevokeApiKey, of)?;
        retried(|| self.end_api_key(by, of, id)).await
    }

    async fn end_api_key(&self, by: &Principal, of: Extent, id: ApiKeyId) -> Result<(), Refusal> {
        let key = self.active_key(of, id).await?;
        let mut tx = self.begin_change([key.world]).await?;
        let now = self.ports.clock.machine();
        if !tx.api_keys().revoke(key.world.app_id, id, now).await? {
            return Err(not_found());
        }
        let revoked = Fact::api_key_revoked(id);
        self.emit(&mut *tx, by.at(key.world), [revoked]).await?;
        let action = ControlAction::ApiKeyRevoke;
        tx.note(self.done(&by.at(key.world), action, id, &Detail::default()));
        Ok(tx.commit().await?)
    }

    async fn active_key(&self, of: Extent, id: ApiKeyId) -> Result<ApiKey, Refusal> {
        self.app_of(of).await?;
        let mut read = self.ports.store.read().await?;
        find_active(&mut *read, of, id).await
    }
}

/// Finds a key that is not revoked, and holds back other changes of the App's keys until the transaction ends.
async fn locked_key(
    tx: &mut dyn Repositories,
    world: World,
    id: ApiKeyId,
) -> Result<(App, ApiKey), Refusal> {
    let app = tx.apps().lock(world.app_id).await?;
    let app = app.ok_or(Refusal::NotFound("app"))?;
    Ok((app, find_active(tx, world.into(), id).await?))
}

async fn find_active(
    read: &mut dyn Repositories,
    of: Extent,
    id: ApiKeyId,
) -> Result<ApiKey, Refusal> {
    let app = of.app_id().ok_or_else(not_found)?;
    let keys = read.api_keys().list(app).await?.into_iter();
    let mut active = keys.filter(|key| key.revoked_at.is_none() && of.includes(&key.world));
    active.find(|key| key.id == id).ok_or_else(not_found)
}

const fn not_found() -> Refusal {
    Refusal::NotFound("active key")
}

/// What a key can do, for the audit log.
fn described(key: &ApiKey) -> Detail {
    let scopes: Vec<_> = key.scopes.iter().map(|scope| scope.as_str()).collect();
    let detail = Detail::default()
        .with("kind", key.kind.as_str())
        .with("scopes", scopes);
    match serde_json::to_value(&key.restrictions) {
        Ok(restrictions) if !key.restrictions.is_none() => {
            detail.with("restrictions", restrictions)
        }
        _ => detail,
    }
}
