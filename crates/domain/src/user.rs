//! Users and what belongs to them.

use std::fmt;
use std::str::FromStr;

use crate::email::Email;
use crate::ids::{EmailId, PhoneNumberId, UserId};
use crate::metadata::Metadata;
use crate::phone::PhoneNumber;
use crate::{Invalid, Timestamp, World, text};

/// Most email addresses of a user. Every call that returns a user reads and sends all of them.
pub const MOST_EMAILS: usize = 100;
/// Most phone numbers of a user, for the same reason.
pub const MOST_PHONE_NUMBERS: usize = 100;

/// Whether a user has been let in yet. A user who is disabled keeps it: it counts again once the user is enabled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum UserStatus {
    /// Created, and no identifier verified yet.
    Pending,
    /// May sign in. `active` of the API mirrors this value.
    Active,
}

impl UserStatus {
    /// The status a user starts with.
    pub const fn initial(requires_verification: bool) -> Self {
        if requires_verification {
            Self::Pending
        } else {
            Self::Active
        }
    }

    /// `pending` or `active`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Active => "active",
        }
    }
}

impl fmt::Display for UserStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for UserStatus {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        match text {
            "pending" => Ok(Self::Pending),
            "active" => Ok(Self::Active),
            _ => Err(Invalid::value("status", "status must be pending or active")),
        }
    }
}

/// The status of a user as answers show it and searches ask for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ShownStatus {
    /// See [`UserStatus::Pending`].
    Pending,
    /// See [`UserStatus::Active`].
    Active,
    /// May not sign in, whatever it could before.
    Disabled,
}

impl ShownStatus {
    /// `pending`, `active` or `disabled`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Active => "active",
            Self::Disabled => "disabled",
        }
    }
}

impl From<UserStatus> for ShownStatus {
    fn from(status: UserStatus) -> Self {
        match status {
            UserStatus::Pending => Self::Pending,
            UserStatus::Active => Self::Active,
        }
    }
}

impl FromStr for ShownStatus {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        match text {
            "pending" => Ok(Self::Pending),
            "active" => Ok(Self::Active),
            "disabled" => Ok(Self::Disabled),
            _ => Err(Invalid::value(
                "status",
                "status must be pending, active or disabled",
            )),
        }
    }
}

/// Since when a user may not sign in, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserDisabled {
    /// Since when.
    pub at: Timestamp,
    /// Why, in the App's own words; `""` when it said nothing.
    pub reason: String,
}

/// A user's own record, without what is attached to it.
#[derive(Debug, Clone, PartialEq)]
pub struct User {
    /// The id.
    pub id: UserId,
    /// The App and environment it lives in.
    pub world: World,
    /// First name, `""` when unset.
    pub first_name: String,
    /// Middle name, `""` when unset.
    pub middle_name: String,
    /// Last name, `""` when unset.
    pub last_name: String,
    /// Pending or active.
    pub status: UserStatus,
    /// Whether something of the account is proved: an address, a number, a wallet that signs in, a link to an identity provider,
    /// or the operator's word. For good: an account that was founded belongs to somebody.
    pub founded: bool,
    /// Since when and why it may not sign in; `None` while it may.
    pub disabled: Option<UserDisabled>,
    /// When it last signed in; `None` when it never did, or not since this is noted.
    pub last_sign_in_at: Option<Timestamp>,
    /// Free-form data of the App.
    pub metadata: Metadata,
    /// When the user was created; the time inside the id.
    pub created_at: Timestamp,
    /// When the record last changed.
    pub updated_at: Timestamp,
}

impl User {
    /// A user without names and data, of whom nothing is proved yet.
    pub fn new(id: UserId, world: World, status: UserStatus, at: Timestamp) -> Self {
        Self {
            id,
            world,
            first_name: String::new(),
            middle_name: String::new(),
            last_name: String::new(),
            status,
            founded: false,
            disabled: None,
            last_sign_in_at: None,
            metadata: Metadata::default(),
            created_at: at,
            updated_at: at,
        }
    }

    /// The status as answers show it.
    pub fn shown_status(&self) -> ShownStatus {
        match self.disabled {
            Some(_) => ShownStatus::Disabled,
            None => self.status.into(),
        }
    }

    /// First, middle and last name in the form in which names are searched; what is unset leaves no gap.
    pub fn folded_name(&self) -> String {
        let parts = [&self.first_name, &self.middle_name, &self.last_name];
        let set = parts.into_iter().filter(|part| !part.is_empty());
        text::fold(&set.map(String::as_str).collect::<Vec<_>>().join(" "))
    }
}

/// An e-mail address of a user. Its identity is unique in the world.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserEmail {
    /// The id; also the `method_id` of codes sent there.
    pub id: EmailId,
    /// Whose it is.
    pub user_id: UserId,
    /// The address.
    pub email: Email,
    /// Whether its owner has proved to read mail there. Until then it is a claim: it is reserved for the account, and opens nothing.
    pub verified: bool,
    /// When it was attached.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// Who gets it if somebody proves it from outside, while it is only claimed and the account is founded (CL-4).
    pub successor: Option<UserId>,
    /// Whether the account was founded when the App attached it: only then may an App trust that it is the user's (CL-9).
    pub of_founded: bool,
}

/// A phone number of a user, unique in the world.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserPhone {
    /// The id; also the `method_id` of codes sent there.
    pub id: PhoneNumberId,
    /// Whose it is.
    pub user_id: UserId,
    /// The number.
    pub number: PhoneNumber,
    /// Whether its owner has proved to read messages there; see [`UserEmail::verified`].
    pub verified: bool,
    /// When it was attached.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// Who gets it if somebody proves it from outside, while it is only claimed and the account is founded (CL-4).
    pub successor: Option<UserId>,
    /// Whether the account was founded when the App attached it: only then may an App trust that it is the user's (CL-9).
    pub of_founded: bool,
}

impl UserEmail {
    /// The address as mail to it is addressed: while it is not verified, in the spelling of the request.
    #[must_use]
    pub fn addressed(self, typed: &Email) -> Self {
        match self.verified {
            true => self,
            false => Self {
                email: typed.clone(),
                ..self
            },
        }
    }
}

impl UserProfile {
    /// Whether the account is somebody's. What is proved counts also where a process of the release before noted it, which
    /// does not know that accounts are founded.
    pub fn is_founded(&self) -> bool {
        let is_proved = self.emails.iter().any(|email| email.verified)
            || self.phones.iter().any(|phone| phone.verified);
        self.user.founded || is_proved
    }
}

/// A user with its identifiers, oldest first.
#[derive(Debug, Clone, PartialEq)]
pub struct UserProfile {
    /// The record.
    pub user: User,
    /// Its e-mail addresses.
    pub emails: Vec<UserEmail>,
    /// Its phone numbers.
    pub phones: Vec<UserPhone>,
}
