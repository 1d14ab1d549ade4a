//! `vestry operator sign-in set|show|remove`: the one OpenID Connect provider with which operators sign in.

use vestry_domain::action::Action;
use vestry_domain::envelope::KeyPurpose;
use vestry_domain::extent::Extent;
use vestry_domain::provider::{ConnectionSettings, ProviderName};
use vestry_domain::{Invalid, Secret};
use vestry_ports::store::StoredConnection;

use super::WORLD;
use crate::kernel::fault::retried;
use crate::platform::{ListedConnection, NewConnection};
use crate::{Fault, Principal, Refusal, Service};

/// The name of the connection. It is part of the callback URL.
const NAME: &str = "company";
const NOT_SET: Refusal = Refusal::NotFound("company sign-in");

impl Service {
    /// Sets the provider, or replaces it. It decides who has the address of an operator, so only an owner may choose it.
    ///
    /// # Errors
    /// [`Refusal`]; nothing changes then.
    pub async fn set_company_sign_in(
        &self,
        by: &Principal,
        issuer: &str,
        client_id: &str,
        secret: &Secret<String>,
    ) -> Result<ListedConnection, Refusal> {
        by.authorize(Action::ManageOwners, Extent::Deployment)?;
        // Without it, there is nothing to register with the provider.
        self.company_callback_url()?;
        self.hold_deployment_key(KeyPurpose::Secrets).await?;
        let new = NewConnection {
            name: company()?,
            client_id: client_id.to_owned(),
            secret: Some(secret.clone()),
            settings: ConnectionSettings {
                issuer: Some(issuer.to_owned()),
                trust_email_verified: true,
                ..ConnectionSettings::default()
            },
        };
        let set = self
            .put_permitted_provider(by, WORLD, new, &|_| true)
            .await?;
        self.with_own_callback(set)
    }

    /// Returns the provider's connection.
    ///
    /// # Errors
    /// [`Refusal::NotFound`] if none is set.
    pub async fn show_company_sign_in(&self, by: &Principal) -> Result<ListedConnection, Refusal> {
        by.authorize(Action::ManageOwners, Extent::Deployment)?;
        let stored = self.company_connection().await?.ok_or(NOT_SET)?;
        self.with_own_callback(self.listed_connection(stored))
    }

    /// Removes the provider. Sessions that began with it stay.
    ///
    /// # Errors
    /// [`Refusal::NotFound`] if none is set.
    pub async fn remove_company_sign_in(&self, by: &Principal) -> Result<(), Refusal> {
        by.authorize(Action::ManageOwners, Extent::Deployment)?;
        self.company_connection().await?.ok_or(NOT_SET)?;
        self.hold_deployment_key(KeyPurpose::Secrets).await?;
        let name = company()?;
        retried(|| self.drop_provider(by, WORLD, &name, &|_| true)).await
    }

    /// Returns whether operators can sign in with a provider.
    ///
    /// # Errors
    /// [`Fault`].
    pub async fn has_company_sign_in(&self) -> Result<bool, Fault> {
        Ok(self.company_connection().await?.is_some())
    }

    async fn company_connection(&self) -> Result<Option<StoredConnection>, Fault> {
        let mut read = self.ports.store.read().await?;
        let name = company()?;
        Ok(read.provider_connections().find(&WORLD, &name).await?)
    }

    fn with_own_callback(&self, listed: ListedConnection) -> Result<ListedConnection, Refusal> {
        Ok(ListedConnection {
            callback_url: self.company_callback_url()?,
            ..listed
        })
    }

    /// The URL at which the provider sends browsers back.
    pub(super) fn company_callback_url(&self) -> Result<String, Refusal> {
        let origin = self.console_origin()?;
        Ok(format!("{origin}/console/sign-in/{NAME}/callback"))
    }
}

/// The name of the connection.
pub(super) fn company() -> Result<ProviderName, Fault> {
    let name = ProviderName::parse(NAME);
    name.map_err(|bug: Invalid| Fault::Internal(bug.into()))
}
