//! Operators: people who administer Apps in the console, and what each role may do.
//!
//! An operator is a user of the built-in App, with a role in each of some Apps, or in all of them.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::actor::Actor;
use crate::email::Email;
use crate::extent::Extent;
use crate::ids::{AppId, OperatorLinkId, UserId};
use crate::random::{self, ByteSource};
use crate::session::{Factor, Proof, Session};
use crate::timestamp::Seconds;
use crate::token::TokenHash;
use crate::{Environment, Invalid, Secret, Timestamp};

/// Characters of the token in a link for an operator: 285 bits.
const TOKEN_LENGTH: usize = 48;
/// How long an invitation is valid: 72 hours.
pub const INVITATION_LIFETIME: Seconds = Seconds(72 * 60 * 60);
/// How long a link is valid that an administrator takes from the terminal, or that replaces lost factors: 30 minutes.
pub const LINK_LIFETIME: Seconds = Seconds(30 * 60);
/// How long a second factor counts for an action that needs one.
pub const STEP_UP_LIFETIME: Seconds = Seconds(10 * 60);
/// Maximum number of sessions of an operator.
pub const MAX_SESSIONS: usize = 10;
/// Maximum number of Apps in which an operator has a role of their own.
pub const MAX_APPS: usize = 100;

/// A role, from the least to the most powerful.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Reads configuration and events.
    Viewer,
    /// Reads users too, and works in test environments.
    Developer,
    /// Configures Apps and helps their users.
    Admin,
    /// Does everything in the whole deployment.
    Owner,
}

impl Role {
    /// All roles, from the least to the most powerful.
    pub const ALL: [Self; 4] = [Self::Viewer, Self::Developer, Self::Admin, Self::Owner];

    /// The name on the wire and in the database.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Developer => "developer",
            Self::Admin => "admin",
            Self::Owner => "owner",
        }
    }

    /// Whether an operator with this role may give another one `role`, or take it away (MG-3).
    pub fn may_grant(self, role: Self) -> bool {
        match self {
            Self::Owner => true,
            Self::Admin => role < Self::Admin,
            Self::Developer | Self::Viewer => false,
        }
    }

    /// What the role makes of a right.
    pub const fn permits(self, right: Right) -> Permit {
        let [owner, admin, developer, viewer] = right.row();
        match self {
            Self::Owner => owner,
            Self::Admin => admin,
            Self::Developer => developer,
            Self::Viewer => viewer,
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Role {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let mut all = Self::ALL.into_iter();
        all.find(|role| role.as_str() == text).ok_or_else(|| {
            Invalid::unknown("role", "role must be viewer, developer, admin or owner")
        })
    }
}

impl Serialize for Role {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Role {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse()
            .map_err(|invalid: Invalid| serde::de::Error::custom(invalid.message))
    }
}

/// What a role makes of a right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Permit {
    /// Nothing.
    No,
    /// It holds in test environments only.
    InTest,
    /// It holds.
    Yes,
    /// It holds; in live environments only with a second factor that was proved lately.
    StepUpInLive,
    /// It holds with a second factor that was proved lately.
    StepUp,
}

