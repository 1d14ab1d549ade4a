//! `vestry provider set|list|remove`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use vestry_domain::action::Action;
use vestry_domain::audit::control::{ControlAction, Detail, Subject};
use vestry_domain::event::Fact;
use vestry_domain::ids::AppId;
use vestry_domain::provider::{Connection, ConnectionSettings, ProviderName};
use vestry_domain::{Secret, World};
use vestry_ports::store::StoredConnection;

use crate::kernel::fault::retried;
use crate::kernel::provider_connection::secret_place;
use crate::{Fault, Principal, Refusal, Service};

/// A provider connection with its callback URL.
#[derive(Debug, Clone)]
pub struct ListedConnection {
    /// The stored settings, without the client secret.
    pub connection: Connection,
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
        by.authorize(Action::SetProvider)?;
        let now = self.ports.clock.machine();
        let connection = Connection {
            callback_id: self.new_id(now),
            world,
            name,
            client_id: client_id.to_owned(),
            settings,
            created_at: now,
            updated_at: now,
        };
        connection.check()?;
        let connection = retried(|| self.store_provider(by, &connection, secret)).await?;
        Ok(self.listed_connection(connection))
    }

    async fn store_provider(
        &self,
        by: &Principal,
        wanted: &Connection,
        secret: &Secret<String>,
    ) -> Result<Connection, Refusal> {
        let mut read = self.ports.store.read().await?;
        if read.apps().find(wanted.world.app_id).await?.is_none() {
            return Err(Refusal::NotFound("app"));
        }
        let known = read
            .provider_connections()
            .find(&wanted.world, &wanted.name);
        let known = known.await?.map(|known| known.connection);
        drop(read);
        let mut connection = wanted.clone();
        if let Some(known) = &known {
            connection.callback_id = known.callback_id;
            connection.created_at = known.created_at;
        }
        // The secret is bound to the callback id, the only part of a connection that never changes.
        let owner = connection.callback_id.to_string();
        let place = secret_place(connection.world, &owner);
        let sealed = self.ports.sealer.seal(place, secret.expose().as_bytes());
        let stored = StoredConnection {
            connection,
            secret: sealed.await.map_err(Fault::from)?,
        };
        let mut tx = self.begin_change([wanted.world]).await?;
        let connections = tx.provider_connections();
        let is_stored = match known {
            Some(_) => connections.update(&stored).await?,
            None => connections.insert(&stored).await?,
        };
        if !is_stored {
            // A concurrent command set or removed the connection.
            return Err(Fault::LostRace.into());
        }
        let fact = Fact::provider_set(wanted.name.clone());
        self.emit(&mut *tx, by.at(wanted.world), [fact]).await?;
        let detail = changes(known.as_ref(), &stored.connection)?;
        let action = ControlAction::ProviderSet;
        let subject = Subject::provider(&wanted.name);
        tx.note(self.done(&by.at(wanted.world), action, subject, &detail));
        tx.commit().await?;
        Ok(stored.connection)
    }

    /// Lists the connections of an App by environment and name, without the built-in provider of the test environment.
    ///
    /// # Errors
    /// [`Refusal`].
    pub async fn list_providers(
        &self,
        by: &Principal,
        app: AppId,
    ) -> Result<Vec<ListedConnection>, Refusal> {
        by.authorize(Action::ReadProviders)?;
        self.app(app).await?;
        let mut read = self.ports.store.read().await?;
        let stored = read.provider_connections().list(app).await?;
        let connections = stored.into_iter().map(|stored| stored.connection);
        Ok(connections
            .map(|connection| self.listed_connection(connection))
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
        by.authorize(Action::RemoveProvider)?;
        retried(|| self.drop_provider(by, world, name)).await
    }

    async fn drop_provider(
        &self,
        by: &Principal,
        world: World,
        name: &ProviderName,
    ) -> Result<(), Refusal> {
        self.app(world.app_id).await?;
        let mut tx = self.begin_change([world]).await?;
        if !tx.provider_connections().remove(&world, name).await? {
            return Err(Refusal::NotFound("provider"));
        }
        let fact = Fact::provider_removed(name.clone());
        self.emit(&mut *tx, by.at(world), [fact]).await?;
        let (action, subject) = (ControlAction::ProviderRemove, Subject::provider(name));
        tx.note(self.done(&by.at(world), action, subject, &Detail::default()));
        Ok(tx.commit().await?)
    }

    fn listed_connection(&self, connection: Connection) -> ListedConnection {
        ListedConnection {
            callback_url: self.callback_url(connection.callback_id),
            connection,
        }
    }
}

/// Returns the changed settings for the audit entry. The secret is always replaced and never recorded.
fn changes(before: Option<&Connection>, after: &Connection) -> Result<Detail, Fault> {
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
    Ok(changed.with("secret", "set"))
}
