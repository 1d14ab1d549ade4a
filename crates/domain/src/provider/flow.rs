//! A browser that is away at a provider, and one that has come back.

use data_encoding::HEXLOWER;

use super::{ProvenIdentity, ProviderName};
use crate::envelope::Sealed;
use crate::pkce::CodeChallenge;
use crate::random::{self, ByteSource};
use crate::redirect::CallerState;
use crate::timestamp::Seconds;
use crate::token::TokenHash;
use crate::{Secret, Timestamp, World};

/// How long a browser may be away (O-2).
pub const FLOW_LIFETIME: Seconds = Seconds(600);
/// How long a redirect token waits for `oauth/verify` (O-11, as decided for this service).
pub const TOKEN_LIFETIME: Seconds = Seconds(600);

/// Random characters of a `state`, behind the provider's name (O-2: 285 bits).
const STATE_LENGTH: usize = 48;
/// Characters of a code verifier (RFC 7636, section 4.1: 43 to 128).
const VERIFIER_LENGTH: usize = 64;
/// Characters of a nonce (285 bits).
const NONCE_LENGTH: usize = 48;
/// Characters of a redirect token (381 bits).
const TOKEN_LENGTH: usize = 64;

/// A sign-in that was begun. At most one per state; using it up removes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flow {
    /// SHA-256 of the `state`.
    pub state: TokenHash,
    /// App and environment.
    pub world: World,
    /// At which provider (O-6).
    pub provider: ProviderName,
    /// [`FlowSecrets`], sealed.
    pub secrets: Sealed,
    /// The App's own callback, when the App wants to run it (`oauth/verify` with `code` and `state`); else it is ours.
    pub redirect_uri: Option<String>,
    /// SHA-256 of the cookie of the browser that was sent away, when we sent it ourselves (O-2).
    pub browser: Option<TokenHash>,
    /// Where an existing user shall land; the App's default when it is absent.
    pub login_url: Option<String>,
    /// Where a new user shall land.
    pub registration_url: Option<String>,
    /// Of whom the token shall be that our callback hands out: whoever has the verifier (RFC 7636).
    pub challenge: Option<CodeChallenge>,
    /// What the browser brings back to the App beside that token.
    pub caller_state: Option<CallerState>,
    /// The client address under which the begin was counted ([`crate::limits::oauth`]), when it was.
    pub begun_from: Option<String>,
    /// Whom the built-in provider has vouched for; always `None` at any other one.
    pub test_grant: Option<TestGrant>,
    /// When it ends.
    pub expires_at: Timestamp,
}

/// What a developer picked on the page of the built-in provider: its authorization code lives and dies with the flow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestGrant {
    /// SHA-256 of the code.
    pub code: TokenHash,
    /// Who.
    pub identity: ProvenIdentity,
}

/// What of a flow never leaves the server until its code comes (O-3, O-4).
#[derive(Debug, Clone)]
pub struct FlowSecrets {
    /// PKCE's code verifier.
    pub code_verifier: Secret<String>,
    /// What the id token must carry.
    pub nonce: Secret<String>,
}

/// A person who was vouched for and waits for `oauth/verify`. Using it up removes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pending {
    /// SHA-256 of the redirect token.
    pub token: TokenHash,
    /// App and environment.
    pub world: World,
    /// By which provider.
    pub provider: ProviderName,
    /// SHA-256 of the `state` of the flow, for the App that wants to know that it is its own.
    pub state: TokenHash,
    /// Who, and the provider's tokens if the App wants them; sealed.
    pub identity: Sealed,
    /// [`Flow::challenge`].
    pub challenge: Option<CodeChallenge>,
    /// [`Flow::begun_from`].
    pub begun_from: Option<String>,
    /// When it ends.
    pub expires_at: Timestamp,
}

/// Why a browser comes back without a token: `?error=` of the redirect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SignInFailure {
    /// No flow of ours, one that is over, or one of another browser or provider.
    InvalidState,
    /// The person, or the provider, said no.
    AccessDenied,
    /// The provider answered with another error of its own.
    ProviderError,
    /// The provider did not accept the code, or what it answered did not hold.
    ProviderRefused,
    /// The provider could not be reached.
    ProviderUnavailable,
    /// The provider does not accept the App's client id, secret or callback.
    ProviderMisconfigured,
    /// A failure of ours; trying again is right.
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

/// The name of the cookie that binds a flow to its browser; one for each flow, so that two windows do not disturb each other.
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

/// A new value for the cookie of a browser that is sent away: 48 of `[0-9A-Za-z]`.
pub fn browser_token(source: &mut dyn ByteSource) -> Secret<String> {
    random::alphanumeric(source, STATE_LENGTH)
}
