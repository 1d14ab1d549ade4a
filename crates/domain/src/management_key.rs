//! Keys of the management API.

use std::net::IpAddr;

use ipnet::IpNet;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::actor::Actor;
use crate::api_key::{self, Allowed, MAX_LISTED, MAX_NETWORKS, present};
use crate::extent::Extent;
use crate::ids::{AppId, ManagementKeyId};
use crate::management_scope::ManagementScope;
use crate::random::{self, ByteSource};
use crate::timestamp::Seconds;
use crate::token::TokenHash;
use crate::{Environment, Invalid, Secret, Timestamp};

/// The prefix of a key.
const PREFIX: &str = "mk_";
/// Random characters after the prefix: 48 of `[0-9A-Za-z]`, 285 bits.
const RANDOM_LENGTH: usize = 48;
/// How far ahead a key can expire: a year.
pub const MAX_LIFETIME: Seconds = Seconds(365 * 24 * 60 * 60);

/// The Apps that a key gives access to. The built-in App is never among them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Apps {
    /// Every App, including those created later.
    All,
    /// These Apps, 1 to [`MAX_LISTED`].
    Listed(Allowed<AppId>),
}

impl Apps {
    /// The word for [`Apps::All`].
    pub const ALL_WORD: &str = "all";

    /// Whether an App is one of them.
    pub fn contains(&self, app: AppId) -> bool {
        app != AppId::BUILT_IN
            && match self {
                Self::All => true,
                Self::Listed(apps) => apps.contains(&app),
            }
    }
}

/// `"all"` or a list of ids.
impl Serialize for Apps {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::All => serializer.serialize_str(Self::ALL_WORD),
            Self::Listed(apps) => apps.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Apps {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Form {
            Word(String),
            List(Allowed<AppId>),
        }
        match Form::deserialize(deserializer)? {
            Form::Word(word) if word == Self::ALL_WORD => Ok(Self::All),
            Form::Word(_) => Err(serde::de::Error::custom("neither all nor a list")),
            Form::List(apps) => Ok(Self::Listed(apps)),
        }
    }
}

/// What a key may do, and where. The stored form is JSON; a name or value that this build does not know is an error, so that a key never
/// gains rights by it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rights {
    /// The Apps.
    pub apps: Apps,
    /// The environments of these Apps, one or both.
    pub environments: Allowed<Environment>,
    /// The scopes, at least one.
    pub scopes: Allowed<ManagementScope>,
    /// Networks of the client address, 1 to [`MAX_NETWORKS`]; `None` means any.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub ip_allow: Option<Allowed<IpNet>>,
}

impl Rights {
    /// Reads the stored form.
    ///
    /// # Errors
    /// This build does not know a name or value.
    pub fn from_stored(text: &str) -> Result<Self, serde_json::Error> {
        // As a list, the fields would have no names.
        if !text.starts_with('{') {
            return Err(serde::de::Error::custom("not an object"));
        }
        serde_json::from_str(text)
    }

    /// Checks the rights of a new key.
    ///
    /// # Errors
    /// [`Invalid`] naming the field: a list that is empty or too long.
    pub fn new(
        apps: Option<Vec<AppId>>,
        environments: Vec<Environment>,
        scopes: Vec<ManagementScope>,
        ip_allow: Option<Vec<IpNet>>,
    ) -> Result<Self, Invalid> {
        let apps = match apps {
            None => Apps::All,
            Some(apps) => Apps::Listed(Allowed::new("apps", MAX_LISTED, apps)?),
        };
        let networks = ip_allow.map(|list| Allowed::new("ip_allow", MAX_NETWORKS, list));
        Ok(Self {
            apps,
            environments: Allowed::new("environments", MAX_LISTED, environments)?,
            scopes: Allowed::new("scopes", MAX_LISTED, scopes)?,
            ip_allow: networks.transpose()?,
        })
    }

    /// Whether they include a scope.
    pub fn allow(&self, needed: ManagementScope) -> bool {
        let mut scopes = self.scopes.values().iter();
        scopes.any(|scope| scope.covers(needed))
    }

    /// Whether a request may come from this address; `None` if the address is unknown.
    pub fn allow_address(&self, client: Option<IpAddr>) -> bool {
        api_key::address_is_in(self.ip_allow.as_ref(), client)
    }

    /// Whether they reach an App at all, in some environment.
    pub fn reach_app(&self, app: AppId) -> bool {
        self.apps.contains(app)
    }

    /// Why they do not cover a part of the deployment; `None` if they do.
    pub fn miss(&self, extent: Extent) -> Option<Missing> {
        let needed = match extent {
            Extent::Deployment if self.apps != Apps::All => return Some(Missing::AllApps),
            Extent::App(app) if !self.apps.contains(app) => return Some(Missing::App),
            Extent::World(world) if !self.apps.contains(world.app_id) => {
                return Some(Missing::App);
            }
            // What belongs to no environment belongs to both.
            Extent::Deployment | Extent::App(_) => Environment::ALL.to_vec(),
            Extent::World(world) => vec![world.environment],
        };
        let mut needed = needed.into_iter();
        let missed = needed.find(|environment| !self.environments.contains(environment));
        missed.map(Missing::Environment)
    }
}

/// What a key's rights lack for a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    /// The App is not one of its Apps; for the key it does not exist.
    App,
    /// The call is about the deployment, which needs a key for all Apps.
    AllApps,
    /// It may not act in this environment.
    Environment(Environment),
}

/// A stored key; never contains the key itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManagementKey {
    /// The id.
    pub id: ManagementKeyId,
    /// SHA-256 of the key.
    pub hash: TokenHash,
    /// Last four characters, to tell keys apart in lists.
    pub last_four: String,
    /// Its name, for people.
    pub name: String,
    /// What it may do.
    pub rights: Rights,
    /// When it expires, at most [`MAX_LIFETIME`] after its creation.
    pub expires_at: Timestamp,
    /// The creator.
    pub created_by: Actor,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it was revoked, if it was.
    pub revoked_at: Option<Timestamp>,
}

impl ManagementKey {
    /// Whether it works at this time, by the machine's clock.
    pub fn is_active(&self, now: Timestamp) -> bool {
        self.revoked_at.is_none() && now < self.expires_at
    }
}

/// Checks the name of a key: 1 to 100 characters.
///
/// # Errors
/// [`Invalid`] naming `name`.
pub fn name(text: &str) -> Result<String, Invalid> {
    let name = api_key::name(text)?;
    if name.is_empty() {
        return Err(Invalid::value("name", "name must not be empty"));
    }
    Ok(name)
}

/// Checks the time at which a key is to expire.
///
/// # Errors
/// [`Invalid`] naming `expires_at`, if it is past or more than a year ahead.
pub fn expires_at(at: Timestamp, now: Timestamp) -> Result<Timestamp, Invalid> {
    if at <= now || at > now + MAX_LIFETIME {
        let message = "expires_at must be in the future, at most 365 days ahead";
        return Err(Invalid::value("expires_at", message));
    }
    Ok(at)
}

/// Generates a new key. Shown only once.
pub fn generate(source: &mut dyn ByteSource) -> Secret<String> {
    let random = random::alphanumeric(source, RANDOM_LENGTH);
    Secret::new(format!("{PREFIX}{}", random.expose()))
}

/// Whether a text has the form of a management key, so that no lookup is wasted on anything else.
pub fn has_form(presented: &str) -> bool {
    presented.strip_prefix(PREFIX).is_some_and(|rest| {
        rest.len() == RANDOM_LENGTH && rest.bytes().all(|byte| byte.is_ascii_alphanumeric())
    })
}

#[cfg(test)]
mod tests;
