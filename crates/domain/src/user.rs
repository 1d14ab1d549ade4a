//! Users and their identifiers.

use std::fmt;
use std::str::FromStr;

use crate::email::Email;
use crate::ids::{EmailId, PhoneNumberId, UserId};
use crate::metadata::Metadata;
use crate::phone::PhoneNumber;
use crate::{Invalid, Timestamp, World, text};

/// Maximum number of e-mail addresses per user. Every call that returns a user reads and sends all of them.
pub const MAX_EMAILS: usize = 100;
/// Maximum number of phone numbers per user, for the same reason.
pub const MAX_PHONE_NUMBERS: usize = 100;

/// The status of a user. Disabling a user preserves it, and it applies again once the user is enabled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum UserStatus {
    /// Created, without a verified identifier so far.
    Pending,
    /// May sign in. The API's `active` mirrors this value.
    Active,
}

impl UserStatus {
    /// The initial status of a user.
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

/// The status of a user in responses and searches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ShownStatus {
    /// See [`UserStatus::Pending`].
    Pending,
    /// See [`UserStatus::Active`].
    Active,
    /// May not sign in, whatever the previous status.
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

/// When and why a user was disabled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserDisabled {
    /// When the user was disabled.
    pub at: Timestamp,
    /// The reason in the App's own words; `""` if it gave none.
    pub reason: String,
}

/// A user's own record, without attached objects.
#[derive(Debug, Clone, PartialEq)]
pub struct User {
    /// The id.
    pub id: UserId,
    /// The App and environment that it belongs to.
    pub world: World,
    /// First name, `""` when unset.
    pub first_name: String,
    /// Middle name, `""` when unset.
    pub middle_name: String,
    /// Last name, `""` when unset.
    pub last_name: String,
    /// Pending or active.
    pub status: UserStatus,
    /// Whether the account has an owner: an address, number, wallet for sign-in or provider link was verified, or the operator vouched for
    /// one. Permanent once set.
    pub is_owned: bool,
    /// When and why the user was disabled; `None` if they are not.
    pub disabled: Option<UserDisabled>,
    /// When the user last signed in; `None` if never, or not since this is recorded.
    pub last_sign_in_at: Option<Timestamp>,
    /// Free-form data of the App.
    pub metadata: Metadata,
    /// When the user was created; equals the timestamp of the id.
    pub created_at: Timestamp,
    /// When the record last changed.
    pub updated_at: Timestamp,
}

impl User {
    /// Creates a user without names, data or anything verified.
    pub fn new(id: UserId, world: World, status: UserStatus, at: Timestamp) -> Self {
        Self {
            id,
            world,
            first_name: String::new(),
            middle_name: String::new(),
            last_name: String::new(),
            status,
            is_owned: false,
            disabled: None,
            last_sign_in_at: None,
            metadata: Metadata::default(),
            created_at: at,
            updated_at: at,
        }
    }

    /// The status as shown in responses.
    pub fn shown_status(&self) -> ShownStatus {
        match self.disabled {
            Some(_) => ShownStatus::Disabled,
            None => self.status.into(),
        }
    }

    /// First, middle and last name in their search form; unset parts leave no gap.
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
    /// The user that it belongs to.
    pub user_id: UserId,
    /// The address.
    pub email: Email,
    /// Whether its owner has proved access to mail sent there. Until then it is a claim: it is reserved for the account but cannot be used
    /// to sign in.
    pub verified: bool,
    /// When it was added.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// The user who gets the address if it is verified from outside the account (CL-4). Set only while the address is claimed and the
    /// account already has an owner.
    pub pending_owner: Option<UserId>,
    /// Whether the account already had an owner when the App added the address. Only then may an App trust that it is the user's (CL-9).
    pub of_owned: bool,
}

/// A phone number of a user, unique in the world.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserPhone {
    /// The id; also the `method_id` of codes sent there.
    pub id: PhoneNumberId,
    /// The user that it belongs to.
    pub user_id: UserId,
    /// The number.
    pub number: PhoneNumber,
    /// Whether its owner has proved access to messages sent there; see [`UserEmail::verified`].
    pub verified: bool,
    /// When it was added.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// The user who gets the number if it is verified from outside the account (CL-4). Set only while the number is claimed and the account
    /// already has an owner.
    pub pending_owner: Option<UserId>,
    /// Whether the account already had an owner when the App added the number. Only then may an App trust that it is the user's (CL-9).
    pub of_owned: bool,
}

impl UserEmail {
    /// The spelling that mail is sent to: that of the request until the address is verified.
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
    /// Whether the account has an owner.
    ///
    /// A verified identifier makes the account owned, like `is_owned`.
    pub fn is_owned(&self) -> bool {
        let is_proved = self.emails.iter().any(|email| email.verified)
            || self.phones.iter().any(|phone| phone.verified);
        self.user.is_owned || is_proved
    }
}

/// A user with all identifiers, oldest first.
#[derive(Debug, Clone, PartialEq)]
pub struct UserProfile {
    /// The record.
    pub user: User,
    /// The user's e-mail addresses.
    pub emails: Vec<UserEmail>,
    /// The user's phone numbers.
    pub phones: Vec<UserPhone>,
}
