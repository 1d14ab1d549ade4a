//! `vestry manage-key create|list|revoke`.

use vestry_domain::action::Action;
use vestry_domain::audit::control::{ControlAction, Detail};
use vestry_domain::envelope::KeyPurpose;
use vestry_domain::event::{Actor, Fact};
use vestry_domain::extent::Extent;
use vestry_domain::ids::{AppId, ManagementKeyId};
use vestry_domain::management_key::{self, Apps, ManagementKey, Rights};
use vestry_domain::token::TokenHash;
use vestry_domain::{Secret, Timestamp, World, api_key};
use vestry_ports::entropy::Bytes;

use crate::kernel::fault::retried;
use crate::{Fault, Principal, Refusal, Service};

/// What a new key may do.
#[derive(Debug, Clone)]
pub struct NewManagementKeyFields {
    /// Its name, 1 to 100 characters.
    pub name: String,
    /// What it may do.
    pub rights: Rights,
    /// When it expires, at most a year ahead.
    pub expires_at: Timestamp,
}

/// A newly created key. The key itself cannot be read again later.
#[derive(Debug)]
pub struct NewManagementKey {
    /// The stored record.
    pub record: ManagementKey,
    /// The key in plain text.
    pub key: Secret<String>,
}

impl Service {
    /// Creates a management key.
    ///
    /// # Errors
    /// [`Refusal`], naming a field; [`Refusal::NotFound`] if an App does not exist.
    pub async fn create_management_key(
        &self,
        by: &Principal,
        fields: NewManagementKeyFields,
    ) -> Result<NewManagementKey, Refusal> {
        by.authorize(Action::CreateManagementKey, Extent::Deployment)?;
        let now = self.machine_time();
        if let Apps::Listed(apps) = &fields.rights.apps {
            for app in apps.values() {
                if *app == AppId::BUILT_IN {
                    return Err(Refusal::NotFound("app"));
                }
                self.app(*app).await?;
            }
        }
        let key = management_key::generate(&mut Bytes(&*self.ports.entropy));
        let record = ManagementKey {
            id: self.new_id(now),
            hash: TokenHash::of(key.expose()),
            last_four: api_key::last_four(key.expose()),
            name: management_key::name(&fields.name)?,
            rights: fields.rights,
            expires_at: management_key::expires_at(fields.expires_at, now)?,
            created_by: by.actor(),
            created_at: now,
            revoked_at: None,
        };
        self.hold_deployment_key(KeyPurpose::Secrets).await?;
        retried(|| self.store_management_key(by, &record)).await?;
        Ok(NewManagementKey { record, key })
    }

    async fn store_management_key(
        &self,
        by: &Principal,
        record: &ManagementKey,
    ) -> Result<(), Fault> {
        let mut tx = self.begin_change([World::DEPLOYMENT]).await?;
        tx.management_keys().insert(record).await?;
        let rights = serde_json::to_value(&record.rights);
        let rights = rights.map_err(|error| Fault::Internal(Box::new(error)))?;
        let rights = rights.as_object().into_iter().flatten();
        let named = Detail::default()
            .with("name", record.name.as_str())
            .with("expires_at", record.expires_at.unix());
        let detail = rights.fold(named, |detail, (name, value)| {
            detail.with(name, value.clone())
        });
        let apps = match &record.rights.apps {
            Apps::All => None,
            Apps::Listed(apps) => Some(apps.values().to_vec()),
        };
        let fact = Fact::management_key_created(record.id, apps);
        let source = by.at(World::DEPLOYMENT);
        self.emit(&mut *tx, source.clone(), [fact]).await?;
        let action = ControlAction::ManagementKeyCreate;
        tx.note(self.done(&source, action, record.id, &detail));
        tx.commit_last(by).await
    }

    /// Lists all management keys, oldest first.
    ///
    /// # Errors
    /// [`Refusal`].
    pub async fn list_management_keys(
        &self,
        by: &Principal,
    ) -> Result<Vec<ManagementKey>, Refusal> {
        by.authorize(Action::ReadManagementKeys, Extent::Deployment)?;
        let mut read = self.ports.store.read().await?;
        Ok(read.management_keys().list().await?)
    }

    /// Revokes a management key. Running services refuse it at once.
    ///
    /// # Errors
    /// [`Refusal`].
    pub async fn revoke_management_key(
        &self,
        by: &Principal,
        id: ManagementKeyId,
    ) -> Result<(), Refusal> {
        by.authorize(Action::RevokeManagementKey, Extent::Deployment)?;
        self.hold_deployment_key(KeyPurpose::Secrets).await?;
        retried(|| self.end_management_key(by, id)).await
    }

    async fn end_management_key(&self, by: &Principal, id: ManagementKeyId) -> Result<(), Refusal> {
        let mut tx = self.begin_change([World::DEPLOYMENT]).await?;
        if !tx.management_keys().revoke(id, self.machine_time()).await? {
            return Err(Refusal::NotFound("active management key"));
        }
        // What the key handed out goes with it.
        let maker = Actor::ManagementKey(id);
        tx.operator_links().remove_made_by(&maker).await?;
        let action = ControlAction::ManagementKeyRevoke;
        let source = by.at(World::DEPLOYMENT);
        let fact = Fact::management_key_revoked(id);
        self.emit(&mut *tx, source.clone(), [fact]).await?;
        tx.note(self.done(&source, action, id, &Detail::default()));
        Ok(tx.commit().await?)
    }
}
