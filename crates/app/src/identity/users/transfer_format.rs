//! A user as one line of JSON: what `vestry users export` writes and `vestry users import` reads.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Number, Value};
use vestry_domain::email::Email;
use vestry_domain::ids::{Id, UserId};
use vestry_domain::metadata::Metadata;
use vestry_domain::password::{Normalization, PasswordHash};
use vestry_domain::phone::PhoneNumber;
use vestry_domain::user::{MAX_EMAILS, MAX_PHONE_NUMBERS, UserStatus};
use vestry_domain::wallet::WalletType;
use vestry_domain::{Invalid, Secret, Timestamp, number, text};

/// Maximum length of an external key in bytes.
const MAX_KEY: usize = 255;

/// A portable user. Unknown field names are refused: a typing error must not lose a column.
#[derive(Default, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PortableUser {
    /// The id of an exported user; a new one when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The key of the user in the other service; at most 255 bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub external_key: Option<String>,
    /// Addresses.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub emails: Vec<PortableEmail>,
    /// Numbers.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub phone_numbers: Vec<PortablePhone>,
    /// Wallets that their holders sign in with. Wallets whose keys are stored here are not exported.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub wallets: Vec<PortableWallet>,
    /// See `users/create`.
    #[serde(
        deserialize_with = "or_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub first_name: String,
    /// See `users/create`.
    #[serde(
        deserialize_with = "or_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub middle_name: String,
    /// See `users/create`.
    #[serde(
        deserialize_with = "or_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub last_name: String,
    /// `active` (when absent) or `pending`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// Whether the account has an owner although nothing in this line is proved.
    ///
    /// It always does if an address or number is verified, or a wallet signs in.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_false")]
    pub founded: bool,
    /// Whether the user may not sign in.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_false")]
    pub disabled: bool,
    /// Why, in the App's own words.
    #[serde(
        deserialize_with = "or_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub disabled_reason: String,
    /// Free-form data.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
    /// Unix seconds; the time inside the id, or the moment of the import, when absent.
    #[serde(deserialize_with = "whole", skip_serializing_if = "Option::is_none")]
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
    /// Whether its owner has verified it.
    #[serde(default, deserialize_with = "or_default")]
    pub verified: bool,
}

/// A number of a [`PortableUser`].
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PortablePhone {
    /// The number, E.164.
    pub phone_number: String,
    /// Whether its owner has verified it.
    #[serde(default, deserialize_with = "or_default")]
    pub verified: bool,
}

/// A wallet of a [`PortableUser`].
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PortableWallet {
    /// `ethereum` or `solana`.
    pub wallet_type: String,
    /// Its address.
    pub public_address: String,
}

/// BatchedReads an optional value. `null`, which other services write for unknown values, counts as absent.
fn or_default<'de, T: Default + Deserialize<'de>, D: Deserializer<'de>>(
    field: D,
) -> Result<T, D::Error> {
    Option::deserialize(field).map(Option::unwrap_or_default)
}

/// A whole number, or `null` for none.
fn whole<'de, D: Deserializer<'de>>(field: D) -> Result<Option<i64>, D::Error> {
    let Some(number) = Option::<Number>::deserialize(field)? else {
        return Ok(None);
    };
    let whole = number::whole(&number);
    whole
        .map(Some)
        .ok_or_else(|| D::Error::custom("not a whole number"))
}

/// serde passes a reference.
const fn is_false(value: &bool) -> bool {
    !*value
}

/// A line whose values were checked.
pub(super) struct CheckedUser {
    pub(super) id: Option<UserId>,
    pub(super) external_key: Option<String>,
    /// With whether each is proved.
    pub(super) emails: Vec<(Email, bool)>,
    /// Each with whether it is proved.
    pub(super) phones: Vec<(PhoneNumber, bool)>,
    pub(super) founded: bool,
    /// The reason why the user is disabled, if so.
    pub(super) disabled: Option<String>,
    /// Chains and addresses, as they were written.
    pub(super) wallets: Vec<(WalletType, String)>,
    pub(super) names: [String; 3],
    pub(super) status: UserStatus,
    pub(super) metadata: Metadata,
    pub(super) created_at: Timestamp,
    pub(super) password: Option<PasswordHash>,
}

