//! State of a sign-in while the browser is at the provider, and after it has returned.

use data_encoding::HEXLOWER;

use super::{ProvenIdentity, ProviderName};
use crate::envelope::Sealed;
use crate::ids::SessionId;
use crate::pkce::CodeChallenge;
use crate::random::{self, ByteSource};
use crate::redirect::CallerState;
use crate::timestamp::Seconds;
use crate::token::TokenHash;
use crate::{Secret, Timestamp, World};

/// How long the browser can take at the provider (O-2).
pub const FLOW_LIFETIME: Seconds = Seconds(600);
/// How long a redirect token is valid for `oauth/verify` (O-11, as decided for this service).
pub const TOKEN_LIFETIME: Seconds = Seconds(600);

/// Random characters of a `state`, after the provider's name (O-2: 285 bits).
const STATE_LENGTH: usize = 48;
/// Characters of a code verifier (RFC 7636, section 4.1: 43 to 128).
const VERIFIER_LENGTH: usize = 64;
/// Characters of a nonce (285 bits).
const NONCE_LENGTH: usize = 48;
/// Characters of a redirect token (381 bits).
const TOKEN_LENGTH: usize = 64;

/// A started sign-in. At most one per state; it is deleted when used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flow {
    /// SHA-256 of the `state`.
    pub state: TokenHash,
    /// App and environment.
    pub world: World,
    /// The provider (O-6).
    pub provider: ProviderName,
    /// The encrypted [`FlowSecrets`].
    pub secrets: Sealed,
    /// The App's own callback, if the App handles it itself (`oauth/verify` with `code` and `state`); otherwise ours is used.
    pub redirect_uri: Option<String>,
    /// SHA-256 of the cookie in the browser, if we redirected it ourselves (O-2).
    pub browser: Option<TokenHash>,
    /// Where existing users are redirected; the App's default if absent.
    pub login_url: Option<String>,
    /// Where new users are redirected.
    pub registration_url: Option<String>,
    /// The challenge whose verifier is required for the token that our callback issues (RFC 7636).
    pub challenge: Option<CodeChallenge>,
    /// The caller's state, which the browser returns to the App with that token.
    pub caller_state: Option<CallerState>,
    /// The client address under which the start was counted ([`crate::limits::oauth`]), if it was.
    pub begun_from: Option<String>,
    /// The identity that the built-in provider vouched for; always `None` for other providers.
    pub test_grant: Option<TestGrant>,
    /// The operator's session that only tries the provider out: the flow ends on a page for this session, and not with a sign-in (CON-18).
    pub trial: Option<SessionId>,
    /// When it expires.
    pub expires_at: Timestamp,
}

/// The developer's choice on the page of the built-in provider. Its authorization code exists only as long as the flow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestGrant {
    /// SHA-256 of the code.
    pub code: TokenHash,
    /// The chosen identity.
    pub identity: ProvenIdentity,
}

/// The secrets of a flow, which never leave the server before its code arrives (O-3, O-4).
#[derive(Debug, Clone)]
pub struct FlowSecrets {
    /// PKCE's code verifier.
    pub code_verifier: Secret<String>,
    /// The nonce that the id token must contain.
    pub nonce: Secret<String>,
}

/// A verified identity waiting for `oauth/verify`. It is deleted when used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pending {
    /// SHA-256 of the redirect token.
    pub token: TokenHash,
    /// App and environment.
    pub world: World,
    /// The provider.
    pub provider: ProviderName,
    /// SHA-256 of the `state` of the flow, so that the App can check that the flow is its own.
    pub state: TokenHash,
    /// The identity, with the provider's tokens if the App wants them; encrypted.
    pub identity: Sealed,
    /// [`Flow::challenge`].
    pub challenge: Option<CodeChallenge>,
    /// [`Flow::begun_from`].
    pub begun_from: Option<String>,
    /// When it expires.
    pub expires_at: Timestamp,
}

/// The reason that a browser returns without a token: `?error=` of the redirect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SignInFailure {
    /// The flow is unknown, expired, or belongs to another browser or provider.
    InvalidState,
    /// The person or the provider denied access.
    AccessDenied,
    /// The provider returned another error.
    ProviderError,
    /// The provider rejected the code, or its response failed validation.
    ProviderRefused,
    /// The provider could not be reached.
    ProviderUnavailable,
    /// The provider rejects the App's client id, secret or callback.
    ProviderMisconfigured,
    /// A failure on our side; retrying is appropriate.
    Unavailable,
}

impl SignInFailure {
    /// The code in the URL.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InvalidState => "invalid_state",
            Self::AccessDenied => "access_denied",
            Self::ProviderError => "provider_error",
            Self::ProviderRefused => "provider_refused",
            Self::ProviderUnavailable => "provider_unavailable",
            Self::ProviderMisconfigured => "provider_misconfigured",
            Self::Unavailable => "unavailable",
        }
    }
}

/// The name of the cookie that binds a flow to its browser. Each flow has its own, so that two windows do not interfere.
pub fn browser_cookie(state: &TokenHash) -> String {
    let (start, _) = state.0.split_at(8);
    format!("vestry-oauth-{}", HEXLOWER.encode(start))
}

/// A new state: the provider's name, a hyphen and 48 of `[0-9A-Za-z]`.
pub fn state(provider: &ProviderName, source: &mut dyn ByteSource) -> Secret<String> {
    let random = random::alphanumeric(source, STATE_LENGTH);
    Secret::new(format!("{provider}-{}", random.expose()))
}

/// A new code verifier: 64 of `[0-9A-Za-z]` (RFC 7636, section 4.1).
pub fn code_verifier(source: &mut dyn ByteSource) -> Secret<String> {
    random::alphanumeric(source, VERIFIER_LENGTH)
}

/// The challenge of a verifier by the method `S256` (RFC 7636, section 4.2): 43 characters.
pub fn code_challenge(verifier: &Secret<String>) -> String {
    CodeChallenge::of(verifier).to_string()
}

/// A new nonce: 48 of `[0-9A-Za-z]`.
pub fn nonce(source: &mut dyn ByteSource) -> Secret<String> {
    random::alphanumeric(source, NONCE_LENGTH)
}

/// A new redirect token: 64 of `[0-9A-Za-z]`.
pub fn redirect_token(source: &mut dyn ByteSource) -> Secret<String> {
    random::alphanumeric(source, TOKEN_LENGTH)
}

/// A new value for the cookie of a browser that is redirected: 48 of `[0-9A-Za-z]`.
pub fn browser_token(source: &mut dyn ByteSource) -> Secret<String> {
    random::alphanumeric(source, STATE_LENGTH)
}
