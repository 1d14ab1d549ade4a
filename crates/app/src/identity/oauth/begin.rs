//! `oauth/{provider}/begin`: starting a sign-in through an identity provider.

use vestry_domain::action::Action;
use vestry_domain::ids::SessionId;
use vestry_domain::limits::Limit;
use vestry_domain::limits::oauth::unfinished_per_address;
use vestry_domain::provider::{self, FLOW_LIFETIME, Flow, FlowSecrets, ProviderName};
use vestry_domain::redirect::RedirectKind;
use vestry_domain::session::DeviceFingerprint;
use vestry_domain::timestamp::Seconds;
use vestry_domain::token::TokenHash;
use vestry_domain::{Invalid, Secret};
use vestry_ports::entropy::Bytes;
use vestry_ports::identity_providers::{AuthorizationRequest, ProviderFault};

use super::test_provider::TestChoice;
use super::{Opened, UNFINISHED};
use crate::identity::landing::Registered;
use crate::identity::sign_in_binding::Starter;
use crate::kernel::fault::retried;
use crate::kernel::refusal::has_common;
use crate::{Caller, Fault, Refusal, Service, SignInBinding};

/// The parameters of the call.
#[derive(Debug, Default)]
pub struct BeginOauth {
    /// Name of the provider.
    pub provider: String,
    /// Where an existing user lands; the App's default when absent.
    pub login_redirect_url: Option<String>,
    /// Where a new user lands; the App's default when absent.
    pub registration_redirect_url: Option<String>,
    /// The App's own callback, registered as a login URL: the App verifies code and state itself.
    ///
    /// When absent, the one from the App's settings applies, unless another field requires our callback.
    pub redirect_uri: Option<String>,
    /// The party that may redeem the token issued by our callback.
    pub started_by: SignInBinding,
    /// Whether the response redirects this very browser, so that the flow can be bound to it.
    pub sends_browser: bool,
    /// The client address of the call, for the limit on calls with a public token.
    pub from: DeviceFingerprint,
    /// The answer that the built-in provider gives without showing its page.
    pub test_choice: Option<TestChoice>,
}

/// A started flow.
#[derive(Debug)]
pub struct BegunOauth {
    /// The authorization URL at the provider.
    pub url: String,
    /// The state contained in the URL.
    pub state: Secret<String>,
    /// The cookie value for the redirected browser.
    pub browser: Option<Secret<String>>,
    /// Whether the provider returns by POST, which carries that cookie only if it allows cross-site requests.
    pub is_posted_back: bool,
}

/// A flow to start, apart from its secrets.
#[derive(Default)]
pub(crate) struct NewFlow {
    /// The callback to use instead of ours.
    pub(crate) redirect_uri: Option<String>,
    /// The value that the browser has to bring back.
    pub(crate) browser: Option<Secret<String>>,
    /// Where an existing user lands.
    pub(crate) login_url: Option<String>,
    /// Where a new user lands.
    pub(crate) registration_url: Option<String>,
    pub(crate) starter: Starter,
    /// The client address under which the start counts until the sign-in is finished.
    pub(crate) begun_from: Option<String>,
    pub(crate) test_choice: Option<TestChoice>,
    /// The operator's session that only tries the provider out.
    pub(crate) trial: Option<SessionId>,
}

