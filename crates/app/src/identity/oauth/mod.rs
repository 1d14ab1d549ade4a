//! Sign-in through identity providers: away, back, and verified.
//!
//! `begin` notes a flow and says where the browser goes. The browser comes back either to our callback, which exchanges the
//! code and sends it on with a token of ours, or to the App's own, which sends us the code. In both cases nothing is decided
//! about users before `oauth/verify`: there, in one transaction, the token is used up and the person becomes a user (`join`).
//!
//! In test worlds there is a provider that is always there (`test_provider`): it is played by this service and knows no network.

pub mod begin;
pub mod callback;
pub mod delete_link;
pub mod test_provider;
pub mod trial;
pub mod verify;

mod join;

pub use begin::{BeginOauth, BeginOauthError, BegunOauth};
pub use callback::{Callback, CallbackError, ComeBack};
pub use delete_link::DeletedProviderLink;
pub use test_provider::{TestAnswer, TestChoice};
pub use trial::{
    BegunTrial, ProviderTrial, TrialFailure, TrialOutcome, TrialRefusal, TrialStep, TriedPerson,
};
pub use verify::{OauthProof, VerifiedOauth, VerifyOauth, VerifyOauthError};

use serde::{Deserialize, Serialize};
use vestry_domain::envelope::{Place, Sealed, SecretKind};
use vestry_domain::ids::{AppId, OauthCallbackId};
use vestry_domain::provider::{
    Connection, ConnectionSettings, Flow, FlowSecrets, ProvenIdentity, ProviderName, ProviderTokens,
};
use vestry_domain::token::TokenHash;
use vestry_domain::{Environment, Invalid, Secret, Timestamp, World};
use vestry_ports::identity_providers::{Exchanged, Grant, ProviderAccess, ProviderFault};

use crate::kernel::caller::enabled;
use crate::kernel::provider_connection::secret_place;
use crate::{Fault, Refusal, Service};

/// The quota for sign-ins that a client address started with a public token and has not finished.
pub(crate) const UNFINISHED: &str = "oauth_unfinished";

/// A provider connection with its secret opened.
pub(crate) struct Opened {
    pub(crate) connection: Connection,
    /// `""` for the built-in provider.
    pub(crate) secret: Secret<String>,
}

impl Opened {
    const fn access(&self) -> ProviderAccess<'_> {
        ProviderAccess {
            connection: &self.connection,
            client_secret: &self.secret,
        }
    }
}

/// What a browser or the App brought back from a provider.
pub(crate) struct Returned<'a> {
    pub(crate) code: &'a Secret<String>,
    pub(crate) issuer: Option<&'a str>,
    pub(crate) user: Option<&'a str>,
}

