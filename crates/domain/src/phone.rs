//! Phone numbers in E.164 form.

mod plan;

use std::fmt;

use phonenumber::Type;

use crate::Invalid;

/// Minimum and maximum number of national digits in a prefix.
const PREFIX_DIGITS: (usize, usize) = (4, 6);

/// The country and prefix of a number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NumberRange {
    /// ISO 3166-1 code of the country, such as `US`; for a number without a country its calling code, such as `+881`.
    pub country: String,
    /// `+`, the calling code, and the first digits of the national number: all but its last four, at least four and at most six. For
    /// `+14155552671` it is `+1415555`. In most countries ten thousand numbers share a prefix.
    pub prefix: String,
    /// Whether numbers of this type receive text messages at the ordinary price: fixed, mobile or voice over IP. Premium-rate, shared-cost,
    /// toll-free and personal numbers, pagers and the like do not (attack 7).
    pub takes_texts: bool,
}

/// Checks a country code for `sms_countries`: two capital letters of ISO 3166-1, of a country that has phone numbers.
///
/// # Errors
/// If it is anything else.
pub fn country(code: &str) -> Result<(), Invalid> {
    match code.parse::<phonenumber::country::Id>() {
        Ok(_known) => Ok(()),
        Err(_unknown) => Err(Invalid::value(
            "sms_countries",
            "sms_countries must be a list of ISO 3166-1 codes such as [\"US\", \"CA\"]",
        )),
    }
}

/// A valid phone number, as `+` and its digits (ITU-T E.164).
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct PhoneNumber(String);

impl PhoneNumber {
    /// Checks a number against the numbering plans of libphonenumber.
    ///
    /// # Errors
    /// If it has no leading `+`, or is not valid in its country's numbering plan.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let text = text.trim();
        let refuse = || {
            Invalid::value(
                "phone_number",
                "phone_number must be a valid number in E.164 form, such as +14155552671",
            )
        };
        // The library would also accept vanity letters, extensions and national forms; E.164 has none of them.
        let digits = text.strip_prefix('+').ok_or_else(refuse)?;
        if digits.is_empty()
            || digits.len() > 15
            || !digits.bytes().all(|byte| byte.is_ascii_digit())
        {
            return Err(refuse());
        }
        plan::find(digits).ok_or_else(refuse)?;
        Ok(Self(text.to_owned()))
    }

    /// A number from a database row. It was checked when written, so that later changes of numbering plans do not break reads. Only the
    /// form is checked.
    ///
    /// # Errors
    /// If it is not `+` and 1 to 15 digits.
    pub fn stored(text: String) -> Result<Self, Invalid> {
        let digits = text.strip_prefix('+').unwrap_or_default();
        let plausible =
            (1..=15).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
        if plausible {
            return Ok(Self(text));
        }
        Err(Invalid::value(
            "phone_number",
            "phone_number must be in E.164 form",
        ))
    }

    /// The number's range in the numbering plan, under which sends to it are counted.
    pub fn range(&self) -> NumberRange {
        let Some(planned) = plan::find(self.0.trim_start_matches('+')) else {
            // A stored number that is no longer in its plan. It is counted by its first digits and receives no texts.
            let start: String = self.0.chars().take(3).collect();
            return NumberRange {
                country: start.clone(),
                prefix: self.0.chars().take(8).collect(),
                takes_texts: false,
            };
        };
        let calling_code: String = self.0.chars().take(1 + planned.code_length).collect();
        let national = self.0.len().saturating_sub(calling_code.len());
        // A carrier's block or a fraudster's rented range varies in the last four digits, or more for long numbers.
        let digits = national
            .saturating_sub(4)
            .clamp(PREFIX_DIGITS.0, PREFIX_DIGITS.1);
        let region = planned.metadata.id();
        NumberRange {
            // `001` is the region of numbers without a country, such as satellite phones.
            country: if region == "001" {
                calling_code.clone()
            } else {
                region.to_owned()
            },
            prefix: self.0.chars().take(calling_code.len() + digits).collect(),
            takes_texts: matches!(
                planned.kind,
                Type::FixedLine | Type::Mobile | Type::FixedLineOrMobile | Type::Voip
            ),
        }
    }

    /// `+` and the digits; used both for display and comparison.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Only `[redacted]`: logs must not accumulate phone numbers.
impl fmt::Debug for PhoneNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

#[cfg(test)]
mod tests;
