//! `vestry provider set|list|remove`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use vestry_domain::action::Action;
use vestry_domain::audit::control::{ControlAction, Detail, Subject};
use vestry_domain::event::Fact;
use vestry_domain::extent::Extent;
use vestry_domain::provider::{
    ClientSecretHint, Connection, ConnectionSettings, MAX_PROVIDERS, ProviderName,
};
use vestry_domain::timestamp::Seconds;
use vestry_domain::{Invalid, Secret, World};
use vestry_ports::store::{Repositories, StoredConnection};

use crate::kernel::change::Change;
use crate::kernel::fault::retried;
use crate::kernel::precondition::Precondition;
use crate::kernel::provider_connection::secret_place;
use crate::{Fault, Principal, Refusal, Service};

pub(super) const NO_PROVIDER: Refusal = Refusal::NotFound("provider");

/// A connection to create or to replace.
#[derive(Debug)]
pub struct NewConnection {
    /// The provider.
    pub name: ProviderName,
    /// The id that the provider gave the App.
    pub client_id: String,
    /// The secret that belongs to it; `None` keeps the stored one.
    pub secret: Option<Secret<String>>,
    /// Everything else.
    pub settings: ConnectionSettings,
}

/// A provider connection with its callback URL.
#[derive(Debug, Clone)]
pub struct ListedConnection {
    /// The stored settings, without the client secret.
    pub connection: Connection,
    /// The visible part of the client secret; `None` while none is set.
    pub secret: Option<ClientSecretHint>,
    /// The URL to register with the provider.
    pub callback_url: String,
}

impl Service {
    /// Creates or replaces a connection. A replaced connection keeps its callback URL.
    ///
    /// # Errors
    /// [`Refusal`]; nothing changes then.
    pub async fn set_provider(
        &self,
        by: &Principal,
        world: World,
        name: ProviderName,
        client_id: &str,
        secret: &Secret<String>,
        settings: ConnectionSettings,
    ) -> Result<ListedConnection, Refusal> {
        let new = NewConnection {
            name,
            client_id: client_id.to_owned(),
            secret: Some(secret.clone()),
            settings,
        };
        self.put_provider(by, world, new, &|_| true).await
    }

    /// Does the same if the connection is in the expected state. Without a new secret it keeps the stored one, and nothing changes if all
    /// else is the same too.
    ///
    /// # Errors
    /// [`Refusal`]; nothing changes then.
    pub async fn put_provider(
        &self,
        by: &Principal,
        world: World,
        new: NewConnection,
        is_expected: Precondition<'_, Option<ListedConnection>>,
    ) -> Result<ListedConnection, Refusal> {
        by.authorize(Action::SetProvider, world)?;
        self.put_permitted_provider(by, world, new, is_expected)
            .await
    }

    /// Does the same for a principal whose right was checked.
    pub(crate) async fn put_permitted_provider(
        &self,
        by: &Principal,
        world: World,
        new: NewConnection,
        is_expected: Precondition<'_, Option<ListedConnection>>,
    ) -> Result<ListedConnection, Refusal> {
        let is_blank = |secret: &Secret<String>| secret.expose().trim().is_empty();
        if new.secret.as_ref().is_some_and(is_blank) {
            let message = "client_secret must not be blank";
            return Err(Invalid::value("client_secret", message).into());
        }
        let now = self.ports.clock.machine();
        let connection = Connection {
            callback_id: self.new_id(now),
            world,
            name: new.name,
            client_id: new.client_id,
            settings: new.settings,
            created_at: now,
            updated_at: now,
        };
        connection.check()?;
        let secret = new.secret.as_ref();
        let stored = retried(|| self.store_provider(by, &connection, secret, is_expected));
        Ok(self.listed_connection(stored.await?))
    }

