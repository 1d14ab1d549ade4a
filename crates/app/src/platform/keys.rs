//! `vestry key create|list|rotate|revoke`.

use vestry_domain::action::Action;
use vestry_domain::api_key::{self, ApiKey, ApiKeyKind, Scope};
use vestry_domain::audit::control::{ControlAction, Detail};
use vestry_domain::event::Fact;
use vestry_domain::ids::{ApiKeyId, AppId};
use vestry_domain::token::TokenHash;
use vestry_domain::{Invalid, Secret, World};
use vestry_ports::entropy::Bytes;

use crate::kernel::fault::retried;
use crate::{Principal, Refusal, Service};

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
    /// [`Refusal`].
    pub async fn create_api_key(
        &self,
        by: &Principal,
        world: World,
        kind: ApiKeyKind,
        scopes: Vec<Scope>,
    ) -> Result<NewApiKey, Refusal> {
        by.authorize(Action::CreateApiKey)?;
        self.make_api_key(by, world, kind, scopes, None).await
    }

    async fn make_api_key(
        &self,
        by: &Principal,
        world: World,
        kind: ApiKeyKind,
        scopes: Vec<Scope>,
        rotated: Option<ApiKeyId>,
    ) -> Result<NewApiKey, Refusal> {
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
        retried(|| self.store_api_key(by, &record, rotated)).await?;
        Ok(NewApiKey { record, key })
    }

    async fn store_api_key(
        &self,
        by: &Principal,
        record: &ApiKey,
        rotated: Option<ApiKeyId>,
    ) -> Result<(), Refusal> {
        self.app(record.world.app_id).await?;
        let mut tx = self.begin_change([record.world]).await?;
        tx.api_keys().insert(record).await?;
        let fact = Fact::api_key_created(record.id, record.kind, record.scopes.clone());
        self.emit(&mut *tx, by.at(record.world), [fact]).await?;
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
        tx.note(self.done(&by.at(record.world), action, record.id, &detail));
        Ok(tx.commit().await?)
    }

    /// Lists all API keys of an App, oldest first.
    ///
    /// # Errors
    /// [`Refusal`].
    pub async fn list_api_keys(&self, by: &Principal, app: AppId) -> Result<Vec<ApiKey>, Refusal> {
        by.authorize(Action::ReadApiKeys)?;
        self.app(app).await?;
        Ok(self.ports.store.read().await?.api_keys().list(app).await?)
    }

    /// Creates a key with the environment, kind and scopes of an existing one. Both keys work until the old one is revoked.
    ///
    /// # Errors
    /// [`Refusal`].
    pub async fn rotate_api_key(
        &self,
        by: &Principal,
        app: AppId,
        id: ApiKeyId,
    ) -> Result<NewApiKey, Refusal> {
        by.authorize(Action::RotateApiKey)?;
        let keys = self.list_api_keys(by, app).await?;
        let old = keys
            .into_iter()
            .find(|key| key.id == id && key.revoked_at.is_none());
        let old = old.ok_or(Refusal::NotFound("active key"))?;
        self.make_api_key(by, old.world, old.kind, old.scopes, Some(id))
            .await
    }

    /// Revokes a key. Running services reject it within a second.
    ///
    /// # Errors
    /// [`Refusal`].
    pub async fn revoke_api_key(
        &self,
        by: &Principal,
        app: AppId,
        id: ApiKeyId,
    ) -> Result<(), Refusal> {
        by.authorize(Action::RevokeApiKey)?;
        retried(|| self.end_api_key(by, app, id)).await
    }

    async fn end_api_key(&self, by: &Principal, app: AppId, id: ApiKeyId) -> Result<(), Refusal> {
        let not_found = Refusal::NotFound("active key");
        let keys = self.list_api_keys(by, app).await?;
        let Some(key) = keys.into_iter().find(|key| key.id == id) else {
            return Err(not_found);
        };
        let mut tx = self.begin_change([key.world]).await?;
        let now = self.ports.clock.machine();
        if !tx.api_keys().revoke(app, id, now).await? {
            return Err(not_found);
        }
        let fact = Fact::api_key_revoked(id);
        self.emit(&mut *tx, by.at(key.world), [fact]).await?;
        let action = ControlAction::ApiKeyRevoke;
        tx.note(self.done(&by.at(key.world), action, id, &Detail::default()));
        Ok(tx.commit().await?)
    }
}
