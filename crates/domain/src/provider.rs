//! Sign-in through identity providers: the supported kinds, Apps' connections to them, the identities they vouch for, and the state of
//! pending sign-ins.

use std::fmt;
use std::str::FromStr;

use crate::Invalid;

mod connection;
mod flow;
mod identity;

pub use connection::{
    AppleKey, ClientSecretHint, Connection, ConnectionSettings, TokenEndpointAuth, check_endpoint,
};
pub use flow::{
    FLOW_LIFETIME, Flow, FlowSecrets, Pending, SignInFailure, TOKEN_LIFETIME, TestGrant,
    browser_cookie, browser_token, code_challenge, code_verifier, nonce, redirect_token, state,
};
pub use identity::{EmailClaims, EmailStanding, ProvenIdentity, ProviderLink, ProviderTokens};

/// Maximum number of identity providers in one environment.
pub const MAX_PROVIDERS: usize = 50;
/// Maximum length of a provider name.
const MAX_NAME: usize = 32;

/// The name of a provider in paths and responses: `google`, or an App's own name for an OpenID Connect issuer. `^[a-z][a-z0-9-]{0,31}$`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProviderName(String);

impl ProviderName {
    /// The built-in provider of every test world.
    pub const TEST: &'static str = "test";

    /// Checks a name.
    ///
    /// # Errors
    /// If it does not have this form; names `provider`.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let starts_well = text.bytes().next().is_some_and(|b| b.is_ascii_lowercase());
        let allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        if starts_well && text.len() <= MAX_NAME && text.bytes().all(allowed) {
            return Ok(Self(text.to_owned()));
        }
        Err(Invalid::value(
            "provider",
            "provider name must be 1 to 32 lower-case letters, digits and hyphens, starting with a letter",
        ))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The kind of provider that the name stands for. Well-known names have a fixed meaning; any other one is an OpenID Connect issuer.
    pub fn kind(&self) -> ProviderKind {
        ProviderKind::NAMED
            .into_iter()
            .find(|kind| kind.as_str() == self.0)
            .unwrap_or(ProviderKind::Oidc)
    }

    /// Whether this is the built-in provider of test worlds.
    pub fn is_test(&self) -> bool {
        self.0 == Self::TEST
    }
}

impl fmt::Display for ProviderName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for ProviderName {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        Self::parse(text)
    }
}

/// The kind of provider: its protocol, and how far its "verified" claims are trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ProviderKind {
    /// OpenID Connect.
    Google,
    /// OpenID Connect; posts its response as a form, and requires a signed JWT as the client secret.
    Apple,
    /// OpenID Connect with an issuer per tenant.
    Microsoft,
    /// OAuth 2.0 with a proprietary API.
    GitHub,
    /// OAuth 2.0 with a proprietary API.
    Discord,
    /// Any OpenID Connect issuer, by discovery.
    Oidc,
    /// The built-in provider of test worlds; uses no network.
    Test,
}

impl ProviderKind {
    /// The kinds that have a fixed name.
    const NAMED: [Self; 6] = [
        Self::Google,
        Self::Apple,
        Self::Microsoft,
        Self::GitHub,
        Self::Discord,
        Self::Test,
    ];

    /// The name of the kind; also that of the provider, if the kind has a fixed name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Google => "google",
            Self::Apple => "apple",
            Self::Microsoft => "microsoft",
            Self::GitHub => "github",
            Self::Discord => "discord",
            Self::Oidc => "oidc",
            Self::Test => ProviderName::TEST,
        }
    }

    /// Whether the provider responds with a cross-site form post, on which browsers do not send our same-site cookies.
    pub const fn posts_its_answer(self) -> bool {
        matches!(self, Self::Apple)
    }
}

#[cfg(test)]
mod tests;
