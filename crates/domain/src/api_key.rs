//! Secret API keys and public tokens.

use std::fmt;
use std::str::FromStr;

use crate::ids::ApiKeyId;
use crate::random::{self, ByteSource};
use crate::token::TokenHash;
use crate::{Environment, Invalid, Secret, Timestamp, World};

/// Random characters after the prefix of a key: 48 of `[0-9A-Za-z]`, 285 bits (S-15).
const RANDOM_LENGTH: usize = 48;

/// The kind of key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ApiKeyKind {
    /// `sk_…`: full access from the App's backend.
    Secret,
    /// `pk_…`: can be exposed in a browser; allows only the sign-in redirects.
    Public,
}

impl ApiKeyKind {
    /// Both kinds.
    pub const ALL: [Self; 2] = [Self::Secret, Self::Public];

    /// `secret` or `public`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Secret => "secret",
            Self::Public => "public",
        }
    }

    /// `sk_test_`, `sk_live_`, `pk_test_` or `pk_live_`.
    pub const fn prefix(self, environment: Environment) -> &'static str {
        match (self, environment) {
            (Self::Secret, Environment::Test) => "sk_test_",
            (Self::Secret, Environment::Live) => "sk_live_",
            (Self::Public, Environment::Test) => "pk_test_",
            (Self::Public, Environment::Live) => "pk_live_",
        }
    }
}

impl fmt::Display for ApiKeyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for ApiKeyKind {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        match text {
            "secret" => Ok(Self::Secret),
            "public" => Ok(Self::Public),
            _ => Err(Invalid::value("kind", "kind must be secret or public")),
        }
    }
}

/// A permission of a secret key. A key without scopes has all of them, except those that are never implied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// Read users.
    UsersRead,
    /// Create and change users.
    UsersWrite,
    /// Send and verify codes, links, passwords and other factors.
    AuthWrite,
    /// List, verify and end sessions.
    SessionsWrite,
    /// Read wallets.
    WalletsRead,
    /// Create and import wallets.
    WalletsWrite,
    /// Sign with wallets.
    WalletsSign,
    /// Export private keys; never implied.
    WalletsExport,
    /// Read events.
    EventsRead,
    /// Read the audit log of changes to the App, its keys and its settings; never implied.
    AuditRead,
}

impl Scope {
    /// All scopes.
    pub const ALL: [Self; 10] = [
        Self::UsersRead,
        Self::UsersWrite,
        Self::AuthWrite,
        Self::SessionsWrite,
        Self::WalletsRead,
        Self::WalletsWrite,
        Self::WalletsSign,
        Self::WalletsExport,
        Self::EventsRead,
        Self::AuditRead,
    ];

    /// Whether a key only has this scope if it is listed explicitly.
    const fn is_only_named(self) -> bool {
        matches!(self, Self::WalletsExport | Self::AuditRead)
    }

    /// The name, such as `users:read`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::UsersRead => "users:read",
            Self::UsersWrite => "users:write",
            Self::AuthWrite => "auth:write",
            Self::SessionsWrite => "sessions:write",
            Self::WalletsRead => "wallets:read",
            Self::WalletsWrite => "wallets:write",
            Self::WalletsSign => "wallets:sign",
            Self::WalletsExport => "wallets:export",
            Self::EventsRead => "events:read",
            Self::AuditRead => "audit:read",
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Scope {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        Self::ALL
            .into_iter()
            .find(|scope| scope.as_str() == text)
            .ok_or_else(|| {
                let known: Vec<_> = Self::ALL.iter().map(|scope| scope.as_str()).collect();
                Invalid::unknown(
                    "scope",
                    format!("unknown scope; valid scopes: {}", known.join(" ")),
                )
            })
    }
}

/// A stored key; never contains the key itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiKey {
    /// The id.
    pub id: ApiKeyId,
    /// The App and environment that it gives access to.
    pub world: World,
    /// Secret key or public token.
    pub kind: ApiKeyKind,
    /// SHA-256 of the key.
    pub hash: TokenHash,
    /// Last four characters, to tell keys apart in lists.
    pub last_four: String,
    /// Its scopes; empty means all except those that are never implied.
    pub scopes: Vec<Scope>,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it was revoked, if it was.
    pub revoked_at: Option<Timestamp>,
}

impl ApiKey {
    /// Whether the key may make a call that requires this scope. A public token has no scopes.
    pub fn allows(&self, scope: Scope) -> bool {
        if self.kind == ApiKeyKind::Public {
            return false;
        }
        if self.scopes.is_empty() {
            !scope.is_only_named()
        } else {
            self.scopes.contains(&scope)
        }
    }
}

/// Generates a new key: the prefix of its kind and environment, and 48 random characters. Shown only once.
pub fn generate(
    kind: ApiKeyKind,
    environment: Environment,
    source: &mut dyn ByteSource,
) -> Secret<String> {
    let random = random::alphanumeric(source, RANDOM_LENGTH);
    Secret::new(format!("{}{}", kind.prefix(environment), random.expose()))
}

/// Last four characters of a key, kept for display.
pub fn last_four(key: &str) -> String {
    key.chars()
        .skip(key.chars().count().saturating_sub(4))
        .collect()
}

/// Whether a text has the form of a key of this kind, so that no lookup is wasted on anything else.
pub fn has_form(kind: ApiKeyKind, presented: &str) -> bool {
    Environment::ALL.into_iter().any(|environment| {
        presented
            .strip_prefix(kind.prefix(environment))
            .is_some_and(|rest| {
                rest.len() == RANDOM_LENGTH && rest.bytes().all(|byte| byte.is_ascii_alphanumeric())
            })
    })
}
