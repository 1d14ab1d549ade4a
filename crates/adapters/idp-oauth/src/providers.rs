//! The port's implementation.

use std::fmt;
use std::sync::Arc;

use url::Url;
use vestry_domain::Secret;
use vestry_domain::provider::Connection;
use vestry_outbound::{NotSetUp, Outbound, Reach};
use vestry_ports::identity_providers::{
    AuthorizationRequest, CheckedPart, Exchanged, Grant, IdentityProviders, ProviderAccess,
    ProviderFault, ProviderPart,
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
        let found = match described_issuer(connection)? {
            Some(issuer) => Some(self.document(issuer).await?),
            None => None,
        };
        Way::of(connection, found.as_deref())
    }

    async fn document(&self, issuer: Issuer<'_>) -> Result<Arc<Discovery>, ProviderFault> {
        let fetch = Discovery::fetch(&self.fetcher, issuer);
        self.documents.get(issuer.0, fetch).await
    }
}

/// Returns the table entry of the connection's provider.
fn known_provider(connection: &Connection) -> Result<&'static Known, ProviderFault> {
    known(connection.kind()).ok_or(ProviderFault::Misconfigured(
        "this provider cannot be called",
    ))
}

/// Returns the issuer whose discovery document is needed; `None` if the endpoints are known without it.
fn described_issuer(connection: &Connection) -> Result<Option<Issuer<'_>>, ProviderFault> {
    match &known_provider(connection)?.protocol {
        Protocol::OpenId { issuer } if !Endpoints::are_all_set(&connection.settings) => {
            endpoints::issuer(connection, *issuer).map(Some)
        }
        Protocol::OpenId { .. } | Protocol::Plain(_) => Ok(None),
    }
}

impl<'a> Way<'a> {
    /// Finds the endpoints of a connection, with its discovery document if one is needed.
    fn of(connection: &'a Connection, found: Option<&Discovery>) -> Result<Self, ProviderFault> {
        let known = known_provider(connection)?;
        let settings = &connection.settings;
        let (endpoints, speaks) = match &known.protocol {
            Protocol::Plain(plain) => (Endpoints::plain(plain, settings)?, Speaks::Plain(plain)),
            Protocol::OpenId { issuer } => {
                let issuer = endpoints::issuer(connection, *issuer)?;
                let endpoints = Endpoints::open_id(settings, found)?;
                (endpoints, Speaks::OpenId(issuer))
            }
        };
        Ok(Self {
            known,
            endpoints,
            speaks,
        })
    }

    /// Returns the URL that a browser is sent to.
    fn address(
        &self,
        connection: &Connection,
        request: AuthorizationRequest<'_>,
    ) -> Result<Url, ProviderFault> {
        let (client_id, settings) = (&connection.client_id, &connection.settings);
        exchange::address(self.known, &self.endpoints, client_id, settings, request)
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
        Ok(way.address(connection, request)?.into())
    }

    async fn check(
        &self,
        connection: &Connection,
        request: AuthorizationRequest<'_>,
    ) -> Vec<CheckedPart> {
        let mut checked = Vec::new();
        let mut note = |part, outcome| checked.push(CheckedPart { part, outcome });
        let way = match described_issuer(connection) {
            Ok(None) => Way::of(connection, None),
            Ok(Some(issuer)) => match Discovery::fetch(&self.fetcher, issuer).await {
                Ok(found) => Way::of(connection, Some(&found)).inspect(|_| {
                    note(ProviderPart::Discovery, Ok(()));
                }),
                Err(fault) => Err(fault),
            },
            Err(fault) => Err(fault),
        };
        let way = match way {
            Ok(way) => way,
            Err(fault) => {
                note(ProviderPart::Discovery, Err(fault));
                return checked;
            }
        };
        if let Some(url) = way.endpoints.jwks.clone() {
            let keys = KeySet::fetch(&self.fetcher, url).await;
            note(ProviderPart::KeySet, keys.and_then(|keys| keys.not_empty()));
        }
        let page = match way.address(connection, request) {
            Ok(address) => self.fetcher.sign_in_page(address).await,
            Err(fault) => Err(fault),
        };
        note(ProviderPart::SignInPage, page);
        checked
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
        let (identity, evidence) = match way.speaks {
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
            evidence,
        })
    }
}
