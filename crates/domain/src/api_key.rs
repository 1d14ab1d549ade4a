//! Secret API keys and public tokens.

mod fields;
mod restrictions;

use std::fmt;
use std::str::FromStr;

pub use crate::scope::Scope;
pub use fields::{KeyField, KeyFields};
pub(crate) use restrictions::present;
pub use restrictions::{
    Allowed, MAX_LIFETIME, MAX_LISTED, MAX_NETWORKS, Preset, Restriction, Restrictions,
    address_is_in, expires_at, network,
};

use crate::actor::Actor;
use crate::ids::ApiKeyId;
use crate::operation::Operation;
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
    /// Its name, for people; empty if it has none.
    pub name: String,
    /// Its scopes; empty means all except those that are never implied.
    pub scopes: Vec<Scope>,
    /// Its restrictions.
    pub restrictions: Restrictions,
    /// The creator.
    pub created_by: Actor,
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

    /// Whether it can do nothing that an earlier state of it could not. Naming scopes can widen a key where the App reserves calls for keys
    /// with named scopes.
    pub fn is_within(&self, before: &Self, app_requires_named_scopes: bool) -> bool {
        let mut scopes = Scope::ALL.into_iter();
        let names_first = before.scopes.is_empty() && !self.scopes.is_empty();
        scopes.all(|scope| before.allows(scope) || !self.allows(scope))
            && !(app_requires_named_scopes && names_first)
            && self.restrictions.are_within(&before.restrictions)
    }
}

/// The last use of an operation with a key, to within a minute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyUse {
    /// The key's App and environment.
    pub world: World,
    /// The key.
    pub key: ApiKeyId,
    /// The operation.
    pub operation: Operation,
    /// When, by the machine's clock.
    pub at: Timestamp,
}

/// Maximum length of a key's name, in characters.
pub const MAX_NAME: usize = 100;

/// Checks the name of a key.
///
/// # Errors
/// [`Invalid`] naming `name`, if it is longer than [`MAX_NAME`] or contains control characters.
pub fn name(text: &str) -> Result<String, Invalid> {
    let text = text.trim();
    if text.chars().count() > MAX_NAME || text.chars().any(char::is_control) {
        let message = "name must have at most 100 characters and no control characters";
        return Err(Invalid::value("name", message));
    }
    Ok(text.to_owned())
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
