//! Parsing of search conditions.

use std::str::FromStr;

use serde_json::Value;

use super::{
    Condition, MAX_NEEDLE, MAX_VALUES, MetadataDigest, Period, RawCondition, scalar, shown,
};
use crate::email::{Email, EmailIdentity};
use crate::phone::PhoneNumber;
use crate::{Invalid, Timestamp, text};

/// A condition and its place, for error messages.
struct Place<'a> {
    index: usize,
    raw: &'a RawCondition,
}

/// A comparison operator.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Operator {
    Eq,
    In,
    Lt,
    Gt,
    Between,
}

impl Operator {
    const ALL: [(&'static str, Self); 5] = [
        ("eq", Self::Eq),
        ("in", Self::In),
        ("lt", Self::Lt),
        ("gt", Self::Gt),
        ("between", Self::Between),
    ];
}

/// Parses the condition at this index of the filter.
pub(super) fn read(index: usize, raw: &RawCondition) -> Result<Condition, Invalid> {
    let place = Place { index, raw };
    match raw.field.as_str() {
        "user_id" => place.each(Condition::UserId, parsed),
        "external_key" => place.each(Condition::ExternalKey, any_text),
        "status" => place.each(Condition::Status, parsed),
        "full_name_match" => place.needle(Condition::FullNameMatch, text::fold),
        "phone_number" => place.each(Condition::PhoneNumber, number),
        "phone_number_id" => place.each(Condition::PhoneNumberId, parsed),
        "phone_number_match" => place.digits(),
        "phone_number_verified" => place.truth(Condition::PhoneNumberVerified),
        "email" => place.each(Condition::Email, identity),
        "email_id" => place.each(Condition::EmailId, parsed),
        "email_match" => place.part_of_email(),
        "email_verified" => place.truth(Condition::EmailVerified),
        "wallet_public_address" => place.each(Condition::WalletPublicAddress, any_text),
        "wallet_id" => place.each(Condition::WalletId, parsed),
        "totp_id" => place.each(Condition::TotpId, parsed),
        "totp_verified" => place.truth(Condition::TotpVerified),
        "idp_provider" => place.each(Condition::IdpProvider, any_text),
        "created_at" => place.period(),
        other => match other.strip_prefix("metadata.") {
            Some(key) if !key.is_empty() => {
                let digest = |text: &str| Some(MetadataDigest::new(key, text));
                place.each(Condition::Metadata, digest)
            }
            _ => {
                let message = format!("unknown search field {}", shown(other));
                Err(Invalid::unknown(place.at("field"), message))
            }
        },
    }
}

// Conversions of a text to a field's value; `None` if it cannot be one.

fn parsed<T: FromStr<Err = Invalid>>(text: &str) -> Option<T> {
    text.parse().ok()
}

fn any_text(text: &str) -> Option<String> {
    Some(text.to_owned())
}

fn number(text: &str) -> Option<PhoneNumber> {
    PhoneNumber::parse(text).ok()
}

fn identity(text: &str) -> Option<EmailIdentity> {
    let email = Email::parse(text).ok()?;
    Some(email.identity().clone())
}

impl Place<'_> {
    fn at(&self, part: &str) -> String {
        format!("filters.fields[{}].{part}", self.index)
    }

    /// The operator, if the field supports it.
    fn operator(&self, known: &[Operator]) -> Result<Operator, Invalid> {
        let named = Operator::ALL
            .into_iter()
            .filter(|(_, operator)| known.contains(operator));
        let names: Vec<&str> = named.clone().map(|(name, _)| name).collect();
        let mut found = named.filter(|(name, _)| *name == self.raw.operator);
        match found.next() {
            Some((_, operator)) => Ok(operator),
            None => {
                let message = format!(
                    "operator {} is not supported for {}; supported: {}",
                    shown(&self.raw.operator),
                    shown(&self.raw.field),
                    names.join(", ")
                );
                Err(Invalid::unknown(self.at("operator"), message))
            }
        }
    }