macro_rules! rights {
    ($($(#[$doc:meta])* $right:ident $owner:ident $admin:ident $developer:ident $viewer:ident;)*) => {
        /// Something that an operator may do, by role.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Right {
            $($(#[$doc])* $right,)*
        }

        impl Right {
            /// All rights.
            pub const ALL: &[Self] = &[$(Self::$right,)*];

            /// What owners, admins, developers and viewers make of it.
            const fn row(self) -> [Permit; 4] {
                match self {
                    $(Self::$right => [Permit::$owner, Permit::$admin, Permit::$developer, Permit::$viewer],)*
                }
            }
        }
    };
}

// The one table of roles. Columns: owner, admin, developer, viewer.
rights! {
    /// Read settings, keys, providers, redirect URLs, webhook endpoints, deliveries and events.
    ReadConfiguration Yes Yes Yes Yes;
    /// Read users, wallets and captured messages.
    ReadUsers Yes Yes Yes No;
    /// Help users, switch wallets, narrow and revoke keys, and work with the test environment.
    Support Yes Yes InTest No;
    /// Delete users; create, rotate and widen keys.
    DeleteAndIssue StepUpInLive StepUpInLive InTest No;
    /// Change settings, providers, redirect URLs, webhook endpoints and signing keys; end all sessions; read the audit log.
    Configure Yes Yes No No;
    /// Weaken a setting that protects wallets.
    Weaken StepUp StepUp No No;
    /// Read who the operators of an App are.
    ReadOperators Yes Yes No No;
    /// Invite, change, disable and remove operators of an App.
    ManageOperators StepUp StepUp No No;
    /// Create Apps and read what belongs to the deployment.
    Deploy Yes No No No;
    /// Manage owners and management keys; disable and enable Apps.
    Own StepUp No No No;
}

/// Why an operator may not do something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Denied {
    /// The operator has no role in the App; for the operator it does not exist.
    App,
    /// The role lacks the right.
    Role,
    /// The right needs a second factor that was proved lately.
    StepUp,
}

/// The roles of an operator. The stored form is JSON; a name or value that this build does not know is an error, so that an operator never
/// gains rights by it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grants {
    /// The role in every App, including those created later. Owners have no other role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    all: Option<Role>,
    /// The roles in some Apps.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    apps: BTreeMap<AppId, Role>,
}

impl Grants {
    /// One role, in some Apps or in all (`None`).
    ///
    /// # Errors
    /// [`Invalid`] naming `apps`: an empty list, one that is too long, or one for an owner.
    pub fn new(role: Role, apps: Option<Vec<AppId>>) -> Result<Self, Invalid> {
        let Some(apps) = apps else {
            return Ok(Self {
                all: Some(role),
                apps: BTreeMap::new(),
            });
        };
        let problem = if role == Role::Owner {
            Some("an owner has every App; leave apps out, or send all".to_owned())
        } else if apps.is_empty() || apps.len() > MAX_APPS {
            Some(format!(
                "apps must be all, or a list of 1 to {MAX_APPS} ids"
            ))
        } else {
            None
        };
        if let Some(message) = problem {
            return Err(Invalid::value("apps", message));
        }
        Ok(Self {
            all: None,
            apps: apps.into_iter().map(|app| (app, role)).collect(),
        })
    }

    /// Reads the stored form.
    ///
    /// # Errors
    /// This build does not know a name or value.
    pub fn from_stored(text: &str) -> Result<Self, serde_json::Error> {
        // As a list, the fields would have no names.
        if !text.starts_with('{') {
            return Err(serde::de::Error::custom("not an object"));
        }
        let grants: Self = serde_json::from_str(text)?;
        match grants.apps.values().any(|role| *role == Role::Owner) {
            true => Err(serde::de::Error::custom("an owner of some Apps")),
            false => Ok(grants),
        }
    }

    /// Whether there is no role.
    pub fn is_empty(&self) -> bool {
        self.all.is_none() && self.apps.is_empty()
    }

    /// Whether they are those of an owner.
    pub fn is_owner(&self) -> bool {
        self.all == Some(Role::Owner)
    }

    /// The role in every App.
    pub const fn in_all(&self) -> Option<Role> {
        self.all
    }

    /// The Apps with a role of their own, with that role.
    pub fn in_apps(&self) -> impl Iterator<Item = (AppId, Role)> {
        self.apps.iter().map(|(app, role)| (*app, *role))
    }

    /// The roles, each with the Apps in which it is held; `None` for every App.
    pub fn by_role(&self) -> Vec<(Role, Option<Vec<AppId>>)> {
        let mut own: BTreeMap<Role, Vec<AppId>> = BTreeMap::new();
        for (app, role) in self.in_apps() {
            own.entry(role).or_default().push(app);
        }
        let all = self.all.map(|role| (role, None)).into_iter();
        all.chain(own.into_iter().map(|(role, apps)| (role, Some(apps))))
            .collect()
    }

    /// The role in an App: the more powerful of its own and the one in every App. The built-in App has none.
    pub fn role_in(&self, app: AppId) -> Option<Role> {
        let own = self.apps.get(&app).copied();
        own.max(self.all).filter(|_| app != AppId::BUILT_IN)
    }

    /// Those of the roles that a reader may see.
    #[must_use]
    pub fn seen(&self, is_seen: impl Fn(AppId) -> bool) -> Self {
        Self {
            all: self.all,
            apps: self.in_apps().filter(|(app, _)| is_seen(*app)).collect(),
        }
    }

    /// Those of the roles that [`Grants::set`] would replace.
    #[must_use]
    pub fn within(&self, apps: Option<&[AppId]>) -> Self {
        match apps {
            Some(apps) if !self.is_owner() => {
                let own = self.in_apps().filter(|(app, _)| apps.contains(app));
                Self {
                    all: None,
                    apps: own.collect(),
                }
            }
            _ => self.clone(),
        }
    }

    /// Replaces the roles in some Apps, or all roles by one in every App (`None`); `role` `None` removes them. An owner who gets roles in some
    /// Apps is no longer an owner.
    pub fn set(&mut self, role: Option<Role>, apps: Option<&[AppId]>) {
        match apps {
            None => {
                self.all = role;
                self.apps.clear();
            }
            Some(apps) => {
                if self.is_owner() {
                    self.all = None;
                }
                for app in apps {
                    match role {
                        Some(role) => self.apps.insert(*app, role),
                        None => self.apps.remove(app),
                    };
                }
            }
        }
    }

    /// Whether the holder may give these to another operator, or take them away (MG-3): an owner any, an admin the lower ones in the
    /// admin's Apps.
    pub fn may_grant(&self, other: &Self) -> bool {
        let may = |own: Option<Role>, role| own.is_some_and(|own| own.may_grant(role));
        other.all.is_none_or(|role| may(self.all, role))
            && other
                .in_apps()
                .all(|(app, role)| may(self.role_in(app), role))
    }

    /// Whether they have a right in a part of the deployment. `is_fresh`: a second factor was proved lately.
    ///
    /// # Errors
    /// [`Denied`].
    pub fn permit(&self, right: Right, extent: Extent, is_fresh: bool) -> Result<(), Denied> {
        let role = match extent.app_id() {
            Some(app) => self.role_in(app).ok_or(Denied::App)?,
            None => self.all.ok_or(Denied::Role)?,
        };
        let is_live = match extent {
            Extent::World(world) => world.environment == Environment::Live,
            Extent::App(_) | Extent::Deployment => true,
        };
        match (role.permits(right), is_live) {
            (Permit::No, _) | (Permit::InTest, true) => Err(Denied::Role),
            (Permit::StepUp, _) | (Permit::StepUpInLive, true) if !is_fresh => Err(Denied::StepUp),
            _ => Ok(()),
        }
    }

    /// Whether they have a right in some environment of an App, leaving step-up aside.
    ///
    /// # Errors
    /// [`Denied`].
    pub fn permit_in_app(&self, right: Right, app: AppId) -> Result<(), Denied> {
        match self.role_in(app).ok_or(Denied::App)?.permits(right) {
            Permit::No => Err(Denied::Role),
            _ => Ok(()),
        }
    }

    /// Whether they have a right in some App, leaving step-up aside.
    pub fn permit_somewhere(&self, right: Right) -> bool {
        let mut roles = self.all.into_iter().chain(self.apps.values().copied());
        roles.any(|role| role.permits(right) != Permit::No)
    }
}

/// An operator: a user of the built-in App, with roles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operator {
    /// The user.
    pub user_id: UserId,
    /// The roles, at least one.
    pub grants: Grants,
    /// The creator of the link.
    pub created_by: Actor,
    /// When the operator joined.
    pub created_at: Timestamp,
    /// When the roles last changed.
    pub updated_at: Timestamp,
}