impl PortableUser {
    /// Checks every value.
    pub(super) fn check(&self, now: Timestamp) -> Result<CheckedUser, Invalid> {
        let is_nobody =
            self.emails.is_empty() && self.phone_numbers.is_empty() && self.wallets.is_empty();
        // An exported user may have signed in with credentials that no line contains.
        if is_nobody && self.id.is_none() {
            return Err(Invalid::value(
                "emails",
                "a user needs at least one of emails, phone_numbers and wallets",
            ));
        }
        let id: Option<UserId> = self.id.as_deref().map(str::parse).transpose()?;
        let created_at = match (self.created_at, id) {
            (Some(created_at), _) => Timestamp::from_unix(created_at),
            (None, Some(id)) => id.timestamp(),
            (None, None) => now,
        };
        if created_at.unix() < 0 || now < created_at {
            return Err(Invalid::value(
                "created_at",
                "created_at must be a Unix timestamp in the past",
            ));
        }
        // Users are paged and searched by the time inside their ids.
        let same_time = |id: UserId| UserId::new(created_at, [0; 16]).timestamp() == id.timestamp();
        if !id.is_none_or(same_time) {
            return Err(Invalid::value(
                "created_at",
                "created_at is not the time inside the id",
            ));
        }
        let status = self.status.as_deref().unwrap_or("active");
        let (emails, phones, wallets) = (self.emails()?, self.phones()?, self.wallets()?);
        let is_proved = emails.iter().any(|(_, verified)| *verified)
            || phones.iter().any(|(_, verified)| *verified)
            || !wallets.is_empty();
        Ok(CheckedUser {
            id,
            external_key: self.external_key.as_deref().map(key).transpose()?,
            founded: self.founded || is_proved,
            emails,
            phones,
            wallets,
            names: [
                text::name("first_name", &self.first_name)?,
                text::name("middle_name", &self.middle_name)?,
                text::name("last_name", &self.last_name)?,
            ],
            status: status.parse()?,
            disabled: self.disabled()?,
            metadata: Metadata::new(self.metadata.clone())?,
            created_at,
            password: self.password()?,
        })
    }

    fn emails(&self) -> Result<Vec<(Email, bool)>, Invalid> {
        at_most("emails", self.emails.len(), MAX_EMAILS)?;
        let rows = self.emails.iter();
        rows.map(|row| Ok((Email::parse(&row.email)?, row.verified)))
            .collect()
    }

    fn phones(&self) -> Result<Vec<(PhoneNumber, bool)>, Invalid> {
        at_most("phone_numbers", self.phone_numbers.len(), MAX_PHONE_NUMBERS)?;
        let rows = self.phone_numbers.iter();
        rows.map(|row| Ok((PhoneNumber::parse(&row.phone_number)?, row.verified)))
            .collect()
    }

    fn disabled(&self) -> Result<Option<String>, Invalid> {
        let reason = text::name("disabled_reason", &self.disabled_reason)?;
        if !self.disabled && !reason.is_empty() {
            return Err(Invalid::value(
                "disabled_reason",
                "disabled_reason goes with disabled: true",
            ));
        }
        Ok(self.disabled.then_some(reason))
    }

    fn wallets(&self) -> Result<Vec<(WalletType, String)>, Invalid> {
        let checked = self
            .wallets
            .iter()
            .map(|row| Ok((row.wallet_type.parse()?, row.public_address.clone())));
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

fn key(text: &str) -> Result<String, Invalid> {
    let is_plain = !text.is_empty() && !text.chars().any(char::is_control);
    if !is_plain || text.len() > MAX_KEY {
        return Err(Invalid::value(
            "external_key",
            format!("external_key must have 1 to {MAX_KEY} bytes and no control characters"),
        ));
    }
    Ok(text.to_owned())
}

fn at_most(list: &'static str, entries: usize, most: usize) -> Result<(), Invalid> {
    if entries <= most {
        return Ok(());
    }
    Err(Invalid::value(
        list,
        format!("{list} must have at most {most} entries"),
    ))
}
