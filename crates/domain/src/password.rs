//! Passwords: what was presented, what is kept, and which ones are accepted.
//!
//! Everything that reads a password's characters is here and in the adapters of the ports; nothing of it prints.

mod rules;

use std::fmt;

use unicode_normalization::UnicodeNormalization;

use crate::envelope::Sealed;
use crate::ids::UserId;
use crate::{Invalid, Secret, Timestamp, World};

pub use rules::Rules;

/// Most bytes of a password, UTF-8 as it was sent. Beyond it is refused; nothing is ever cut off (P-1, attack 21).
pub const MOST_BYTES: usize = 1024;

/// How the text of a password became the bytes that were hashed; kept with every hash (P-3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Normalization {
    /// Unicode Normalization Form C, the form of RFC 8265 (OpaqueString): two keyboards that write the same letter in two
    /// ways write the same password. Unlike NFKC it joins nothing that a person tells apart.
    Nfc,
    /// The UTF-8 of the text as it was sent. Hashes of other services are taken to be of this kind.
    Raw,
}

impl Normalization {
    /// `nfc` or `raw`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Nfc => "nfc",
            Self::Raw => "raw",
        }
    }
}

impl std::str::FromStr for Normalization {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        match text {
            "nfc" => Ok(Self::Nfc),
            "raw" => Ok(Self::Raw),
            _ => Err(Invalid::value(
                "password_normalization",
                "password_normalization must be nfc or raw",
            )),
        }
    }
}

/// A password that somebody presented: to be compared, or to be set.
#[derive(Debug, Clone)]
pub struct Password {
    sent: Secret<String>,
    normalized: Secret<String>,
}

impl Password {
    /// Takes a password as it was sent; the empty one too, which is then as wrong as any other (P-10).
    ///
    /// # Errors
    /// More than [`MOST_BYTES`] bytes.
    pub fn presented(param: &'static str, text: Secret<String>) -> Result<Self, Invalid> {
        if text.expose().len() > MOST_BYTES {
            return Err(Invalid::value(
                param,
                format!("{param} must have at most {MOST_BYTES} bytes"),
            ));
        }
        let normalized = Secret::new(text.expose().nfc().collect());
        Ok(Self {
            sent: text,
            normalized,
        })
    }

    /// The text in one of its forms.
    pub const fn in_form(&self, form: Normalization) -> &Secret<String> {
        match form {
            Normalization::Nfc => &self.normalized,
            Normalization::Raw => &self.sent,
        }
    }

    /// Whether it has no characters at all.
    pub fn is_empty(&self) -> bool {
        self.sent.expose().is_empty()
    }

    /// Its length as people count: code points of the normalized text (P-3).
    pub fn length(&self) -> usize {
        self.normalized.expose().chars().count()
    }
}

/// The hash of a password: a text in the manner of PHC strings (`$argon2id$v=19$m=…,t=…,p=…$salt$hash`), and the form of the
/// text that was hashed. Secret, because a hash can be guessed against.
#[derive(Clone)]
pub struct PasswordHash {
    /// What was hashed.
    pub normalization: Normalization,
    /// Scheme, parameters, salt and hash. Which ones there are is the hasher's to say.
    pub text: Secret<String>,
}

impl fmt::Debug for PasswordHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PasswordHash([redacted])")
    }
}

impl PasswordHash {
    /// A hash of no password, as long as the usual ones: for doing with nobody's password what is done with somebody's.
    pub fn of_nobody() -> Self {
        Self {
            normalization: Normalization::Nfc,
            text: Secret::new("-".repeat(97)),
        }
    }

    /// The bytes that are sealed: form, a colon, text.
    pub fn to_sealable(&self) -> Secret<Vec<u8>> {
        let form = self.normalization.as_str();
        let mut bytes = Vec::with_capacity(form.len() + 1 + self.text.expose().len());
        bytes.extend_from_slice(form.as_bytes());
        bytes.push(b':');
        bytes.extend_from_slice(self.text.expose().as_bytes());
        Secret::new(bytes)
    }

    /// The reverse of [`PasswordHash::to_sealable`]; `None` for anything that it does not make.
    pub fn from_sealable(bytes: &Secret<Vec<u8>>) -> Option<Self> {
        let text = std::str::from_utf8(bytes.expose()).ok()?;
        let (form, text) = text.split_once(':')?;
        Some(Self {
            normalization: form.parse().ok()?,
            text: Secret::new(text.to_owned()),
        })
    }
}

/// The password of a user as it is stored: the hash, sealed under the App key, which is the pepper (P-5). A database alone
/// gives nothing to guess against, and a new App key is put over old hashes without knowing a password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredPassword {
    /// App and environment.
    pub world: World,
    /// Whose it is.
    pub user_id: UserId,
    /// The sealed [`PasswordHash`], bound to the user.
    pub sealed: Sealed,
    /// When a password was first set.
    pub created_at: Timestamp,
    /// When the hash was last written.
    pub updated_at: Timestamp,
}

/// What guards one user's password against guessing: the subject of its failures in a row.
pub fn guarded_user(user: UserId) -> String {
    format!("password:{user}")
}

#[cfg(test)]
mod tests;
