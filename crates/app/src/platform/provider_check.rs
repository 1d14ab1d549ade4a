//! The check of a provider connection, for those who set it up.

use vestry_domain::World;
use vestry_domain::action::Action;
use vestry_domain::limits::Limit;
use vestry_domain::provider::{self, ProviderName};
use vestry_ports::entropy::Bytes;
use vestry_ports::identity_providers::{AuthorizationRequest, CheckedPart, ProviderPart};

use super::providers::NO_PROVIDER;
use crate::{Fault, Principal, Refusal, Service};

/// Checks per minute in an environment. Each makes a few calls to the provider.
const PER_MINUTE: u32 = 5;

/// The result of one check.
#[derive(Debug)]
pub struct ProviderCheck {
    /// The checked part: `discovery`, `jwks` or `callback_url`.
    pub name: &'static str,
    /// Whether nothing speaks against a sign-in.
    pub ok: bool,
    /// The state that was found, or the problem. It contains nothing that the provider sent.
    pub detail: String,
}

impl Service {
    /// Calls what sign-ins need from a provider: its discovery document, its key set and its sign-in page.
    ///
    /// # Errors
    /// [`Refusal`]. A problem of the provider or the connection is part of the result, not an error.
    pub async fn check_provider_connection(
        &self,
        by: &Principal,
        world: World,
        name: &ProviderName,
    ) -> Result<Vec<ProviderCheck>, Refusal> {
        by.authorize(Action::CheckProvider, world)?;
        self.app(world.app_id).await?;
        let mut read = self.ports.store.read().await?;
        let stored = read.provider_connections().find(&world, name).await?;
        drop(read);
        let connection = stored.ok_or(NO_PROVIDER)?.connection;
        let providers = self.ports.providers.as_deref();
        let providers = providers.ok_or(Fault::NoTransport("identity providers"))?;
        self.admit_provider_check(world).await?;
        let mut source = Bytes(&*self.ports.entropy);
        let verifier = provider::code_verifier(&mut source);
        let callback_url = self.callback_url(connection.callback_id);
        let request = AuthorizationRequest {
            redirect_uri: &callback_url,
            state: &provider::state(name, &mut source),
            nonce: &provider::nonce(&mut source),
            code_challenge: &provider::code_challenge(&verifier),
        };
        let checked = providers.check(&connection, request).await;
        let checked = checked.into_iter();
        Ok(checked
            .map(|checked| described(checked, &callback_url))
            .collect())
    }

    async fn admit_provider_check(&self, world: World) -> Result<(), Refusal> {
        let (counted, limit) = (world.of_provider_checks(), Limit::per_minute(PER_MINUTE));
        let now = self.machine_time();
        let hit = self.ports.limiter.hit(&counted, limit, now).await;
        let verdict = hit.map_err(|unavailable| Fault::Unavailable(Box::new(unavailable)))?;
        match verdict.admitted {
            true => Ok(()),
            false => Err(Refusal::TooMany {
                retry_after: verdict.reset - now,
            }),
        }
    }
}

fn described(checked: CheckedPart, callback_url: &str) -> ProviderCheck {
    let (name, found) = match checked.part {
        ProviderPart::Discovery => (
            "discovery",
            "the discovery document names all endpoints".to_owned(),
        ),
        ProviderPart::KeySet => ("jwks", "the key set has keys".to_owned()),
        ProviderPart::SignInPage => (
            "callback_url",
            format!(
                "the sign-in page did not refuse the client id and the callback URL {callback_url}; some providers refuse an \
                 unregistered URL only after the user has signed in"
            ),
        ),
    };
    let problem = checked.outcome.err().map(|fault| fault.to_string());
    ProviderCheck {
        name,
        ok: problem.is_none(),
        detail: problem.unwrap_or(found),
    }
}