/// The reason why no flow was started.
#[derive(Debug, thiserror::Error)]
pub enum BeginOauthError {
    /// The App has not configured this provider in this environment, or there is no provider of this name.
    #[error("the provider is not configured")]
    NotConfigured,
    /// The provider rejects the connection's configuration.
    #[error("the provider connection is misconfigured")]
    Misconfigured(#[source] ProviderFault),
    /// Too many sign-ins started from this address with a public token failed or are still pending.
    #[error("too many unfinished sign-ins")]
    TooMany {
        /// When the window closes.
        retry_after: Seconds,
    },
    /// See [`Refusal`].
    #[error(transparent)]
    Common(Refusal),
}

has_common!(BeginOauthError);

impl From<ProviderFault> for BeginOauthError {
    fn from(fault: ProviderFault) -> Self {
        match fault {
            ProviderFault::Unavailable(_) => Fault::Unavailable(Box::new(fault)).into(),
            ProviderFault::Refused
            | ProviderFault::Invalid(_)
            | ProviderFault::Misconfigured(_) => Self::Misconfigured(fault),
        }
    }
}

impl Service {
    /// Begins a sign-in, valid for ten minutes, with a single-use state.
    ///
    /// # Errors
    /// [`BeginOauthError`]; [`Refusal::NotFound`] for the built-in provider outside of a test world.
    pub async fn begin_oauth(
        &self,
        caller: &Caller,
        command: BeginOauth,
    ) -> Result<BegunOauth, BeginOauthError> {
        // A public token authorises only this call; it has no scopes.
        let is_public = caller.has_public_token();
        if !is_public {
            caller.authorize(Action::BeginOauth)?;
        }
        let world = &caller.world;
        let name = ProviderName::parse(&command.provider);
        let name = name.map_err(|_unnamed| BeginOauthError::NotConfigured)?;
        if name.is_test() && !caller.is_test() {
            return Err(Refusal::NotFound("provider").into());
        }
        if is_public && command.redirect_uri.is_some() {
            return Err(Invalid::value(
                "redirect_uri",
                "redirect_uri requires a secret key: only its holder can verify the code",
            )
            .into());
        }
        let starter = command.started_by.check()?;
        let own = own_callback(caller, &command, &starter)?;
        if own.is_none() {
            starter.suffices(caller.settings())?;
        }
        let opened = self.provider_connection(world, &name).await?;
        let opened = opened.ok_or(BeginOauthError::NotConfigured)?;
        self.check_landings(caller, &command, own).await?;
        let redirect_uri = own.map(|own| own.url.to_owned());
        let sends_browser = command.sends_browser && redirect_uri.is_none();
        let browser =
            sends_browser.then(|| provider::browser_token(&mut Bytes(&*self.ports.entropy)));
        let new = NewFlow {
            redirect_uri,
            browser: browser.clone(),
            login_url: command.login_redirect_url,
            registration_url: command.registration_redirect_url,
            starter,
            begun_from: command.from.ip_subject().filter(|_| is_public),
            test_choice: command.test_choice,
            trial: None,
        };
        let (url, state) = self.start_flow(caller, &opened, new).await?;
        Ok(BegunOauth {
            url,
            state,
            browser,
            is_posted_back: opened.connection.kind().posts_its_answer(),
        })
    }

    /// Starts a flow. Returns the authorization URL, and the state contained in it.
    ///
    /// # Errors
    /// [`BeginOauthError`].
    pub(crate) async fn start_flow(
        &self,
        caller: &Caller,
        opened: &Opened,
        new: NewFlow,
    ) -> Result<(String, Secret<String>), BeginOauthError> {
        let world = &caller.world;
        let name = &opened.connection.name;
        let mut source = Bytes(&*self.ports.entropy);
        let state = provider::state(name, &mut source);
        let secrets = FlowSecrets {
            code_verifier: provider::code_verifier(&mut source),
            nonce: provider::nonce(&mut source),
        };
        let limit = unfinished_per_address(caller.settings().oauth_failures_per_address);
        let hash = TokenHash::of(state.expose());
        let browser = new.browser.as_ref();
        let flow = Flow {
            state: hash,
            world: *world,
            provider: name.clone(),
            secrets: self.seal_flow_secrets(*world, &hash, &secrets).await?,
            redirect_uri: new.redirect_uri,
            browser: browser.map(|token| TokenHash::of(token.expose())),
            login_url: new.login_url,
            registration_url: new.registration_url,
            challenge: new.starter.challenge,
            caller_state: new.starter.state,
            begun_from: new.begun_from,
            test_grant: None,
            trial: new.trial,
            expires_at: self.now(world) + FLOW_LIFETIME,
        };
        let url = self
            .provider_url(opened, &flow, &state, &secrets, new.test_choice)
            .await?;
        retried(|| self.store_flow(&flow, limit)).await?;
        Ok((url, state))
    }

