//! The port's implementation.

use std::fmt;
use std::sync::Arc;

use vestry_domain::Secret;
use vestry_domain::provider::Connection;
use vestry_outbound::{NotSetUp, Outbound, Reach};
use vestry_ports::identity_providers::{
    AuthorizationRequest, Exchanged, Grant, IdentityProviders, ProviderAccess, ProviderFault,
};
use vestry_ports::port;

use crate::cache::Cache;
use crate::discovery::Discovery;
use crate::endpoints::{self, Endpoints};
use crate::exchange;
use crate::fetch::Fetcher;
use crate::issuer::Issuer;
use crate::key_set::KeySet;
use crate::known::{ClientSecretKind, Known, Plain, Protocol, known};
use crate::open_id::Believer;
use crate::settings::Settings;
use crate::{apple, profile};

/// Speaks to identity providers over HTTP.
pub struct OauthProviders {
    fetcher: Fetcher,
    documents: Cache<Discovery>,
    key_sets: Cache<KeySet>,
}

/// A connection with its endpoints.
struct Way<'a> {
    known: &'static Known,
    endpoints: Endpoints,
    speaks: Speaks<'a>,
}

/// The protocol, with its parameters.
#[derive(Clone, Copy)]
enum Speaks<'a> {
    OpenId(Issuer<'a>),
    Plain(&'static Plain),
}

impl OauthProviders {
    /// Creates the client. Nothing is connected yet.
    ///
    /// # Errors
    /// See [`NotSetUp`].
    pub fn new(settings: &Settings) -> Result<Self, NotSetUp> {
        let networks = settings.allowed_networks.iter().copied();
        let outbound = Outbound::new(Reach::public_and(networks), settings.limits)?;
        Ok(Self {
            fetcher: Fetcher(outbound),
            documents: Cache::new(settings.between_fetches),
            key_sets: Cache::new(settings.between_fetches),
        })
    }

    async fn way<'a>(&self, connection: &'a Connection) -> Result<Way<'a>, ProviderFault> {
        let known = known(connection.kind());
        let known = known.ok_or(ProviderFault::Misconfigured(
            "this provider cannot be called",
        ))?;
        let settings = &connection.settings;
        let (endpoints, speaks) = match &known.protocol {
            Protocol::Plain(plain) => (Endpoints::plain(plain, settings)?, Speaks::Plain(plain)),
            Protocol::OpenId { issuer } => {
                let issuer = endpoints::issuer(connection, *issuer)?;
                let found = if Endpoints::are_all_set(settings) {
                    None
                } else {
                    Some(self.document(issuer).await?)
                };
                let endpoints = Endpoints::open_id(settings, found.as_deref())?;
                (endpoints, Speaks::OpenId(issuer))
            }
        };
        Ok(Way {
            known,
            endpoints,
            speaks,
        })
    }

    async fn document(&self, issuer: Issuer<'_>) -> Result<Arc<Discovery>, ProviderFault> {
        let fetch = Discovery::fetch(&self.fetcher, issuer);
        self.documents.get(issuer.0, fetch).await
    }
}

impl Way<'_> {
    /// Checks the `iss` of a callback before the code is sent anywhere: it may belong to another provider, whose code this one's token
    /// endpoint would steal (RFC 9207 2.4, O-6).
    fn check_callback(&self, iss: Option<&str>) -> Result<(), ProviderFault> {
        let is_right = match (iss, self.speaks) {
            (None, _) => !self.endpoints.issuer_in_callback,
            (Some(iss), Speaks::OpenId(issuer)) => issuer.may_be(iss),
            (Some(iss), Speaks::Plain(plain)) => iss == plain.issuer,
        };
        if is_right {
            Ok(())
        } else {
            Err(ProviderFault::Invalid("iss of the callback"))
        }
    }

    /// Returns the client secret for the token request.
    fn client_secret(
        &self,
        access: ProviderAccess<'_>,
        grant: Grant<'_>,
    ) -> Result<Secret<String>, ProviderFault> {
        let connection = access.connection;
        match (self.known.secret, &connection.settings.apple, self.speaks) {
            (ClientSecretKind::SigningKey, Some(key), Speaks::OpenId(issuer)) => {
                let (secret, client_id) = (access.client_secret, &connection.client_id);
                apple::client_secret(key, secret, client_id, issuer.0, grant.now)
                    .map_err(ProviderFault::Misconfigured)
            }
            (ClientSecretKind::SigningKey, _, _) => Err(ProviderFault::Misconfigured(
                "the team and the id of the key are missing",
            )),
            (ClientSecretKind::Plain, _, _) => Ok(access.client_secret.clone()),
        }
    }
}

/// Prints only the type name.
impl fmt::Debug for OauthProviders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OauthProviders")
    }
}

#[port]
impl IdentityProviders for OauthProviders {
    async fn authorization_url(
        &self,
        access: ProviderAccess<'_>,
        request: AuthorizationRequest<'_>,
    ) -> Result<String, ProviderFault> {
        let connection = access.connection;
        let way = self.way(connection).await?;
        let address = exchange::address(
            way.known,
            &way.endpoints,
            &connection.client_id,
            &connection.settings,
            request,
        )?;
        Ok(address.into())
    }

    async fn exchange(
        &self,
        access: ProviderAccess<'_>,
        grant: Grant<'_>,
    ) -> Result<Exchanged, ProviderFault> {
        let connection = access.connection;
        let way = self.way(connection).await?;
        way.check_callback(grant.issuer)?;
        let secret = way.client_secret(access, grant)?;
        let (fetcher, endpoints) = (&self.fetcher, &way.endpoints);
        let client_id = &connection.client_id;
        let issued = exchange::exchange(fetcher, endpoints, client_id, &secret, grant).await?;
        let identity = match way.speaks {
            Speaks::Plain(plain) => {
                let token = &issued.tokens.access_token;
                profile::identity(fetcher, plain, endpoints, connection, token).await?
            }
            Speaks::OpenId(issuer) => {
                let believer = Believer {
                    fetcher,
                    key_sets: &self.key_sets,
                    endpoints,
                    connection,
                    issuer,
                };
                believer.identity(&issued, grant).await?
            }
        };
        Ok(Exchanged {
            identity,
            tokens: issued.tokens,
        })
    }
}