    async fn store_provider(
        &self,
        by: &Principal,
        wanted: &Connection,
        secret: Option<&Secret<String>>,
        is_expected: Precondition<'_, Option<ListedConnection>>,
    ) -> Result<StoredConnection, Refusal> {
        let mut read = self.ports.store.read().await?;
        if read.apps().find(wanted.world.app_id).await?.is_none() {
            return Err(Refusal::NotFound("app"));
        }
        let known = read
            .provider_connections()
            .find(&wanted.world, &wanted.name);
        let known = known.await?;
        drop(read);
        let mut connection = wanted.clone();
        if let Some(StoredConnection {
            connection: known, ..
        }) = &known
        {
            connection.callback_id = known.callback_id;
            connection.created_at = known.created_at;
            // Always increase it: concurrent changes of the secret alone are detected by comparing `updated_at`.
            connection.updated_at = wanted.updated_at.max(known.updated_at + Seconds(1));
        }
        // The secret is bound to the callback id, the only part of a connection that never changes.
        let owner = connection.callback_id.to_string();
        let place = secret_place(connection.world, &owner);
        let has_new_secret = secret.is_some();
        let (secret, hint) = match (secret, &known) {
            (Some(secret), _) => {
                let sealed = self.ports.sealer.seal(place, secret.expose().as_bytes());
                let hint = ClientSecretHint::of(secret, connection.updated_at);
                (sealed.await.map_err(Fault::from)?, Some(hint))
            }
            (None, Some(known)) if is_sent_alike(&known.connection, &connection) => {
                (known.secret.clone(), known.hint.clone())
            }
            (None, _) => return Err(Invalid::missing("client_secret").into()),
        };
        let stored = StoredConnection {
            connection,
            secret,
            hint,
        };
        let mut tx = self.begin_change([wanted.world]).await?;
        self.check_provider(&mut *tx, wanted, known.as_ref(), is_expected)
            .await?;
        if let Some(known) = &known
            && !has_new_secret
            && stored.connection
                == (Connection {
                    updated_at: stored.connection.updated_at,
                    ..known.connection.clone()
                })
        {
            return Ok(known.clone());
        }
        let known = known.map(|known| known.connection);
        self.write_provider(by, &mut tx, known.as_ref(), &stored, has_new_secret)
            .await?;
        if known.is_none() {
            let world = stored.connection.world;
            let all = tx.provider_connections().list(world.app_id).await?;
            let all = all.iter().filter(|one| one.connection.world == world);
            if all.count() > MAX_PROVIDERS {
                let kind = "identity providers";
                return Err(Refusal::too_many_in_world("name", kind, MAX_PROVIDERS));
            }
        }
        tx.commit_last(by).await?;
        Ok(stored)
    }

    /// Writes a connection in an open transaction.
    pub(super) async fn write_provider(
        &self,
        by: &Principal,
        tx: &mut Change<'_>,
        known: Option<&Connection>,
        stored: &StoredConnection,
        has_new_secret: bool,
    ) -> Result<(), Refusal> {
        let connections = tx.provider_connections();
        let is_stored = match known {
            Some(_) => connections.update(stored).await?,
            None => connections.insert(stored).await?,
        };
        if !is_stored {
            // A concurrent command set or removed the connection.
            return Err(Fault::LostRace.into());
        }
        let Connection { world, name, .. } = &stored.connection;
        let fact = Fact::provider_set(name.clone());
        self.emit(&mut **tx, by.at(*world), [fact]).await?;
        let detail = changes(known, &stored.connection, has_new_secret)?;
        let (action, subject) = (ControlAction::ProviderSet, Subject::provider(name));
        tx.note(self.done(&by.at(*world), action, subject, &detail));
        Ok(())
    }

    /// Checks under the App's lock that the connection is still as it was read, and as the caller expects.
    async fn check_provider(
        &self,
        tx: &mut dyn Repositories,
        wanted: &Connection,
        known: Option<&StoredConnection>,
        is_expected: Precondition<'_, Option<ListedConnection>>,
    ) -> Result<(), Refusal> {
        let app = tx.apps().lock(wanted.world.app_id).await?;
        app.ok_or(Refusal::NotFound("app"))?;
        let now = tx.provider_connections().find(&wanted.world, &wanted.name);
        let now = now.await?;
        if now.as_ref() != known {
            return Err(Fault::LostRace.into());
        }
        match is_expected(&now.map(|now| self.listed_connection(now))) {
            true => Ok(()),
            false => Err(Refusal::PreconditionFailed),
        }
    }

    /// Returns a connection by its name.
    ///
    /// # Errors
    /// [`Refusal`].
    pub async fn show_provider(
        &self,
        by: &Principal,
        world: World,
        name: &ProviderName,
    ) -> Result<ListedConnection, Refusal> {
        let listed = self.list_providers(by, world.into()).await?;
        let mut listed = listed.into_iter();
        let found = listed.find(|listed| listed.connection.name == *name);
        found.ok_or(NO_PROVIDER)
    }

    /// Lists the connections of an App, or of one of its environments, by environment and name. The built-in provider of the test environment
    /// is not among them.
    ///
    /// # Errors
    /// [`Refusal`].
    pub async fn list_providers(
        &self,
        by: &Principal,
        of: Extent,
    ) -> Result<Vec<ListedConnection>, Refusal> {
        by.authorize(Action::ReadProviders, of)?;
        let app = self.app_of(of).await?.id;
        let mut read = self.ports.store.read().await?;
        let stored = read.provider_connections().list(app).await?;
        let stored = stored.into_iter();
        let stored = stored.filter(|stored| of.includes(&stored.connection.world));
        Ok(stored
            .map(|stored| self.listed_connection(stored))
            .collect())
    }

