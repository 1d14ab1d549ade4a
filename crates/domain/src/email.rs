//! E-mail addresses: the form that is stored and used for mail, and the form that is compared.

use std::fmt;
use std::str::FromStr;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_public_assigned;

use crate::Invalid;
use crate::domain_name::{a_labels, u_labels};
use crate::text::lower;

/// Maximum length of an address in octets (RFC 5321, section 4.5.3.1.3, less the angle brackets).
const MAX_OCTETS: usize = 254;
/// Maximum length of the part before the `@` in octets (RFC 5321, section 4.5.3.1.1).
const MAX_LOCAL_OCTETS: usize = 64;

/// An address as its owner wrote it, with the identity under which it is unique.
///
/// Mail goes to [`Email::destination`], never to the compared form: two local parts that differ only in case can be two mailboxes.
#[derive(Clone, PartialEq, Eq)]
pub struct Email {
    address: String,
    identity: EmailIdentity,
}

/// The compared form of an address: the local part in NFC and lower case, the domain in A-labels.
///
/// It ignores only case, normalization form and kind of label. Characters that NFKC or case folding would replace with others are rejected
/// in the local part, and make a different name in the domain.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EmailIdentity(String);

impl Email {
    /// Checks an address. Surrounding white space is trimmed; the rest is kept as sent.
    ///
    /// # Errors
    /// If it is empty, has no `@` or several, or exceeds 254 octets (64 before the `@`). Also if it is quoted, contains characters that no
    /// mailbox name has, or contains look-alikes of other letters. Also if its domain is not a name of at least two labels.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        Self::parse_field("email", text)
    }

    /// Same as [`Email::parse`], for a field with another name.
    ///
    /// # Errors
    /// As for [`Email::parse`], naming the field.
    pub fn parse_field(param: &'static str, text: &str) -> Result<Self, Invalid> {
        let address = text.trim();
        let refuse = |why: &str| Err(Invalid::value(param, format!("{param} {why}")));
        if address.is_empty() {
            return refuse("must not be empty");
        }
        if address.len() > MAX_OCTETS {
            return refuse("must have at most 254 octets");
        }
        let Some((local, domain)) = address.split_once('@') else {
            return refuse("must be an address such as name@example.com");
        };
        if domain.contains('@') {
            return refuse("must contain exactly one @");
        }
        if !is_dot_atom(local) {
            return refuse("has characters before the @ that are not allowed in mailbox names");
        }
        if !is_in_plain_letters(local) {
            return refuse("has a look-alike character before the @; use the ordinary letter");
        }
        let compared = lower(local);
        if local.len() > MAX_LOCAL_OCTETS || compared.len() > MAX_LOCAL_OCTETS {
            return refuse("must have at most 64 octets before the @");
        }
        let ascii = a_labels(domain).filter(|name| name.contains('.'));
        let Some(ascii) = ascii else {
            return refuse("must have a valid domain name after the @");
        };
        if local.len() + 1 + ascii.len() > MAX_OCTETS
            || compared.len() + 1 + ascii.len() > MAX_OCTETS
        {
            return refuse("must have at most 254 octets with its domain in ASCII");
        }
        Ok(Self {
            address: address.to_owned(),
            identity: EmailIdentity(format!("{compared}@{ascii}")),
        })
    }

    /// The address as sent; this form is stored and returned.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The address that mail is sent to: the local part as sent, the domain in A-labels.
    pub fn destination(&self) -> String {
        let local = self.address.split_once('@').map_or("", |(local, _)| local);
        format!("{local}@{}", self.identity.domain())
    }

    /// Whether mail to both spellings reaches the same mailbox, even on a server with case-sensitive local parts. Missing spellings count
    /// as equal.
    pub fn is_same_mailbox(one: Option<&Self>, other: Option<&Self>) -> bool {
        one.map(Self::destination) == other.map(Self::destination)
    }

    /// The text that partial searches match against: the identity, followed by the same with U-labels if the domain has any.
    pub fn folded(&self) -> String {
        let identity = self.identity.as_str();
        let domain = self.identity.domain();
        let shown = u_labels(domain);
        if shown == domain {
            return identity.to_owned();
        }
        let local = identity.strip_suffix(domain).unwrap_or_default();
        // Addresses contain no spaces, so no search can match across both.
        format!("{identity} {local}{shown}")
    }

    /// The compared form, which is unique.
    pub const fn identity(&self) -> &EmailIdentity {
        &self.identity
    }
}

impl FromStr for Email {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        Self::parse(text)
    }
}

/// Only `[redacted]`: logs must not accumulate addresses.
impl fmt::Debug for Email {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

impl EmailIdentity {
    /// The compared form, as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The domain, in A-labels.
    fn domain(&self) -> &str {
        self.0.split_once('@').map_or("", |(_, domain)| domain)
    }
}

/// Only `[redacted]`, as for [`Email`].
impl fmt::Debug for EmailIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

/// RFC 5322 `dot-atom`, extended to letters beyond ASCII (RFC 6532). Quoted local parts are rejected: no provider assigns them, and they
/// enable header injection.
fn is_dot_atom(text: &str) -> bool {
    let allowed = |c: char| {
        c.is_ascii_alphanumeric()
            || "!#$%&'*+-/=?^_`{|}~".contains(c)
            || (!c.is_ascii() && !c.is_control() && !c.is_whitespace() && !is_invisible(c))
    };
    !text.is_empty()
        && text
            .split('.')
            .all(|atom| !atom.is_empty() && atom.chars().all(allowed))
}

/// Whether a local part contains no letter that stands for another one.
///
/// Rejects what NFKC changes beyond NFC (`ﬁ`, `ſ`, fullwidth letters), what NFC itself replaces with another single character (the Kelvin
/// and Ohm signs), and `İ`. The lower-case form of `İ` is `i` by one rule and `i` with a dot by another. Unassigned characters are rejected
/// too: a later Unicode version could map them to any of these. The identity of a stored address must never change.
fn is_in_plain_letters(local: &str) -> bool {
    let is_replaced = |c: char| {
        let mut composed = std::iter::once(c).nfc();
        composed.next() != Some(c) && composed.next().is_none()
    };
    local.is_ascii()
        || (local
            .chars()
            .all(|c| is_public_assigned(c) && !is_replaced(c))
            && local.nfkc().eq(local.nfc())
            && local.nfc().all(|c| c != '\u{130}'))
}

/// Characters that are invisible or change the text direction: addresses that look the same must not differ by them.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{ffff}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests;
