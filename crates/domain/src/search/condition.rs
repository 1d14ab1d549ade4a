//! From a condition as it was sent to one that can be looked up.

use std::str::FromStr;

use serde_json::Value;

use super::{
    Condition, MAX_NEEDLE, MAX_VALUES, MetadataDigest, Period, RawCondition, scalar, shown,
};
use crate::email::Email;
use crate::phone::PhoneNumber;
use crate::{Invalid, Timestamp, text};

/// A condition and where it stands, for refusals.
struct Place<'a> {
    index: usize,
    raw: &'a RawCondition,
}

/// How a field is compared with its values.
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

/// Reads the condition at this index of the filter.
pub(super) fn read(index: usize, raw: &RawCondition) -> Result<Condition, Invalid> {
    let place = Place { index, raw };
    Ok(match raw.field.as_str() {
        "user_id" => Condition::UserId(place.each(parsed)?),
        "external_key" => Condition::ExternalKey(place.each(any_text)?),
        "status" => Condition::Status(place.each(parsed)?),
        "full_name_match" => Condition::FullNameMatch(place.needle()?),
        "phone_number" => Condition::PhoneNumber(place.each(PhoneNumber::parse)?),
        "phone_number_id" => Condition::PhoneNumberId(place.each(parsed)?),
        "phone_number_match" => Condition::PhoneNumberMatch(place.digits()?),
        "phone_number_verified" => Condition::PhoneNumberVerified(place.truth()?),
        "email" => Condition::Email(
            place.each(|address| Email::parse(address).map(|email| email.identity().clone()))?,
        ),
        "email_id" => Condition::EmailId(place.each(parsed)?),
        "email_match" => Condition::EmailMatch(place.needle()?),
        "email_verified" => Condition::EmailVerified(place.truth()?),
        "wallet_public_address" => Condition::WalletPublicAddress(place.each(any_text)?),
        "wallet_id" => Condition::WalletId(place.each(parsed)?),
        "totp_id" => Condition::TotpId(place.each(parsed)?),
        "totp_verified" => Condition::TotpVerified(place.truth()?),
        "idp_provider" => Condition::IdpProvider(place.each(any_text)?),
        "created_at" => Condition::CreatedAt(place.period()?),
        other => match other.strip_prefix("metadata.") {
            Some(key) if !key.is_empty() => {
                Condition::Metadata(place.each(|text| Ok(MetadataDigest::new(key, text)))?)
            }
            _ => {
                let message = format!("{} is not a field that users are searched by", shown(other));
                return Err(Invalid::unknown(place.at("field"), message));
            }
        },
    })
}

fn parsed<T: FromStr<Err = Invalid>>(text: &str) -> Result<T, Invalid> {
    text.parse()
}

fn any_text(text: &str) -> Result<String, Invalid> {
    Ok(text.to_owned())
}

impl Place<'_> {
    fn at(&self, part: &str) -> String {
        format!("filters.fields[{}].{part}", self.index)
    }

    /// The operator, if it is one of those that the field knows.
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
                    "{} is not an operator of {}, which knows {}",
                    shown(&self.raw.operator),
                    shown(&self.raw.field),
                    names.join(", ")
                );
                Err(Invalid::unknown(self.at("operator"), message))
            }
        }
    }

    /// The value or values of `eq` and `in`, each read as what the field holds.
    fn each<T>(&self, read: impl Fn(&str) -> Result<T, Invalid>) -> Result<Vec<T>, Invalid> {
        match self.operator(&[Operator::Eq, Operator::In])? {
            Operator::In => {
                let values = self.raw.values.as_deref();
                let values = values.ok_or_else(|| Invalid::missing(self.at("values")))?;
                if values.is_empty() || values.len() > MAX_VALUES {
                    let message = format!("values must have 1 to {MAX_VALUES} entries");
                    return Err(Invalid::value(self.at("values"), message));
                }
                let numbered = values.iter().enumerate();
                numbered
                    .map(|(number, value)| {
                        self.one(&format!("values[{number}]"), Some(value), &read)
                    })
                    .collect()
            }
            Operator::Eq | Operator::Lt | Operator::Gt | Operator::Between => {
                Ok(vec![self.one("value", self.raw.value.as_ref(), &read)?])
            }
        }
    }

    /// One value, read as what the field holds; a refusal names where it stood.
    fn one<T>(
        &self,
        part: &str,
        value: Option<&Value>,
        read: impl Fn(&str) -> Result<T, Invalid>,
    ) -> Result<T, Invalid> {
        let value = value.ok_or_else(|| Invalid::missing(self.at(part)))?;
        let text = scalar(value).ok_or_else(|| {
            Invalid::value(
                self.at(part),
                "a value must be a text, a number, true or false",
            )
        })?;
        if text.contains('\0') {
            let message = "a value must not contain the NUL character";
            return Err(Invalid::value(self.at(part), message));
        }
        read(&text).map_err(|refused| Invalid {
            param: self.at(part).into(),
            ..refused
        })
    }

    /// The only value of a field that knows `eq` alone.
    fn only<T>(&self, read: impl Fn(&str) -> Result<T, Invalid>) -> Result<T, Invalid> {
        self.operator(&[Operator::Eq])?;
        self.one("value", self.raw.value.as_ref(), read)
    }

    fn truth(&self) -> Result<bool, Invalid> {
        self.only(|text| {
            text.parse()
                .map_err(|_neither| Invalid::value("value", "the value must be true or false"))
        })
    }

    fn needle(&self) -> Result<String, Invalid> {
        self.only(|text| within_length(text::fold(text)))
    }

    fn digits(&self) -> Result<String, Invalid> {
        self.only(|text| within_length(text.chars().filter(char::is_ascii_digit).collect()))
    }

    fn period(&self) -> Result<Period, Invalid> {
        use Operator::{Between, Eq, Gt, In, Lt};
        let operator = self.operator(&[Eq, Lt, Gt, Between])?;
        let value = self.one("value", self.raw.value.as_ref(), seconds)?;
        let (from, to) = match operator {
            Eq | In => (value, value),
            Lt => (i64::MIN, value.saturating_sub(1)),
            Gt => (value.saturating_add(1), i64::MAX),
            Between => {
                let second = self.raw.second_value.as_ref();
                (value, self.one("second_value", second, seconds)?)
            }
        };
        Ok(Period {
            from: Timestamp::from_unix(from),
            to: Timestamp::from_unix(to),
        })
    }
}

fn within_length(needle: String) -> Result<String, Invalid> {
    if needle.is_empty() || needle.chars().count() > MAX_NEEDLE {
        let message = format!("the value has 1 to {MAX_NEEDLE} characters that can be compared");
        return Err(Invalid::value("value", message));
    }
    Ok(needle)
}

fn seconds(text: &str) -> Result<i64, Invalid> {
    let refuse = |_unreadable| Invalid::value("value", "the value must be a time in Unix seconds");
    text.parse().map_err(refuse)
}
