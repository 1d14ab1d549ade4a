//! User search: the validated filter, and the forms in which its values are compared.
//!
//! All case folding happens here, so that every database finds the same users.

mod condition;

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::ids::{EmailId, Id, PhoneNumberId, TotpId, UserId, WalletId};
use crate::phone::PhoneNumber;
use crate::user::ShownStatus;
use crate::{Invalid, Timestamp, number};

use crate::email::EmailIdentity;

/// Maximum number of conditions in a filter.
pub const MAX_CONDITIONS: usize = 20;
/// Maximum number of values of an `in`.
pub const MAX_VALUES: usize = 100;
/// Maximum length of a `*_match` text in characters.
pub const MAX_NEEDLE: usize = 255;

/// A filter for users.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserFilter {
    /// How the conditions are combined.
    pub combined: Combined,
    /// At least one.
    pub conditions: Vec<Condition>,
}

/// How conditions are combined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Combined {
    /// `AND`: all conditions must match.
    All,
    /// `OR`: at least one condition must match.
    Any,
}

/// A condition on a user. If it has several values, any one of them must match.
#[derive(Clone, PartialEq, Eq)]
pub enum Condition {
    /// Matches no user: the value is impossible for its field, such as an id of another kind or an invalid address.
    NoUser,
    /// The id.
    UserId(Vec<UserId>),
    /// The user's id in the service from which they were imported.
    ExternalKey(Vec<String>),
    /// The status.
    Status(Vec<ShownStatus>),
    /// Part of the folded name ([`crate::user::User::folded_name`]).
    FullNameMatch(String),
    /// A phone number of the user.
    PhoneNumber(Vec<PhoneNumber>),
    /// The id of a phone number of the user.
    PhoneNumberId(Vec<PhoneNumberId>),
    /// Consecutive digits in a phone number of the user.
    PhoneNumberMatch(String),
    /// Whether a phone number of the user is verified (or is unverified).
    PhoneNumberVerified(bool),
    /// An e-mail address of the user.
    Email(Vec<EmailIdentity>),
    /// The id of an e-mail address of the user.
    EmailId(Vec<EmailId>),
    /// Part of a folded address of the user ([`crate::email::Email::folded`]).
    EmailMatch(String),
    /// Whether an e-mail address of the user is verified (or is unverified).
    EmailVerified(bool),
    /// The address of a wallet of the user, in the chain's canonical form.
    WalletPublicAddress(Vec<String>),
    /// The id of a wallet of the user.
    WalletId(Vec<WalletId>),
    /// The id of an authenticator app of the user.
    TotpId(Vec<TotpId>),
    /// Whether an authenticator app of the user is verified (or waits for its first code).
    TotpVerified(bool),
    /// The name of an identity provider that the user is linked with.
    IdpProvider(Vec<String>),
    /// When the user was created.
    CreatedAt(Period),
    /// A metadata key and its value.
    Metadata(Vec<MetadataDigest>),
}

/// Only the kind: search values are addresses and names.
impl std::fmt::Debug for Condition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::NoUser => "NoUser",
            Self::UserId(_) => "UserId",
            Self::ExternalKey(_) => "ExternalKey",
            Self::Status(_) => "Status",
            Self::FullNameMatch(_) => "FullNameMatch",
            Self::PhoneNumber(_) => "PhoneNumber",
            Self::PhoneNumberId(_) => "PhoneNumberId",
            Self::PhoneNumberMatch(_) => "PhoneNumberMatch",
            Self::PhoneNumberVerified(_) => "PhoneNumberVerified",
            Self::Email(_) => "Email",
            Self::EmailId(_) => "EmailId",
            Self::EmailMatch(_) => "EmailMatch",
            Self::EmailVerified(_) => "EmailVerified",
            Self::WalletPublicAddress(_) => "WalletPublicAddress",
            Self::WalletId(_) => "WalletId",
            Self::TotpId(_) => "TotpId",
            Self::TotpVerified(_) => "TotpVerified",
            Self::IdpProvider(_) => "IdpProvider",
            Self::CreatedAt(_) => "CreatedAt",
            Self::Metadata(_) => "Metadata",
        })
    }
}