    /// Removes a connection. Links to user accounts are kept and work again once the connection is set again.
    ///
    /// # Errors
    /// [`Refusal`].
    pub async fn remove_provider(
        &self,
        by: &Principal,
        world: World,
        name: &ProviderName,
    ) -> Result<(), Refusal> {
        self.remove_expected_provider(by, world, name, &|_| true)
            .await
    }

    /// Does the same if the connection is in the expected state.
    ///
    /// # Errors
    /// [`Refusal`]; nothing changes then.
    pub async fn remove_expected_provider(
        &self,
        by: &Principal,
        world: World,
        name: &ProviderName,
        is_expected: Precondition<'_, Option<ListedConnection>>,
    ) -> Result<(), Refusal> {
        by.authorize(Action::RemoveProvider, world)?;
        retried(|| self.drop_provider(by, world, name, is_expected)).await
    }

    /// Removes a connection in the expected state, for a principal whose right was checked.
    pub(crate) async fn drop_provider(
        &self,
        by: &Principal,
        world: World,
        name: &ProviderName,
        is_expected: Precondition<'_, Option<ListedConnection>>,
    ) -> Result<(), Refusal> {
        self.app(world.app_id).await?;
        let mut tx = self.begin_change([world]).await?;
        let app = tx.apps().lock(world.app_id).await?;
        app.ok_or(Refusal::NotFound("app"))?;
        let known = tx.provider_connections().find(&world, name).await?;
        let known = known.ok_or(NO_PROVIDER)?;
        if !is_expected(&Some(self.listed_connection(known))) {
            return Err(Refusal::PreconditionFailed);
        }
        self.delete_provider(by, &mut tx, world, name).await?;
        Ok(tx.commit().await?)
    }

    /// Removes a connection in an open transaction.
    pub(super) async fn delete_provider(
        &self,
        by: &Principal,
        tx: &mut Change<'_>,
        world: World,
        name: &ProviderName,
    ) -> Result<(), Refusal> {
        if !tx.provider_connections().remove(&world, name).await? {
            return Err(NO_PROVIDER);
        }
        let fact = Fact::provider_removed(name.clone());
        self.emit(&mut **tx, by.at(world), [fact]).await?;
        let (action, subject) = (ControlAction::ProviderRemove, Subject::provider(name));
        tx.note(self.done(&by.at(world), action, subject, &Detail::default()));
        Ok(())
    }

    pub(crate) fn listed_connection(&self, stored: StoredConnection) -> ListedConnection {
        ListedConnection {
            callback_url: self.callback_url(stored.connection.callback_id),
            connection: stored.connection,
            secret: stored.hint,
        }
    }
}

/// Whether the client secret is sent to the same places in the same way. Otherwise the stored one is not used, because a change of the
/// connection could send it to an attacker.
pub(super) fn is_sent_alike(before: &Connection, after: &Connection) -> bool {
    let place = |connection: &Connection| {
        let settings = &connection.settings;
        ConnectionSettings {
            tenants: Vec::new(),
            trust_email_verified: false,
            store_tokens: false,
            scopes: Vec::new(),
            ..settings.clone()
        }
    };
    before.client_id == after.client_id && place(before) == place(after)
}

/// Returns the changed settings for the audit entry. The secret is never recorded, only that there is a new one.
fn changes(
    before: Option<&Connection>,
    after: &Connection,
    has_new_secret: bool,
) -> Result<Detail, Fault> {
    let described = |connection: &Connection| {
        let settings = serde_json::to_value(&connection.settings)
            .and_then(serde_json::from_value::<BTreeMap<String, Value>>);
        let mut settings = settings.map_err(|error| Fault::Internal(Box::new(error)))?;
        let client_id = connection.client_id.as_str();
        settings.insert("client_id".to_owned(), client_id.into());
        Ok::<_, Fault>(settings)
    };
    let earlier = before.map(described).transpose()?.unwrap_or_default();
    let later = described(after)?;
    // Include removed settings: a setting without a value is not serialised.
    let names: BTreeSet<&String> = earlier.keys().chain(later.keys()).collect();
    let value = |of: &BTreeMap<String, Value>, name| of.get(name).cloned().unwrap_or_default();
    let changed = names.into_iter().fold(Detail::default(), |detail, name| {
        detail.changed(name, value(&earlier, name), value(&later, name))
    });
    Ok(match has_new_secret {
        true => changed.with("secret", "set"),
        false => changed,
    })
}
