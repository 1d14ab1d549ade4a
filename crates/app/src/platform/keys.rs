//! `vestry key create|list|rotate|revoke`.

use vestry_domain::api_key::{self, ApiKey, ApiKeyKind, Scope};
use vestry_domain::audit::control::{ControlAction, Detail};
use vestry_domain::event::Fact;
use vestry_domain::ids::{ApiKeyId, AppId};
use vestry_domain::token::TokenHash;
use vestry_domain::{Invalid, Secret, World};
use vestry_ports::entropy::Bytes;

use super::AdminError;
use crate::Service;
use crate::delivery::events::Source;
use crate::kernel::fault::retried;

/// A newly created API key. The key itself cannot be read again later.
#[derive(Debug)]
pub struct NewApiKey {
    /// The stored record.
    pub record: ApiKey,
    /// The key in plain text.
    pub key: Secret<String>,
}

impl Service {
    /// Creates an API key for an environment. An empty scope list means all scopes except `wallets:export` and `audit:read`.
    ///
    /// # Errors
    /// [`AdminError`].
    pub async fn create_api_key(
        &self,
        world: World,
        kind: ApiKeyKind,
        scopes: Vec<Scope>,
    ) -> Result<NewApiKey, AdminError> {
        self.make_api_key(world, kind, scopes, None).await
    }

    async fn make_api_key(
        &self,
        world: World,
        kind: ApiKeyKind,
        scopes: Vec<Scope>,
        rotated: Option<ApiKeyId>,
    ) -> Result<NewApiKey, AdminError> {
        if kind == ApiKeyKind::Public && !scopes.is_empty() {
            return Err(Invalid::value("scope", "public tokens cannot have scopes").into());
        }
        let now = self.ports.clock.machine();
        let key = api_key::generate(kind, world.environment, &mut Bytes(&*self.ports.entropy));
        let record = ApiKey {
            id: self.new_id(now),
            world,
            kind,
            hash: TokenHash::of(key.expose()),
            last_four: api_key::last_four(key.expose()),
            scopes,
            created_at: now,
            revoked_at: None,
        };
        retried(|| self.store_api_key(&record, rotated)).await?;
        Ok(NewApiKey { record, key })
    }

    async fn store_api_key(
        &self,
        record: &ApiKey,
        rotated: Option<ApiKeyId>,
    ) -> Result<(), AdminError> {
        self.show_app(record.world.app_id).await?;
        let mut tx = self.begin_change([record.world]).await?;
        tx.api_keys().insert(record).await?;
        let told = Fact::api_key_created(record.id, record.kind, record.scopes.clone());
        self.emit(&mut *tx, Source::cli(record.world), [told])
            .await?;
        let scopes: Vec<_> = record.scopes.iter().map(|scope| scope.as_str()).collect();
        let detail = Detail::default()
            .with("kind", record.kind.as_str())
            .with("scopes", scopes);
        let (action, detail) = match rotated {
            None => (ControlAction::ApiKeyCreate, detail),
            Some(old) => (
                ControlAction::ApiKeyRotate,
                detail.with("replaces", old.to_string()),
            ),
        };
        tx.note(self.done_by_cli(record.world, action, record.id, &detail));
        Ok(tx.commit().await?)
    }

    /// Lists all API keys of an App, oldest first.
    ///
    /// # Errors
    /// [`AdminError`].
    pub async fn list_api_keys(&self, app: AppId) -> Result<Vec<ApiKey>, AdminError> {
        self.show_app(app).await?;
        Ok(self.ports.store.read().await?.api_keys().list(app).await?)
    }

    /// Creates a key with the environment, kind and scopes of an existing one. Both keys work until the old one is revoked.
    ///
    /// # Errors
    /// [`AdminError`].
    pub async fn rotate_api_key(&self, app: AppId, id: ApiKeyId) -> Result<NewApiKey, AdminError> {
        let keys = self.list_api_keys(app).await?;
        let old = keys
            .into_iter()
            .find(|key| key.id == id && key.revoked_at.is_none());
        let old = old.ok_or(AdminError::NotFound("active key"))?;
        self.make_api_key(old.world, old.kind, old.scopes, Some(id))
            .await
    }

    /// Revokes a key. Running services reject it within a second.
    ///
    /// # Errors
    /// [`AdminError`].
    pub async fn revoke_api_key(&self, app: AppId, id: ApiKeyId) -> Result<(), AdminError> {
        retried(|| self.end_api_key(app, id)).await
    }

    async fn end_api_key(&self, app: AppId, id: ApiKeyId) -> Result<(), AdminError> {
        let not_found = AdminError::NotFound("active key");
        let keys = self.list_api_keys(app).await?;
        let Some(key) = keys.into_iter().find(|key| key.id == id) else {
            return Err(not_found);
        };
        let mut tx = self.begin_change([key.world]).await?;
        let now = self.ports.clock.machine();
        if !tx.api_keys().revoke(app, id, now).await? {
            return Err(not_found);
        }
        let told = Fact::api_key_revoked(id);
        self.emit(&mut *tx, Source::cli(key.world), [told]).await?;
        let action = ControlAction::ApiKeyRevoke;
        tx.note(self.done_by_cli(key.world, action, id, &Detail::default()));
        Ok(tx.commit().await?)
    }
}
