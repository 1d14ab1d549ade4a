//! Sign-in through identity providers: which there are, how an App is connected to one, whom one vouches for, and what is
//! kept while a browser is away.

use std::fmt;
use std::str::FromStr;

use crate::Invalid;

mod connection;
mod flow;
mod identity;

pub use connection::{AppleKey, Connection, ConnectionSettings, TokenEndpointAuth, check_endpoint};
pub use flow::{
    FLOW_LIFETIME, Flow, FlowSecrets, Pending, SignInFailure, TOKEN_LIFETIME, TestGrant,
    browser_cookie, browser_token, code_challenge, code_verifier, nonce, redirect_token, state,
};
pub use identity::{EmailClaims, ProvenIdentity, ProviderLink, ProviderTokens};

/// Longest name of a provider.
const NAME_MAX: usize = 32;

/// The name of a provider in paths and answers: `google`, or what an App called an OpenID Connect issuer of its own.
/// `^[a-z][a-z0-9-]{0,31}$`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProviderName(String);

impl ProviderName {
    /// The provider that every test world has without being told.
    pub const TEST: &'static str = "test";

    /// Checks a name.
    ///
    /// # Errors
    /// Not of the form; names `provider`.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let starts_well = text.bytes().next().is_some_and(|b| b.is_ascii_lowercase());
        let allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        if starts_well && text.len() <= NAME_MAX && text.bytes().all(allowed) {
            return Ok(Self(text.to_owned()));
        }
        Err(Invalid::value(
            "provider",
            "the name of a provider must be 1 to 32 lower-case letters, digits and hyphens, and begins with a letter",
        ))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What stands behind the name: the well-known names always mean the same, every other one is an OpenID Connect issuer.
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

/// How to talk to a provider, and whose "verified" counts for how much.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ProviderKind {
    /// OpenID Connect.
    Google,
    /// OpenID Connect; posts its answer as a form, and takes a signed JWT for a client secret.
    Apple,
    /// OpenID Connect with an issuer per tenant.
    Microsoft,
    /// OAuth 2.0 with an API of its own.
    GitHub,
    /// OAuth 2.0 with an API of its own.
    Discord,
    /// Any OpenID Connect issuer, by discovery.
    Oidc,
    /// The built-in one of test worlds: no network.
    Test,
}

impl ProviderKind {
    /// Those that a name stands for.
    const NAMED: [Self; 6] = [
        Self::Google,
        Self::Apple,
        Self::Microsoft,
        Self::GitHub,
        Self::Discord,
        Self::Test,
    ];

    /// Also the name of the provider, where a name stands for the kind.
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

    /// Whether the provider answers by a form that the browser posts from its site to ours, which brings no cookie that is
    /// kept to our own site.
    pub const fn posts_its_answer(self) -> bool {
        matches!(self, Self::Apple)
    }
}

#[cfg(test)]
mod tests;
