//! `oauth/callback/{oauthcb_id}`: handles the browser's return from the provider.

use url::form_urlencoded::Serializer;
use vestry_domain::email::Email;
use vestry_domain::ids::OauthCallbackId;
use vestry_domain::provider::{self, Flow, Pending, SignInFailure, TOKEN_LIFETIME};
use vestry_domain::redirect::{CallerState, Landing, RedirectKind};
use vestry_domain::token::TokenHash;
use vestry_domain::{Secret, World};
use vestry_ports::entropy::Bytes;
use vestry_ports::identity_providers::{Exchanged, ProviderFault};

use super::{ExchangeError, Opened, Person, Returned};
use crate::identity::landing::Registered;
use crate::kernel::fault::{causes, retried};
use crate::kernel::refusal::{RedirectError, has_common};
use crate::{Fault, Refusal, Service};

/// The parameters and cookie that the browser brought.
#[derive(Debug, Default)]
pub struct Callback {
    /// `state`.
    pub state: Option<Secret<String>>,
    /// `code`.
    pub code: Option<Secret<String>>,
    /// `error` (RFC 6749, section 4.1.2.1).
    pub error: Option<String>,
    /// `iss` (RFC 9207).
    pub issuer: Option<String>,
    /// Apple's `user`.
    pub user: Option<String>,
    /// The cookie set from [`BegunOauth::browser`](super::BegunOauth).
    pub browser: Option<Secret<String>>,
}

/// The redirect that ends the callback.
#[derive(Debug)]
pub struct ComeBack {
    /// With `token=`, or with `error=`.
    pub url: String,
    /// The value of `error=`.
    pub failure: Option<SignInFailure>,
}

/// The reason why there is no redirect.
#[derive(Debug, thiserror::Error)]
pub enum CallbackError {
    /// No connection has this callback.
    #[error("no such callback")]
    NotFound,
    /// The sign-in failed, and the App has no default login URL to report it to.
    #[error("the sign-in failed, and there is no URL to redirect to")]
    NowhereToGo(SignInFailure),
    /// See [`Refusal`].
    #[error(transparent)]
    Common(Refusal),
}

has_common!(CallbackError);

/// The URLs that the browser can be sent to, taken from the flow as far as it is known.
#[derive(Default)]
struct Landings {
    login: Option<String>,
    registration: Option<String>,
    state: Option<CallerState>,
}

impl From<Flow> for Landings {
    fn from(flow: Flow) -> Self {
        Self {
            login: flow.login_url,
            registration: flow.registration_url,
            state: flow.caller_state,
        }
    }
}

impl Service {
    /// Uses the state up, exchanges the code, and redirects the browser with a token for `oauth/verify`.
    ///
    /// # Errors
    /// [`CallbackError`]. Failures of the sign-in itself are reported to the App in `error=`.
    pub async fn finish_oauth(
        &self,
        id: OauthCallbackId,
        callback: Callback,
    ) -> Result<ComeBack, CallbackError> {
        let opened = self.connection_of_callback(id).await?;
        let opened = opened.ok_or(CallbackError::NotFound)?;
        let world = opened.connection.world;
        let Some(flow) = self.own_flow(&opened, &callback, None).await? else {
            let failure = SignInFailure::InvalidState;
            return self
                .back_with_failure(&world, &Landings::default(), failure)
                .await;
        };
        // The state stays unused until the session that began the trial shows it.
        if flow.trial.is_some() {
            let url = self.trial_url(&flow, &callback)?;
            return Ok(ComeBack { url, failure: None });
        }
        let person = match self.person_of_callback(&opened, &flow, &callback).await {
            Ok(person) => person,
            Err(Gone::Failed(failure)) => {
                return self.back_with_failure(&world, &flow.into(), failure).await;
            }
            Err(Gone::Fault(fault)) => return Err(fault.into()),
        };
        self.send_on(flow, person).await
    }

