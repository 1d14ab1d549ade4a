//! A user as one line of JSON: what `vestry users export` writes and `vestry users import` reads.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use vestry_domain::email::Email;
use vestry_domain::ids::UserId;
use vestry_domain::metadata::Metadata;
use vestry_domain::password::{Normalization, PasswordHash};
use vestry_domain::phone::PhoneNumber;
use vestry_domain::user::UserStatus;
use vestry_domain::{Invalid, Secret, Timestamp, text};

/// Most bytes of an external key.
const LONGEST_KEY: usize = 255;

/// One user. Names that are not of this list are refused: a typing error must not lose a column.
#[derive(Default, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PortableUser {
    /// The id that the user shall have, of a user that was exported; a fresh one when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// What the other service knows the user by; at most 255 bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub external_key: Option<String>,
    /// Addresses.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub emails: Vec<PortableEmail>,
    /// Numbers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub phone_numbers: Vec<PortablePhone>,
    /// See `users/create`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub first_name: String,
    /// See `users/create`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub middle_name: String,
    /// See `users/create`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub last_name: String,
    /// `active` (when absent) or `pending`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// Free-form data.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
    /// Unix seconds; the moment of the import when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_at: Option<i64>,
    /// Hash of the password, in one of the forms that `docs/migrate-users.md` lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub password_hash: Option<String>,
    /// `raw` (when absent) or `nfc`: the form of the text that was hashed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub password_normalization: Option<String>,
}

/// An address of a [`PortableUser`].
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PortableEmail {
    /// The address.
    pub email: String,
    /// Whether its owner has proved to read mail there.
    #[serde(default)]
    pub verified: bool,
    /// Whether only a session of the user may prove it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub held: bool,
}

/// A number of a [`PortableUser`].
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PortablePhone {
    /// The number, E.164.
    pub phone_number: String,
    /// Whether its owner has proved to read messages there.
    #[serde(default)]
    pub verified: bool,
    /// Whether only a session of the user may prove it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub held: bool,
}

/// serde passes a reference.
const fn is_false(value: &bool) -> bool {
    !*value
}

/// A line whose values were checked.
pub(super) struct CheckedUser {
    pub(super) id: Option<UserId>,
    pub(super) external_key: Option<String>,
    pub(super) emails: Vec<(Email, Proven)>,
    pub(super) phones: Vec<(PhoneNumber, Proven)>,
    pub(super) names: [String; 3],
    pub(super) status: UserStatus,
    pub(super) metadata: Metadata,
    pub(super) created_at: Timestamp,
    pub(super) password: Option<PasswordHash>,
}

/// What is known of an identifier.
#[derive(Clone, Copy)]
pub(super) struct Proven {
    pub(super) verified: bool,
    pub(super) held: bool,
}

impl PortableUser {
    /// Checks every value.
    pub(super) fn check(&self, now: Timestamp) -> Result<CheckedUser, Invalid> {
        if self.emails.is_empty() && self.phone_numbers.is_empty() {
            return Err(Invalid::value(
                "emails",
                "a user has at least one of emails and phone_numbers",
            ));
        }
        let created_at = self.created_at.map_or(now, Timestamp::from_unix);
        if created_at.unix() < 0 || now < created_at {
            return Err(Invalid::value(
                "created_at",
                "created_at is a moment of the past, in Unix seconds",
            ));
        }
        let status = self.status.as_deref().unwrap_or("active");
        Ok(CheckedUser {
            id: self.id.as_deref().map(str::parse).transpose()?,
            external_key: self.external_key.as_deref().map(key).transpose()?,
            emails: self.emails()?,
            phones: self.phones()?,
            names: [
                text::name("first_name", &self.first_name)?,
                text::name("middle_name", &self.middle_name)?,
                text::name("last_name", &self.last_name)?,
            ],
            status: status.parse()?,
            metadata: Metadata::new(self.metadata.clone())?,
            created_at,
            password: self.password()?,
        })
    }

    fn emails(&self) -> Result<Vec<(Email, Proven)>, Invalid> {
        let checked = self.emails.iter().map(|row| {
            let proven = proven(row.verified, row.held)?;
            Ok((Email::parse(&row.email)?, proven))
        });
        checked.collect()
    }

    fn phones(&self) -> Result<Vec<(PhoneNumber, Proven)>, Invalid> {
        let checked = self.phone_numbers.iter().map(|row| {
            let proven = proven(row.verified, row.held)?;
            Ok((PhoneNumber::parse(&row.phone_number)?, proven))
        });
        checked.collect()
    }

    fn password(&self) -> Result<Option<PasswordHash>, Invalid> {
        let form = self.password_normalization.as_deref();
        let normalization = form.map_or(Ok(Normalization::Raw), str::parse)?;
        Ok(self.password_hash.as_ref().map(|text| PasswordHash {
            normalization,
            text: Secret::new(text.clone()),
        }))
    }
}

fn proven(verified: bool, held: bool) -> Result<Proven, Invalid> {
    if verified && held {
        return Err(Invalid::value("held", "what is verified is not held"));
    }
    Ok(Proven { verified, held })
}

fn key(text: &str) -> Result<String, Invalid> {
    let is_plain = !text.is_empty() && !text.chars().any(char::is_control);
    if !is_plain || text.len() > LONGEST_KEY {
        return Err(Invalid::value(
            "external_key",
            format!("external_key has 1 to {LONGEST_KEY} bytes and no control characters"),
        ));
    }
    Ok(text.to_owned())
}
