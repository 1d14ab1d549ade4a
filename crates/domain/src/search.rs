//! What users are searched by: a filter, checked, and the forms in which its values are compared.
//!
//! Whatever is compared without regard to case is folded here, once, so that every database finds the same users.

mod condition;

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::ids::{EmailId, Id, PhoneNumberId, TotpId, UserId, WalletId};
use crate::phone::PhoneNumber;
use crate::user::ShownStatus;
use crate::{Invalid, Timestamp, number};

use crate::email::EmailIdentity;

/// Most conditions of a filter.
pub const MAX_CONDITIONS: usize = 20;
/// Most values of an `in`.
pub const MAX_VALUES: usize = 100;
/// Longest text of a `*_match`, in characters.
pub const MAX_NEEDLE: usize = 255;

/// Which users are wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserFilter {
    /// How the conditions work together.
    pub combined: Combined,
    /// At least one.
    pub conditions: Vec<Condition>,
}

/// How conditions work together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Combined {
    /// `AND`: every one must hold.
    All,
    /// `OR`: one must hold.
    Any,
}

/// What must hold of a user. Where there are several values, one of them must fit.
#[derive(Clone, PartialEq, Eq)]
pub enum Condition {
    /// A value that nobody can have in the field that was asked for: an id of something else, say, or an address that is none.
    Nobody,
    /// The id.
    UserId(Vec<UserId>),
    /// What the service that the user was imported from knows it by.
    ExternalKey(Vec<String>),
    /// The status.
    Status(Vec<ShownStatus>),
    /// Part of the folded name ([`crate::user::User::folded_name`]).
    FullNameMatch(String),
    /// A number of the user.
    PhoneNumber(Vec<PhoneNumber>),
    /// The id of a number of the user.
    PhoneNumberId(Vec<PhoneNumberId>),
    /// Digits that stand in a row in a number of the user.
    PhoneNumberMatch(String),
    /// Whether a number of the user is verified, or is not.
    PhoneNumberVerified(bool),
    /// An address of the user.
    Email(Vec<EmailIdentity>),
    /// The id of an address of the user.
    EmailId(Vec<EmailId>),
    /// Part of a folded address of the user ([`crate::email::Email::folded`]).
    EmailMatch(String),
    /// Whether an address of the user is verified, or is not.
    EmailVerified(bool),
    /// The address of a wallet of the user, in the chain's canonical form.
    WalletPublicAddress(Vec<String>),
    /// The id of a wallet of the user.
    WalletId(Vec<WalletId>),
    /// The id of an authenticator app of the user.
    TotpId(Vec<TotpId>),
    /// Whether an authenticator app of the user has given its first code, or waits for it.
    TotpVerified(bool),
    /// The name of an identity provider that the user is linked with.
    IdpProvider(Vec<String>),
    /// When the user was created.
    CreatedAt(Period),
    /// A key of the metadata with its value.
    Metadata(Vec<MetadataDigest>),
}

/// Only its kind: what people search for are addresses and names.
impl std::fmt::Debug for Condition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Nobody => "Nobody",
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

/// A time from one moment to another, both within it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Period {
    /// Its first moment.
    pub from: Timestamp,
    /// Its last moment; before `from` when nothing lies between.
    pub to: Timestamp,
}

impl Period {
    /// The smallest and the greatest id that an object made within the period can have: ids carry their `created_at`.
    pub fn ids<I: Id>(self) -> (I, I) {
        (I::new(self.from, [0; 16]), I::new(self.to, [u8::MAX; 16]))
    }
}

/// A top-level key of the metadata together with its value, as what is stored to find it by.
///
/// Texts, numbers and truth values can be found; objects, arrays and what they hold cannot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MetadataDigest(pub [u8; 32]);

impl MetadataDigest {
    /// Of a key and the text of its value: numbers and truth values as JSON writes them.
    pub fn new(key: &str, text: &str) -> Self {
        // The length keeps (a, bc) and (ab, c) apart.
        let length = u64::try_from(key.len()).unwrap_or(u64::MAX);
        let digest = Sha256::new()
            .chain_update(length.to_be_bytes())
            .chain_update(key)
            .chain_update(text);
        Self(digest.finalize().into())
    }

    /// Of a key and its value, if it can be searched by.
    pub fn of(key: &str, value: &Value) -> Option<Self> {
        scalar(value).map(|text| Self::new(key, &text))
    }
}

/// The text of a value that is not a structure.
fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        // One number has one text, whether it was written as 5 or as 5.0.
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
    /// What to compare with; the lower end for `between`.
    pub value: Option<Value>,
    /// What to compare with, for `in`.
    pub values: Option<Vec<Value>>,
    /// The upper end, for `between`.
    pub second_value: Option<Value>,
}

impl UserFilter {
    /// Reads a filter.
    ///
    /// # Errors
    /// An unknown field or operator, or one that does not go with the field; no condition, or more than
    /// [`MAX_CONDITIONS`]; a value that is missing, or is neither a text nor a number nor a truth value, or a part of a text that is empty
    /// or too long. The refusal names its place. A value that the field cannot hold is no error: nobody has it.
    pub fn parse(operator: &str, fields: &[RawCondition]) -> Result<Self, Invalid> {
        let combined = match operator {
            "AND" => Combined::All,
            "OR" => Combined::Any,
            other => {
                let message = format!("{} is not an operator; use AND or OR", shown(other));
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

    /// The statuses wanted, when nothing else is asked for.
    pub fn only_statuses(&self) -> Option<&[ShownStatus]> {
        match self.conditions.as_slice() {
            [Condition::Status(statuses)] => Some(statuses),
            _ => None,
        }
    }
}

/// A name as a refusal may repeat it.
fn shown(name: &str) -> String {
    let name: String = name.chars().filter(|c| !c.is_control()).take(80).collect();
    format!("\"{name}\"")
}

#[cfg(test)]
mod tests;