    /// Finds the flow of this state, if it belongs to this connection, this callback (`None`: ours) and this browser (O-2, O-6).
    ///
    /// A flow that belongs to another browser stays valid for that browser.
    pub(crate) async fn own_flow(
        &self,
        opened: &Opened,
        callback: &Callback,
        redirect_uri: Option<&str>,
    ) -> Result<Option<Flow>, Fault> {
        let Some(state) = &callback.state else {
            return Ok(None);
        };
        let connection = &opened.connection;
        let state = TokenHash::of(state.expose());
        let mut read = self.ports.store.read().await?;
        let flow = read.oauth_flows().find_flow(&connection.world, &state);
        let flow = flow.await?;
        let browser = callback.browser.as_ref();
        let browser = browser.map(|token| TokenHash::of(token.expose()));
        Ok(flow.filter(|flow| {
            flow.provider == connection.name
                && flow.redirect_uri.as_deref() == redirect_uri
                && (flow.browser.is_none() || flow.browser == browser)
        }))
    }

    /// Uses a flow up and exchanges its code.
    pub(crate) async fn person_of_callback(
        &self,
        opened: &Opened,
        flow: &Flow,
        callback: &Callback,
    ) -> Result<Person, Gone> {
        let exchanged = self.exchanged(opened, flow, callback).await;
        let exchanged = exchanged.map_err(|error| match error {
            NotExchanged::Fault(fault) => Gone::Fault(fault),
            NotExchanged::Used => Gone::Failed(SignInFailure::InvalidState),
            NotExchanged::Error(failure) => Gone::Failed(failure),
            NotExchanged::Provider(fault) => {
                let (provider, reason) = (&opened.connection.name, causes(&fault));
                tracing::warn!(%provider, reason, "sign-in through identity provider failed");
                Gone::Failed(failure(&fault))
            }
        })?;
        Ok(Person::of(exchanged, &opened.connection))
    }

    /// The same, with the reason for a failure and the basis of the identity.
    pub(super) async fn exchanged(
        &self,
        opened: &Opened,
        flow: &Flow,
        callback: &Callback,
    ) -> Result<Exchanged, NotExchanged> {
        if !retried(|| self.use_flow(flow)).await? {
            return Err(NotExchanged::Used);
        }
        if let Some(error) = &callback.error {
            return Err(NotExchanged::Error(failure_of(error)));
        }
        let Some(code) = &callback.code else {
            return Err(NotExchanged::Error(SignInFailure::ProviderError));
        };
        let returned = Returned {
            code,
            issuer: callback.issuer.as_deref(),
            user: callback.user.as_deref(),
        };
        let exchanged = self.exchange_code(opened, flow, returned).await;
        exchanged.map_err(|error| match error {
            ExchangeError::Fault(fault) => NotExchanged::Fault(fault),
            ExchangeError::Provider(fault) => NotExchanged::Provider(fault),
        })
    }

    /// The page of the console on which a trial ends, with the parameters that the browser brought. The console can have another origin, and
    /// only there does the browser show its session.
    fn trial_url(&self, flow: &Flow, callback: &Callback) -> Result<String, Refusal> {
        let secret = |secret: &Option<Secret<String>>| {
            let secret = secret.as_ref();
            secret.map(|secret| secret.expose().clone())
        };
        let brought = [
            ("state", secret(&callback.state)),
            ("code", secret(&callback.code)),
            ("error", callback.error.clone()),
            ("iss", callback.issuer.clone()),
            ("user", callback.user.clone()),
        ];
        let mut query = Serializer::new(String::new());
        for (name, value) in brought {
            query.extend_pairs(value.map(|value| (name, value)));
        }
        let World {
            app_id,
            environment,
            ..
        } = flow.world;
        Ok(format!(
            "{}/console/{app_id}/{environment}/providers/{}/trial?{}",
            self.console_origin()?,
            flow.provider,
            query.finish()
        ))
    }

    /// Uses a flow up; `false` when it was already used or has expired.
    pub(super) async fn use_flow(&self, flow: &Flow) -> Result<bool, Fault> {
        let now = self.now(&flow.world);
        let mut tx = self.ports.store.begin().await?;
        let is_ours = tx
            .oauth_flows()
            .consume_flow(&flow.world, &flow.state, now)
            .await?;
        tx.commit().await?;
        Ok(is_ours)
    }

