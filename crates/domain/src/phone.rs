//! Phone numbers in E.164 form.

use std::fmt;

use crate::Invalid;

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
        let number = phonenumber::parse(None, text).map_err(|_unreadable| refuse())?;
        if !phonenumber::is_valid(&number) {
            return Err(refuse());
        }
        let formatted = number.format().mode(phonenumber::Mode::E164).to_string();
        if formatted != text {
            return Err(refuse());
        }
        Ok(Self(formatted))
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
