//! E-mail addresses: the form that is stored and mailed to, and the form that is compared.

use std::fmt;

use crate::Invalid;
use crate::text::fold;

/// Most octets of an address (RFC 5321, section 4.5.3.1.3, less the angle brackets).
const MAX_OCTETS: usize = 254;
/// Most octets of the part before the `@` (RFC 5321, section 4.5.3.1.1).
const MAX_LOCAL_OCTETS: usize = 64;

/// An address as its owner wrote it, with the identity under which it is unique.
///
/// Mail always goes to [`Email::address`], never to the compared form: two spellings that fold together
/// may still be two mailboxes, and mailing the folded one is how accounts were stolen elsewhere (attack 5).
#[derive(Clone, PartialEq, Eq)]
pub struct Email {
    address: String,
    identity: EmailIdentity,
}

/// The compared form of an address: Unicode NFKC, case-folded, the domain in ASCII (UTS 46).
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EmailIdentity(String);

impl Email {
    /// Checks an address. White space around it is cut off; the rest is kept as sent.
    ///
    /// # Errors
    /// Empty, no `@` or several, over 254 octets (64 before the `@`), quoted or with characters that no
    /// mailbox name has, or a domain that is not a name of at least two labels.
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
        // The compared form must split at the same sign: a full-width ＠ would otherwise move it.
        let folded = fold(address);
        let Some((folded_local, folded_domain)) = folded.split_once('@') else {
            return refuse("must be an address such as name@example.com");
        };
        if domain.contains('@') || folded_domain.contains('@') {
            return refuse("must contain exactly one @");
        }
        if local.len() > MAX_LOCAL_OCTETS || folded_local.len() > MAX_LOCAL_OCTETS {
            return refuse("has more than 64 octets before the @");
        }
        if !is_dot_atom(local) || !is_dot_atom(folded_local) {
            return refuse("has characters before the @ that no mailbox name can have");
        }
        let Ok(ascii) = idna::domain_to_ascii_strict(folded_domain) else {
            return refuse("has a domain that is not a valid domain name");
        };
        if !ascii.contains('.') || ascii.ends_with('.') {
            return refuse("has a domain that is not a valid domain name");
        }
        Ok(Self {
            address: address.to_owned(),
            identity: EmailIdentity(format!("{folded_local}@{ascii}")),
        })
    }

    /// The address as sent; where mail goes.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The whole address folded, its domain too: what parts of an address are searched in.
    pub fn folded(&self) -> String {
        fold(&self.address)
    }

    /// The compared form; what is unique.
    pub const fn identity(&self) -> &EmailIdentity {
        &self.identity
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

/// Characters that draw nothing or turn the direction of the text: two addresses that look the same must not differ by them.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{ffff}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests;