    async fn send_on(&self, flow: Flow, person: Person) -> Result<ComeBack, CallbackError> {
        let world = flow.world;
        let kind = if self.is_known(&flow, &person).await? {
            RedirectKind::Login
        } else {
            RedirectKind::Registration
        };
        let token = provider::redirect_token(&mut Bytes(&*self.ports.entropy));
        let hash = TokenHash::of(token.expose());
        let pending = Pending {
            token: hash,
            world,
            provider: flow.provider.clone(),
            state: flow.state,
            identity: self.seal_person(world, &hash, &person).await?,
            challenge: flow.challenge,
            begun_from: flow.begun_from.clone(),
            expires_at: self.now(&world) + TOKEN_LIFETIME,
        };
        let landings = Landings::from(flow);
        let Some(landing) = self.oauth_landing(&world, &landings, kind).await? else {
            let failure = SignInFailure::Unavailable;
            return self.back_with_failure(&world, &landings, failure).await;
        };
        retried(|| self.store_pending(&pending)).await?;
        Ok(ComeBack {
            url: landing.with_token(token.expose(), landings.state.as_ref()),
            failure: None,
        })
    }

    async fn store_pending(&self, pending: &Pending) -> Result<(), Fault> {
        let mut tx = self.ports.store.begin().await?;
        tx.oauth_flows().insert_pending(pending).await?;
        Ok(tx.commit().await?)
    }

    /// Whether this looks like an existing user.
    ///
    /// This only guesses the landing URL; `oauth/verify` decides. Anyone could name an address that the provider does not verify, and learn
    /// from the landing URL whether we know it (M-12).
    async fn is_known(&self, flow: &Flow, person: &Person) -> Result<bool, Fault> {
        let (world, identity) = (&flow.world, &person.identity);
        let mut read = self.ports.store.read().await?;
        let link = read
            .provider_links()
            .find_by_subject(world, &flow.provider, &identity.issuer, &identity.subject)
            .await?;
        if link.is_some() {
            return Ok(true);
        }
        let email = identity.email.as_deref().map(Email::parse);
        let Some(Ok(email)) = email.filter(|_| identity.email_verified) else {
            return Ok(false);
        };
        let owned = read
            .identifiers()
            .email_by_identity(world, email.identity());
        Ok(owned.await?.is_some())
    }

    async fn back_with_failure(
        &self,
        world: &World,
        landings: &Landings,
        failure: SignInFailure,
    ) -> Result<ComeBack, CallbackError> {
        let landing = self
            .oauth_landing(world, landings, RedirectKind::Login)
            .await?;
        let landing = landing.ok_or(CallbackError::NowhereToGo(failure))?;
        Ok(ComeBack {
            url: landing.with_error(failure.as_str(), landings.state.as_ref()),
            failure: Some(failure),
        })
    }

    /// The landing URL: the one that the flow named if it is still registered, else the default.
    async fn oauth_landing(
        &self,
        world: &World,
        landings: &Landings,
        kind: RedirectKind,
    ) -> Result<Option<Landing>, Fault> {
        let wanted = match kind {
            RedirectKind::Registration => landings.registration.as_deref(),
            RedirectKind::Login | RedirectKind::Invite => landings.login.as_deref(),
        };
        let registered = Registered::read(&*self.ports.store, world).await?;
        let chosen = registered.choose(kind, "redirect_url", wanted);
        Ok(match chosen {
            Ok(landing) => Some(landing),
            Err(RedirectError::NotAllowed(_) | RedirectError::Missing(_)) => {
                registered.choose(kind, "redirect_url", None).ok()
            }
        })
    }
}

/// The reason why a flow led to no identity.
pub(super) enum NotExchanged {
    /// It was used before, or has expired.
    Used,
    /// The provider sent no code.
    Error(SignInFailure),
    Provider(ProviderFault),
    Fault(Fault),
}

impl From<Fault> for NotExchanged {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

/// The reason why a sign-in did not return.
pub(crate) enum Gone {
    Failed(SignInFailure),
    Fault(Fault),
}

impl From<Fault> for Gone {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

/// Maps the provider's own error. Its text is not passed on, because anyone can write it into a link.
fn failure_of(error: &str) -> SignInFailure {
    match error {
        // The second one is Apple's.
        "access_denied" | "user_cancelled_authorize" => SignInFailure::AccessDenied,
        "temporarily_unavailable" | "server_error" => SignInFailure::ProviderUnavailable,
        _ => SignInFailure::ProviderError,
    }
}

/// The failure that is reported to the App.
pub(super) const fn failure(fault: &ProviderFault) -> SignInFailure {
    match fault {
        ProviderFault::Refused | ProviderFault::Invalid(_) => SignInFailure::ProviderRefused,
        ProviderFault::Unavailable(_) => SignInFailure::ProviderUnavailable,
        ProviderFault::Misconfigured(_) => SignInFailure::ProviderMisconfigured,
    }
}