/// The reason why a code was rejected.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ExchangeError {
    #[error(transparent)]
    Provider(#[from] ProviderFault),
    #[error(transparent)]
    Fault(#[from] Fault),
}

impl Service {
    /// Whether browsers reach us over `https`, and can thus be given a `Secure` cookie.
    pub fn is_https(&self) -> bool {
        self.settings.public_url.starts_with("https://")
    }

    /// The origin of the console, to which providers send operators back. Taken from the settings alone (attack 15).
    ///
    /// # Errors
    /// [`Refusal::NotNow`] if this deployment has no console.
    pub(crate) fn console_origin(&self) -> Result<&str, Refusal> {
        let console = self.settings.console.as_ref();
        let console = console.ok_or(Refusal::NotNow(
            "set console.base_url first, so that the provider can send browsers back to the console",
        ))?;
        Ok(&console.origin)
    }

    /// Finds a connection by name. The built-in provider exists in every test world.
    pub(crate) async fn provider_connection(
        &self,
        world: &World,
        name: &ProviderName,
    ) -> Result<Option<Opened>, Fault> {
        if name.is_test() {
            let is_test = world.environment == Environment::Test;
            return is_test.then(|| built_in(world.app_id)).transpose();
        }
        let mut read = self.ports.store.read().await?;
        let stored = read.provider_connections().find(world, name).await?;
        drop(read);
        let Some(stored) = stored else {
            return Ok(None);
        };
        let opened = self.open_connection(stored.connection, &stored.secret);
        // One that a configuration document has added has no secret yet.
        Ok(Some(opened.await?).filter(|opened| !opened.secret.expose().is_empty()))
    }

    /// The connection whose callback this is. Browsers reach it without a key, so this is where a disabled App is refused.
    pub(crate) async fn connection_of_callback(
        &self,
        id: OauthCallbackId,
    ) -> Result<Option<Opened>, Refusal> {
        let mut read = self.ports.store.read().await?;
        let stored = read.provider_connections().find_by_callback(id).await?;
        let app = match &stored {
            Some(stored) => stored.connection.world.app_id,
            None => id.app_of_test_provider(),
        };
        let Some(app) = read.apps().find(app).await? else {
            return Ok(None);
        };
        drop(read);
        // Its connection has a callback in the console.
        if app.id == AppId::BUILT_IN {
            return Ok(None);
        }
        enabled(&app)?;
        Ok(Some(match stored {
            Some(stored) => {
                let opened = self.open_connection(stored.connection, &stored.secret);
                opened.await?
            }
            None => built_in(app.id)?,
        }))
    }

    async fn open_connection(
        &self,
        connection: Connection,
        sealed: &Sealed,
    ) -> Result<Opened, Fault> {
        let owner = connection.callback_id.to_string();
        let place = secret_place(connection.world, &owner);
        let secret = self.ports.sealer.open(place, sealed).await?;
        let secret = text(&secret)?;
        Ok(Opened { connection, secret })
    }

    /// Exchanges a code. The flow must already be used up.
    pub(crate) async fn exchange_code(
        &self,
        opened: &Opened,
        flow: &Flow,
        returned: Returned<'_>,
    ) -> Result<Exchanged, ExchangeError> {
        if opened.connection.name.is_test() {
            return Ok(test_provider::exchange(flow, &returned)?);
        }
        let secrets = self.flow_secrets(flow).await?;
        let redirect_uri = self.redirect_uri(opened, flow);
        let grant = Grant {
            code: returned.code,
            issuer: returned.issuer,
            redirect_uri: &redirect_uri,
            code_verifier: &secrets.code_verifier,
            nonce: &secrets.nonce,
            user: returned.user,
            now: self.ports.clock.machine(),
        };
        Ok(self
            .identity_providers()?
            .exchange(opened.access(), grant)
            .await?)
    }

    /// The redirect URI used at the provider for this flow.
    pub(crate) fn redirect_uri(&self, opened: &Opened, flow: &Flow) -> String {
        let own = flow.redirect_uri.clone();
        own.unwrap_or_else(|| self.callback_url(opened.connection.callback_id))
    }

    fn identity_providers(
        &self,
    ) -> Result<&dyn vestry_ports::identity_providers::IdentityProviders, ProviderFault> {
        let providers = self.ports.providers.as_deref();
        providers.ok_or(ProviderFault::Misconfigured(
            "this process supports only the built-in provider",
        ))
    }

    async fn seal_flow_secrets(
        &self,
        world: World,
        state: &TokenHash,
        secrets: &FlowSecrets,
    ) -> Result<Sealed, Fault> {
        let plain = Secret::new(format!(
            "{}\n{}",
            secrets.code_verifier.expose(),
            secrets.nonce.expose()
        ));
        let owner = hex::encode(state.0);
        let place = flow_place(world, &owner);
        let sealed = self.ports.sealer.seal(place, plain.expose().as_bytes());
        Ok(sealed.await?)
    }

    async fn flow_secrets(&self, flow: &Flow) -> Result<FlowSecrets, Fault> {
        let owner = hex::encode(flow.state.0);
        let place = flow_place(flow.world, &owner);
        let plain = text(&self.ports.sealer.open(place, &flow.secrets).await?)?;
        let (code_verifier, nonce) = plain
            .expose()
            .split_once('\n')
            .ok_or_else(|| Fault::Internal("the secrets of a flow are malformed".into()))?;
        Ok(FlowSecrets {
            code_verifier: Secret::new(code_verifier.to_owned()),
            nonce: Secret::new(nonce.to_owned()),
        })
    }

    /// Seals a person for transport from the callback to `oauth/verify`.
    async fn seal_person(
        &self,
        world: World,
        token: &TokenHash,
        person: &Person,
    ) -> Result<Sealed, Fault> {
        let tokens = person.tokens.as_ref();
        let carried = Carried {
            identity: &person.identity,
            access_token: tokens.map(|tokens| tokens.access_token.expose().as_str()),
            refresh_token: tokens
                .and_then(|tokens| tokens.refresh_token.as_ref())
                .map(|token| token.expose().as_str()),
        };
        let plain = serde_json::to_vec(&carried).map_err(|bug| Fault::Internal(bug.into()))?;
        let plain = Secret::new(plain);
        let owner = hex::encode(token.0);
        let place = identity_place(world, &owner);
        Ok(self.ports.sealer.seal(place, plain.expose()).await?)
    }

    async fn open_person(
        &self,
        world: World,
        token: &TokenHash,
        sealed: &Sealed,
    ) -> Result<Person, Fault> {
        let owner = hex::encode(token.0);
        let place = identity_place(world, &owner);
        let plain = self.ports.sealer.open(place, sealed).await?;
        let arrived: Arrived =
            serde_json::from_slice(plain.expose()).map_err(|bug| Fault::Internal(bug.into()))?;
        let tokens = arrived.access_token.map(|access_token| ProviderTokens {
            access_token: Secret::new(access_token),
            refresh_token: arrived.refresh_token.map(Secret::new),
        });
        Ok(Person {
            identity: arrived.identity,
            tokens,
        })
    }
}

/// A person vouched for by a provider.
pub(crate) struct Person {
    pub(crate) identity: ProvenIdentity,
    /// Present only if the App wants them (O-12).
    pub(crate) tokens: Option<ProviderTokens>,
}

impl Person {
    fn of(exchanged: Exchanged, connection: &Connection) -> Self {
        Self {
            identity: exchanged.identity,
            tokens: connection.settings.store_tokens.then_some(exchanged.tokens),
        }
    }
}

#[derive(Serialize)]
struct Carried<'a> {
    identity: &'a ProvenIdentity,
    access_token: Option<&'a str>,
    refresh_token: Option<&'a str>,
}

