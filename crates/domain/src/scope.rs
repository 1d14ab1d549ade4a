//! Scopes of API keys.

use std::fmt;
use std::str::FromStr;

use crate::Invalid;

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
    pub const fn is_only_named(self) -> bool {
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