/// A period of time; both bounds are inclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Period {
    /// Its start.
    pub from: Timestamp,
    /// Its end; before `from` if the period is empty.
    pub to: Timestamp,
}

impl Period {
    /// The smallest and largest id of objects created within the period: ids contain their `created_at`.
    pub fn ids<I: Id>(self) -> (I, I) {
        (I::new(self.from, [0; 16]), I::new(self.to, [u8::MAX; 16]))
    }
}

/// The digest of a top-level metadata key and its value, stored for lookups.
///
/// Strings, numbers and booleans can be found; objects, arrays and their contents cannot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MetadataDigest(pub [u8; 32]);

impl MetadataDigest {
    /// The digest of a key and the text of its value: numbers and booleans as JSON writes them.
    pub fn new(key: &str, text: &str) -> Self {
        // The length prefix distinguishes (a, bc) from (ab, c).
        let length = u64::try_from(key.len()).unwrap_or(u64::MAX);
        let digest = Sha256::new()
            .chain_update(length.to_be_bytes())
            .chain_update(key)
            .chain_update(text);
        Self(digest.finalize().into())
    }

    /// The digest of a key and its value, if the value is searchable.
    pub fn of(key: &str, value: &Value) -> Option<Self> {
        scalar(value).map(|text| Self::new(key, &text))
    }
}

/// The text of a scalar value.
fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        // Equal numbers have the same text, whether written as 5 or 5.0.
        Value::Number(number) => Some(
            number::whole(number).map_or_else(|| number.to_string(), |whole| whole.to_string()),
        ),
        Value::Bool(truth) => Some(truth.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// One condition as it was sent.
#[derive(Clone, Default)]
pub struct RawCondition {
    /// Name of the field.
    pub field: String,
    /// Name of the operator.
    pub operator: String,
    /// The value to compare with; the lower bound for `between`.
    pub value: Option<Value>,
    /// The values to compare with, for `in`.
    pub values: Option<Vec<Value>>,
    /// The upper bound, for `between`.
    pub second_value: Option<Value>,
}

impl UserFilter {
    /// Parses a filter.
    ///
    /// # Errors
    /// If a field or operator is unknown, or the operator is not supported by the field. If there is no condition, or more than
    /// [`MAX_CONDITIONS`]. If a value is missing, or is not a string, number or boolean, or a partial text is empty or too long. The error
    /// names the place. A value that the field cannot hold is no error: it matches no user.
    pub fn parse(operator: &str, fields: &[RawCondition]) -> Result<Self, Invalid> {
        let combined = match operator {
            "AND" => Combined::All,
            "OR" => Combined::Any,
            other => {
                let message = format!("unknown operator {}; use AND or OR", shown(other));
                return Err(Invalid::unknown("filters.operator", message));
            }
        };
        if fields.is_empty() || fields.len() > MAX_CONDITIONS {
            let message = format!("filters.fields must have 1 to {MAX_CONDITIONS} entries");
            return Err(Invalid::value("filters.fields", message));
        }
        let conditions = fields
            .iter()
            .enumerate()
            .map(|(index, raw)| condition::read(index, raw))
            .collect::<Result<_, _>>()?;
        Ok(Self {
            combined,
            conditions,
        })
    }

    /// The statuses to match, if the filter has no other condition.
    pub fn only_statuses(&self) -> Option<&[ShownStatus]> {
        match self.conditions.as_slice() {
            [Condition::Status(statuses)] => Some(statuses),
            _ => None,
        }
    }
}

/// A name in a form that is safe to repeat in an error message.
fn shown(name: &str) -> String {
    let name: String = name.chars().filter(|c| !c.is_control()).take(80).collect();
    format!("\"{name}\"")
}

#[cfg(test)]
mod tests;
