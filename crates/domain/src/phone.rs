//! Phone numbers in E.164 form.

mod plan;

use std::fmt;

use phonenumber::Type;

use crate::Invalid;

/// Fewest and most digits of the national number that belong to a prefix.
const PREFIX_DIGITS: (usize, usize) = (4, 6);

/// Where a number belongs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NumberRange {
    /// ISO 3166-1 code of the country, such as `US`; of a number of no country its calling code, such as `+881`.
    pub country: String,
    /// `+`, the calling code, and the first digits of the national number: all but its last four, at least four and at
    /// most six. `+14155552671` is of `+1415555`. Ten thousand numbers share a prefix in most countries.
    pub prefix: String,
    /// Whether it is of a kind that people get text messages on at the ordinary price: fixed, mobile or voice over IP.
    /// Premium-rate, shared-cost, toll-free and personal numbers, pagers and the like are not (attack 7).
    pub takes_texts: bool,
}

/// Checks the code of a country, as `sms_countries` takes it: two capital letters of ISO 3166-1 that have numbers.
///
/// # Errors
/// Anything else.
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
    /// No leading `+`, or a number that its country's plan does not have.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let text = text.trim();
        let refuse = || {
            Invalid::value(
                "phone_number",
                "phone_number must be a valid number in E.164 form, such as +14155552671",
            )
        };
        // The library would also read vanity letters, extensions and national forms; E.164 has none of them.
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

    /// What a database row holds: checked when it was written, so that numbering plans that change later do not break
    /// reading. Only the form is checked.
    ///
    /// # Errors
    /// Not `+` and 1 to 15 digits.
    pub fn stored(text: String) -> Result<Self, Invalid> {
        let digits = text.strip_prefix('+').unwrap_or_default();
        let plausible =
            (1..=15).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
        if plausible {
            return Ok(Self(text));
        }
        Err(Invalid::value(
            "phone_number",
            "phone_number is not in E.164 form",
        ))
    }

    /// Where the number belongs in the numbering plan: what a send to it is counted under.
    pub fn range(&self) -> NumberRange {
        let Some(planned) = plan::find(self.0.trim_start_matches('+')) else {
            // A stored number that its plan has lost meanwhile; it is counted by its first digits and gets no text.
            let start: String = self.0.chars().take(3).collect();
            return NumberRange {
                country: start.clone(),
                prefix: self.0.chars().take(8).collect(),
                takes_texts: false,
            };
        };
        let calling_code: String = self.0.chars().take(1 + planned.code_length).collect();
        let national = self.0.len().saturating_sub(calling_code.len());
        // The last four digits vary within what a carrier gets or a fraudster rents; of long numbers more than that.
        let digits = national
            .saturating_sub(4)
            .clamp(PREFIX_DIGITS.0, PREFIX_DIGITS.1);
        let region = planned.metadata.id();
        NumberRange {
            // `001` stands for numbers of no country, such as satellite phones.
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

    /// `+` and the digits; both what is shown and what is compared.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Only `[redacted]`: a phone book must not grow in a log.
impl fmt::Debug for PhoneNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

#[cfg(test)]
mod tests;