/// A link that lets its holder in once: an invitation, or one that replaces lost factors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperatorLink {
    /// The id.
    pub id: OperatorLinkId,
    /// SHA-256 of the token.
    pub hash: TokenHash,
    /// The address that it is for.
    pub email: Email,
    /// The roles that it gives; `None` for an operator whose factors were removed.
    pub grants: Option<Grants>,
    /// The creator.
    pub created_by: Actor,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it expires.
    pub expires_at: Timestamp,
    /// When it was used.
    pub used_at: Option<Timestamp>,
}

impl OperatorLink {
    /// Whether it can be used.
    pub fn is_open(&self, now: Timestamp) -> bool {
        self.used_at.is_none() && now < self.expires_at
    }
}

/// Generates the token of a link.
pub fn link_token(source: &mut dyn ByteSource) -> Secret<String> {
    random::alphanumeric(source, TOKEN_LENGTH)
}

/// Whether a text has the form of a token, so that no lookup is wasted on anything else.
pub fn is_link_token(text: &str) -> bool {
    text.len() == TOKEN_LENGTH && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// When a session of an operator last proved a second factor; `None` if it never did, and then it opens nothing but enrolment (OPR-5).
///
/// A passkey verifies its user and so counts as two factors. A code of an authenticator app is the second one of a session that has a first
/// one of another kind.
pub fn second_factor(session: &Session) -> Option<Timestamp> {
    let factors = &session.factors;
    let is_first = |factor: &&Factor| !factor.proof.is_second_factor();
    let has_first = factors.iter().any(|factor| is_first(&factor));
    let proofs = factors.iter().filter(|factor| match factor.proof {
        Proof::Passkey { .. } => true,
        Proof::Totp { .. } | Proof::RecoveryCode { .. } => has_first,
        _ => false,
    });
    proofs.map(|factor| factor.last_verified_at).max()
}

#[cfg(test)]
mod tests;
