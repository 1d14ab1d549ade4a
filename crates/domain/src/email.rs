//! E-mail addresses: the form that is stored and mailed to, and the form that is compared.

use std::fmt;
use std::str::FromStr;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_public_assigned;

use crate::Invalid;
use crate::domain_name::{a_labels, u_labels};
use crate::text::lower;

/// Most octets of an address (RFC 5321, section 4.5.3.1.3, less the angle brackets).
const MAX_OCTETS: usize = 254;
/// Most octets of the part before the `@` (RFC 5321, section 4.5.3.1.1).
const MAX_LOCAL_OCTETS: usize = 64;

/// An address as its owner wrote it, with the identity under which it is unique.
///
/// Mail goes to [`Email::destination`], never to the compared form: two local parts that differ in case only can be two mailboxes.
#[derive(Clone, PartialEq, Eq)]
pub struct Email {
    address: String,
    identity: EmailIdentity,
}

/// The compared form of an address: the local part in NFC and small letters, the domain in A-labels.
///
/// Only case, normal form and the kind of label are ignored. Characters that NFKC or case folding would replace by others are
/// refused in the local part, and are different names in the domain.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EmailIdentity(String);

impl Email {
    /// Checks an address. White space around it is cut off; the rest is kept as sent.
    ///
    /// # Errors
    /// Empty, no `@` or several, over 254 octets (64 before the `@`), quoted or with characters that no
    /// mailbox name has, a look-alike of another letter, or a domain that is not a name of at least two labels.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        Self::parse_field("email", text)
    }

    /// The same for a field of another name.
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
            return refuse("is longer than 254 octets");
        }
        let Some((local, domain)) = address.split_once('@') else {
            return refuse("must be an address such as name@example.com");
        };
        if domain.contains('@') {
            return refuse("must contain exactly one @");
        }
        if !is_dot_atom(local) {
            return refuse("has characters before the @ that no mailbox name can have");
        }
        if !is_in_plain_letters(local) {
            return refuse(
                "has a character before the @ that stands for another one; write the usual letter",
            );
        }
        let compared = lower(local);
        if local.len() > MAX_LOCAL_OCTETS || compared.len() > MAX_LOCAL_OCTETS {
            return refuse("has more than 64 octets before the @");
        }
        let ascii = a_labels(domain).filter(|name| name.contains('.'));
        let Some(ascii) = ascii else {
            return refuse("has a domain that is not a valid domain name");
        };
        if local.len() + 1 + ascii.len() > MAX_OCTETS
            || compared.len() + 1 + ascii.len() > MAX_OCTETS
        {
            return refuse("is longer than 254 octets with its domain in ASCII");
        }
        Ok(Self {
            address: address.to_owned(),
            identity: EmailIdentity(format!("{compared}@{ascii}")),
        })
    }

    /// The address as sent; what is stored and returned.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Where mail goes: the local part as sent, the domain in A-labels.
    pub fn destination(&self) -> String {
        let local = self.address.split_once('@').map_or("", |(local, _)| local);
        format!("{local}@{}", self.identity.domain())
    }

    /// Whether mail to two spellings goes to one mailbox, also at a server that tells capital letters from small ones. Spellings that
    /// were not written down are alike.
    pub fn is_same_mailbox(one: Option<&Self>, other: Option<&Self>) -> bool {
        one.map(Self::destination) == other.map(Self::destination)
    }

    /// The text in which parts of an address are searched for: its identity, and the same with U-labels where the domain has any.
    pub fn folded(&self) -> String {
        let identity = self.identity.as_str();
        let domain = self.identity.domain();
        let shown = u_labels(domain);
        if shown == domain {
            return identity.to_owned();
        }
        let local = identity.strip_suffix(domain).unwrap_or_default();
        // No address has a blank, so nothing is found across the two.
        format!("{identity} {local}{shown}")
    }

    /// The compared form; what is unique.
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

/// Only `[redacted]`: an address book must not grow in a log.
impl fmt::Debug for Email {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

impl EmailIdentity {
    /// The compared form as text.
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

/// RFC 5322 `dot-atom`, widened to letters beyond ASCII (RFC 6532). Quoted local parts are refused: no
/// provider hands them out, and they are how header injections start.
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

/// Whether a local part has no letter that another one is written for.
///
/// Refused are what NFKC changes beyond NFC (`ﬁ`, `ſ`, fullwidth letters), what NFC itself replaces by another single character (the
/// Kelvin and Ohm signs), and `İ`, whose small letter is `i` by one rule and `i` with a dot by another. A character that is not assigned
/// could become any of these with a later version of Unicode, and the identity of a stored address must never change.
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

/// Characters that draw nothing or turn the direction of the text: two addresses that look the same must not differ by them.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{ffff}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests;
