//! The actor of a change.

use std::fmt;
use std::str::FromStr;

use crate::Invalid;
use crate::ids::{ApiKeyId, ManagementKeyId, UserId};

/// The actor that made a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Actor {
    /// A backend using a secret key.
    ApiKey(ApiKeyId),
    /// A page using a public token.
    PublicToken(ApiKeyId),
    /// The end user, on a page of this service.
    EndUser(UserId),
    /// A program using a management key.
    ManagementKey(ManagementKeyId),
    /// A person in the console.
    Operator(UserId),
    /// An administrator running `vestry` on the machine.
    Cli,
    /// The service itself.
    System,
}

impl Actor {
    /// The names of all kinds on the wire.
    pub const KINDS: [&'static str; 7] = [
        "api_key",
        "public_token",
        "end_user",
        "management_key",
        "operator",
        "cli",
        "system",
    ];

    /// The kind on the wire, such as `api_key`.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::ApiKey(_) => "api_key",
            Self::PublicToken(_) => "public_token",
            Self::EndUser(_) => "end_user",
            Self::ManagementKey(_) => "management_key",
            Self::Operator(_) => "operator",
            Self::Cli => "cli",
            Self::System => "system",
        }
    }

    /// The actor's id, if it has one.
    pub fn id(&self) -> Option<String> {
        match self {
            Self::ApiKey(id) | Self::PublicToken(id) => Some(id.to_string()),
            Self::EndUser(id) | Self::Operator(id) => Some(id.to_string()),
            Self::ManagementKey(id) => Some(id.to_string()),
            Self::Cli | Self::System => None,
        }
    }

    /// Parses the results of [`Actor::kind`] and [`Actor::id`].
    ///
    /// # Errors
    /// If the kind is unknown, or the id does not fit the kind.
    pub fn parse(kind: &str, id: Option<&str>) -> Result<Self, Invalid> {
        let unknown = || Invalid::value("actor", "unknown kind of actor");
        Ok(match (kind, id) {
            ("api_key", Some(id)) => Self::ApiKey(id.parse()?),
            ("public_token", Some(id)) => Self::PublicToken(id.parse()?),
            ("end_user", Some(id)) => Self::EndUser(id.parse()?),
            ("management_key", Some(id)) => Self::ManagementKey(id.parse()?),
            ("operator", Some(id)) => Self::Operator(id.parse()?),
            ("cli", None) => Self::Cli,
            ("system", None) => Self::System,
            _ => return Err(unknown()),
        })
    }
}

/// The kind and the id, separated by a space.
impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind())?;
        match self.id() {
            Some(id) => write!(f, " {id}"),
            None => Ok(()),
        }
    }
}

impl FromStr for Actor {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        match text.split_once(' ') {
            Some((kind, id)) => Self::parse(kind, Some(id)),
            None => Self::parse(text, None),
        }
    }
}