    /// Checks every landing URL before the browser leaves (O-1, attack 17). They are checked again when it returns.
    async fn check_landings(
        &self,
        caller: &Caller,
        command: &BeginOauth,
        own: Option<OwnCallback<'_>>,
    ) -> Result<(), BeginOauthError> {
        let registered = Registered::read(&*self.ports.store, &caller.world).await?;
        if let Some(own) = own {
            registered.choose(RedirectKind::Login, own.named_by, Some(own.url))?;
            return Ok(());
        }
        let login = command.login_redirect_url.as_deref();
        registered.choose(RedirectKind::Login, "login_redirect_url", login)?;
        let registration = command.registration_redirect_url.as_deref();
        let (kind, param) = (RedirectKind::Registration, "registration_redirect_url");
        registered.choose(kind, param, registration)?;
        Ok(())
    }

    async fn provider_url(
        &self,
        opened: &Opened,
        flow: &Flow,
        state: &Secret<String>,
        secrets: &FlowSecrets,
        test_choice: Option<TestChoice>,
    ) -> Result<String, BeginOauthError> {
        if flow.provider.is_test() {
            return Ok(self.test_page_url(opened, state, test_choice.as_ref()));
        }
        let redirect_uri = self.redirect_uri(opened, flow);
        let request = AuthorizationRequest {
            redirect_uri: &redirect_uri,
            state,
            nonce: &secrets.nonce,
            code_challenge: &provider::code_challenge(&secrets.code_verifier),
        };
        let providers = self.identity_providers()?;
        Ok(providers
            .authorization_url(opened.access(), request)
            .await?)
    }

    async fn store_flow(&self, flow: &Flow, limit: Limit) -> Result<(), BeginOauthError> {
        let world = &flow.world;
        let now = self.now(world);
        let mut tx = self.ports.store.begin().await?;
        if let Some(from) = &flow.begun_from {
            let spent = tx
                .quotas()
                .consume(world, UNFINISHED, from, limit, now)
                .await?;
            if !spent.admitted {
                let retry_after = spent.reset - now;
                return Err(BeginOauthError::TooMany { retry_after });
            }
        }
        tx.oauth_flows().insert_flow(flow).await?;
        Ok(tx.commit().await?)
    }
}

/// The App's callback to use instead of ours.
#[derive(Clone, Copy)]
struct OwnCallback<'a> {
    url: &'a str,
    /// The field or setting that named it.
    named_by: &'static str,
}

/// The App's own callback, if the call names it.
///
/// If the call names no landing URL, the callback in the App's settings applies, if set; the App then completes the sign-in (M-15).
fn own_callback<'a>(
    caller: &'a Caller,
    command: &'a BeginOauth,
    starter: &Starter,
) -> Result<Option<OwnCallback<'a>>, Invalid> {
    if let Some(url) = &command.redirect_uri {
        // Neither would have any effect: we issue no token, and the state that arrives there is the provider's.
        if let Some(field) = starter.first_field() {
            return Err(Invalid::value(
                field,
                format!(
                    "{field} cannot be combined with redirect_uri; check the `state` returned by this call instead"
                ),
            ));
        }
        let named_by = "redirect_uri";
        return Ok(Some(OwnCallback { url, named_by }));
    }
    let ends_here = caller.has_public_token()
        || command.sends_browser
        || command.login_redirect_url.is_some()
        || command.registration_redirect_url.is_some()
        || starter.first_field().is_some();
    let (named_by, url) = caller.settings().own_callback(caller.world.environment);
    let url = url.filter(|_| !ends_here);
    Ok(url.map(|url| OwnCallback { url, named_by }))
}
