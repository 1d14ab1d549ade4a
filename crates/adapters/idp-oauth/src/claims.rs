//! The claims of an id token, and their validation (OpenID Connect Core 3.1.3.7).

use std::collections::BTreeSet;

use serde_json::{Map, Number, Value};
use vestry_domain::Timestamp;
use vestry_domain::timestamp::Seconds;

use crate::issuer::Issuer;

/// Maximum difference between the provider's clock and ours.
const SKEW: Seconds = Seconds(60);
/// A token issued earlier than this cannot belong to the code that was just exchanged.
const OLDEST: Seconds = Seconds(600);
/// Maximum length of a subject in bytes (OpenID Connect Core 2).
const MAX_SUBJECT: usize = 255;
/// Claims about the token, not about the person.
const ABOUT_THE_TOKEN: [&str; 12] = [
    "at_hash",
    "aud",
    "auth_time",
    "azp",
    "c_hash",
    "exp",
    "iat",
    "iss",
    "jti",
    "nbf",
    "nonce",
    "s_hash",
];
/// Maximum number and length of claim names that are shown.
const SHOWN: (usize, usize) = (50, 64);

/// The expected values of a token's claims.
pub(crate) struct Expected<'a> {
    pub(crate) issuer: Issuer<'a>,
    pub(crate) client_id: &'a str,
    pub(crate) nonce: &'a str,
    /// `iss` of the callback, if it had one.
    pub(crate) issuer_of_callback: Option<&'a str>,
    /// The issuer that the key is restricted to, if any.
    pub(crate) issuer_of_key: Option<&'a str>,
    pub(crate) now: Timestamp,
}

/// Claims of a token with a valid signature.
pub(crate) struct Claims(pub(crate) Map<String, Value>);

impl Claims {
    /// Returns a text claim.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.as_str()
    }

    /// Returns a claim of any type; `null` if it is missing.
    pub(crate) fn value(&self, name: &str) -> Value {
        self.0.get(name).cloned().unwrap_or_default()
    }

    /// Checks everything but the signature, in no particular order.
    ///
    /// # Errors
    /// The name of the check that failed.
    pub(crate) fn check(&self, expected: &Expected<'_>) -> Result<(), &'static str> {
        self.check_issuer(expected)?;
        self.check_audience(expected.client_id)?;
        self.check_times(expected.now)?;
        if self.text("nonce") != Some(expected.nonce) {
            return Err("nonce");
        }
        self.subject().map(drop)
    }

    /// Returns the user's id at the issuer.
    ///
    /// # Errors
    /// It is missing or malformed.
    pub(crate) fn subject(&self) -> Result<&str, &'static str> {
        let subject = self.text("sub").ok_or("sub")?;
        let is_one =
            (1..=MAX_SUBJECT).contains(&subject.len()) && !subject.chars().any(char::is_control);
        is_one.then_some(subject).ok_or("sub")
    }

    /// Checks that the issuer, the callback's issuer and the key's issuer are the same.
    fn check_issuer(&self, expected: &Expected<'_>) -> Result<(), &'static str> {
        let tenant = self.text("tid");
        let iss = self.text("iss").ok_or("iss")?;
        let key_is_of = |issuer: &str| Issuer(issuer).is(iss, tenant);
        if !expected.issuer.is(iss, tenant) {
            return Err("iss");
        }
        if expected
            .issuer_of_callback
            .is_some_and(|named| named != iss)
        {
            return Err("iss of the callback");
        }
        if !expected.issuer_of_key.is_none_or(key_is_of) {
            return Err("issuer of the key");
        }
        Ok(())
    }

    /// Checks that the token is for this client and, if it is for others too, that it was issued to this one.
    fn check_audience(&self, client_id: &str) -> Result<(), &'static str> {
        let audiences = match self.0.get("aud") {
            Some(Value::String(audience)) => vec![audience.as_str()],
            Some(Value::Array(audiences)) => {
                let texts: Option<Vec<_>> = audiences.iter().map(Value::as_str).collect();
                texts.ok_or("aud")?
            }
            Some(_) | None => return Err("aud"),
        };
        if !audiences.contains(&client_id) {
            return Err("aud");
        }
        match self.0.get("azp") {
            Some(party) if party != client_id => Err("azp"),
            None if audiences.len() > 1 => Err("azp"),
            Some(_) | None => Ok(()),
        }
    }

    /// Checks that the token was issued recently, has not expired, and is not from the future.
    fn check_times(&self, now: Timestamp) -> Result<(), &'static str> {
        let expires = self.moment("exp")?.ok_or("exp")?;
        if now >= expires + SKEW {
            return Err("exp");
        }
        let issued = self.moment("iat")?.ok_or("iat")?;
        if issued > now + SKEW || issued < now - OLDEST - SKEW {
            return Err("iat");
        }
        match self.moment("nbf")? {
            Some(begins) if begins > now + SKEW => Err("nbf"),
            Some(_) | None => Ok(()),
        }
    }

    /// Parses a NumericDate: seconds in any JSON notation, with a fraction or an exponent (RFC 7519 2). A value of another type is an
    /// error, not an absent claim (CVE-2026-25537).
    fn moment(&self, name: &'static str) -> Result<Option<Timestamp>, &'static str> {
        match self.0.get(name) {
            None => Ok(None),
            Some(Value::Number(number)) => Ok(Some(Timestamp::from_unix(whole_seconds(number)))),
            Some(_) => Err(name),
        }
    }
}

/// Returns the names of claims about the person, sorted. There can be any number of them, of any length.
pub(crate) fn names_in<'a>(sets: impl IntoIterator<Item = &'a Claims>) -> Vec<String> {
    let (count, length) = SHOWN;
    let names = sets.into_iter().flat_map(|claims| claims.0.keys());
    let names = names.map(String::as_str);
    let names = names.filter(|name| !ABOUT_THE_TOKEN.contains(name) && name.len() <= length);
    let names: BTreeSet<_> = names.collect();
    names.into_iter().take(count).map(str::to_owned).collect()
}

/// Returns the seconds of a number without their fraction. Numbers beyond 64 bits are clamped.
fn whole_seconds(number: &Number) -> i64 {
    if let Some(seconds) = number.as_i64() {
        return seconds;
    }
    let seconds = number.as_f64().unwrap_or_default().floor();
    let nearest = if seconds < 0.0 { i64::MIN } else { i64::MAX };
    format!("{seconds:.0}").parse().unwrap_or(nearest)
}

#[cfg(test)]
mod tests;