    /// The value or values of `eq` and `in`, converted to the field's type. A value that the field cannot hold matches no user.
    fn each<T>(
        &self,
        condition: impl Fn(Vec<T>) -> Condition,
        read: impl Fn(&str) -> Option<T>,
    ) -> Result<Condition, Invalid> {
        let texts = match self.operator(&[Operator::Eq, Operator::In])? {
            Operator::In => {
                let values = self.raw.values.as_deref();
                let values = values.ok_or_else(|| Invalid::missing(self.at("values")))?;
                if values.is_empty() || values.len() > MAX_VALUES {
                    let message = format!("values must have 1 to {MAX_VALUES} entries");
                    return Err(Invalid::value(self.at("values"), message));
                }
                let numbered = values.iter().enumerate();
                numbered
                    .map(|(number, value)| self.text(&format!("values[{number}]"), Some(value)))
                    .collect::<Result<Vec<_>, _>>()?
            }
            Operator::Eq | Operator::Lt | Operator::Gt | Operator::Between => {
                vec![self.text("value", self.raw.value.as_ref())?]
            }
        };
        let values: Vec<T> = texts.iter().filter_map(|text| read(text)).collect();
        Ok(match values.is_empty() {
            true => Condition::NoUser,
            false => condition(values),
        })
    }

    /// The text of a value; an error names its place.
    fn text(&self, part: &str, value: Option<&Value>) -> Result<String, Invalid> {
        let value = value.ok_or_else(|| Invalid::missing(self.at(part)))?;
        let text = scalar(value).ok_or_else(|| {
            Invalid::value(
                self.at(part),
                "a value must be a string, a number, true or false",
            )
        })?;
        if text.contains('\0') {
            let message = "a value must not contain the NUL character";
            return Err(Invalid::value(self.at(part), message));
        }
        Ok(text)
    }

    /// The only value of a field that supports just `eq`.
    fn only(&self) -> Result<String, Invalid> {
        self.operator(&[Operator::Eq])?;
        self.text("value", self.raw.value.as_ref())
    }

    fn truth(&self, condition: impl Fn(bool) -> Condition) -> Result<Condition, Invalid> {
        let truth = self.only()?.parse();
        Ok(truth.map_or(Condition::NoUser, condition))
    }

    fn needle(
        &self,
        condition: impl Fn(String) -> Condition,
        compared: impl Fn(&str) -> String,
    ) -> Result<Condition, Invalid> {
        let needle = compared(&self.only()?);
        self.within_length(&needle)?;
        Ok(condition(needle))
    }

    /// The two spellings of a domain are separated by a space in the searched text; no address contains one.
    fn part_of_email(&self) -> Result<Condition, Invalid> {
        let part = |needle: String| match needle.contains(char::is_whitespace) {
            true => Condition::NoUser,
            false => Condition::EmailMatch(needle),
        };
        self.needle(part, text::lower)
    }

    /// Non-digits are only formatting. A text without digits matches no user.
    fn digits(&self) -> Result<Condition, Invalid> {
        let text = self.only()?;
        self.within_length(&text)?;
        let digits: String = text.chars().filter(char::is_ascii_digit).collect();
        Ok(match digits.is_empty() {
            true => Condition::NoUser,
            false => Condition::PhoneNumberMatch(digits),
        })
    }

    /// A period without any timestamps in it matches no user.
    fn period(&self) -> Result<Condition, Invalid> {
        use Operator::{Between, Eq, Gt, In, Lt};
        let operator = self.operator(&[Eq, Lt, Gt, Between])?;
        let first = self.text("value", self.raw.value.as_ref())?;
        let second = match operator {
            Between => self.text("second_value", self.raw.second_value.as_ref())?,
            Eq | In | Lt | Gt => first.clone(),
        };
        let (Ok(value), Ok(second)) = (first.parse::<i64>(), second.parse::<i64>()) else {
            return Ok(Condition::NoUser);
        };
        let (from, to) = match operator {
            Lt => (i64::MIN, value.saturating_sub(1)),
            Gt => (value.saturating_add(1), i64::MAX),
            Eq | In | Between => (value, second),
        };
        Ok(Condition::CreatedAt(Period {
            from: Timestamp::from_unix(from),
            to: Timestamp::from_unix(to),
        }))
    }

    fn within_length(&self, needle: &str) -> Result<(), Invalid> {
        if needle.is_empty() || needle.chars().count() > MAX_NEEDLE {
            let message = format!("the value must have 1 to {MAX_NEEDLE} searchable characters");
            return Err(Invalid::value(self.at("value"), message));
        }
        Ok(())
    }
}