#[derive(Deserialize)]
struct Arrived {
    identity: ProvenIdentity,
    access_token: Option<String>,
    refresh_token: Option<String>,
}

/// The connection that every test world has.
fn built_in(app: AppId) -> Result<Opened, Fault> {
    let name = ProviderName::parse(ProviderName::TEST);
    Ok(Opened {
        connection: Connection {
            callback_id: OauthCallbackId::of_test_provider(app),
            world: World::new(app, Environment::Test),
            name: name.map_err(|bug: Invalid| Fault::Internal(bug.into()))?,
            client_id: ProviderName::TEST.to_owned(),
            settings: ConnectionSettings {
                store_tokens: true,
                ..ConnectionSettings::default()
            },
            created_at: Timestamp::default(),
            updated_at: Timestamp::default(),
        },
        secret: Secret::new(String::new()),
    })
}

const fn flow_place(world: World, owner: &str) -> Place<'_> {
    Place {
        world,
        kind: SecretKind::OauthFlow,
        owner,
    }
}

const fn identity_place(world: World, owner: &str) -> Place<'_> {
    Place {
        world,
        kind: SecretKind::OauthIdentity,
        owner,
    }
}

fn text(bytes: &Secret<Vec<u8>>) -> Result<Secret<String>, Fault> {
    let text = std::str::from_utf8(bytes.expose());
    let text = text.map_err(|_other| Fault::Internal("a sealed text is not valid text".into()))?;
    Ok(Secret::new(text.to_owned()))
}
