//! The text of a root key file.
//!
//! ```json
//! {
//!   "format": 1,
//!   "primary": 2,
//!   "roots": [
//!     {"version": 1, "key": "<32 bytes, base64>", "check": "<8 bytes, base64>"},
//!     {"version": 2, "key": "…", "check": "…"}
//!   ]
//! }
//! ```
//!
//! `check` detects a damaged key before anything is encrypted with it: it is the first eight bytes of HMAC-SHA-256 over a fixed text.

use aws_lc_rs::{constant_time, hmac};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use vestry_domain::Secret;
use zeroize::Zeroizing;

const FORMAT: u32 = 1;
const CHECK_LENGTH: usize = 8;
const CHECKED_TEXT: &[u8] = b"vestry root key check v1";

/// An error in the text of root keys. It gives the position, never the text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DocumentError {
    /// Not a valid JSON document of this format.
    #[error("not a root key document (line {line}, column {column})")]
    Syntax {
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
    },
    /// Written by a newer release.
    #[error("root key format {0} is not supported by this release")]
    Format(u32),
    /// A key is not 32 bytes of standard base64.
    #[error("root key version {0} is not 32 bytes in base64")]
    Key(u32),
    /// A key that does not match its check value.
    #[error("root key version {0} is damaged: check value mismatch")]
    Damaged(u32),
    /// Versions must be 1 or more and strictly ascending, and one of them must be the primary one.
    #[error("root key versions must be ascending and include the primary one")]
    Versions,
    /// There is no further version number.
    #[error("no further root key version is available")]
    Exhausted,
}

/// A root key with its version.
pub(crate) struct RootKey {
    pub(crate) version: u32,
    pub(crate) key: Secret<[u8; 32]>,
}

/// All root keys, ascending, and which of them wraps.
pub(crate) struct Document {
    pub(crate) primary: u32,
    pub(crate) roots: Vec<RootKey>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Text<'a> {
    format: u32,
    primary: u32,
    #[serde(borrow)]
    roots: Vec<Entry<'a>>,
}

/// Borrows from the text, which is wiped; owned strings would stay in memory.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry<'a> {
    version: u32,
    key: &'a str,
    check: &'a str,
}

impl Document {
    pub(crate) fn parse(text: &[u8]) -> Result<Self, DocumentError> {
        // The library's message may quote the text, so only the position is used.
        let text: Text<'_> =
            serde_json::from_slice(text).map_err(|error| DocumentError::Syntax {
                line: error.line(),
                column: error.column(),
            })?;
        if text.format != FORMAT {
            return Err(DocumentError::Format(text.format));
        }
        let roots = text
            .roots
            .iter()
            .map(Entry::checked)
            .collect::<Result<_, _>>()?;
        let document = Self {
            primary: text.primary,
            roots,
        };
        document.in_order()?;
        Ok(document)
    }

    /// Builds a document from a single key in base64, as version 1.
    pub(crate) fn single(key: &str) -> Result<Self, DocumentError> {
        let key = decode_key(key).ok_or(DocumentError::Key(1))?;
        Ok(Self {
            primary: 1,
            roots: vec![RootKey { version: 1, key }],
        })
    }

    /// Adds a key with the next version and makes it the primary one.
    pub(crate) fn add(&mut self, key: Secret<[u8; 32]>) -> Result<(), DocumentError> {
        let last = self.roots.last().map_or(0, |root| root.version);
        let version = last.checked_add(1).ok_or(DocumentError::Exhausted)?;
        self.roots.push(RootKey { version, key });
        self.primary = version;
        Ok(())
    }

    /// Returns the text, in a buffer that is wiped.
    pub(crate) fn text(&self) -> Result<Zeroizing<Vec<u8>>, DocumentError> {
        // Bytes per entry, including separators, rounded up: a buffer that grows leaves its old contents in freed memory.
        const ROOM: usize = 256;
        let encoded: Vec<(u32, Zeroizing<String>, String)> = self
            .roots
            .iter()
            .map(|root| {
                let key = Zeroizing::new(STANDARD.encode(root.key.expose()));
                (root.version, key, STANDARD.encode(check_value(&root.key)))
            })
            .collect();
        let text = Text {
            format: FORMAT,
            primary: self.primary,
            roots: encoded
                .iter()
                .map(|(version, key, check)| Entry {
                    version: *version,
                    key,
                    check,
                })
                .collect(),
        };
        let mut bytes = Zeroizing::new(Vec::with_capacity(ROOM * (self.roots.len() + 1)));
        serde_json::to_writer_pretty(&mut *bytes, &text).map_err(|error| {
            DocumentError::Syntax {
                line: error.line(),
                column: error.column(),
            }
        })?;
        bytes.push(b'\n');
        Ok(bytes)
    }

    fn in_order(&self) -> Result<(), DocumentError> {
        let versions = || self.roots.iter().map(|root| root.version);
        let ascending = versions()
            .zip(versions().skip(1))
            .all(|(one, next)| one < next);
        if ascending
            && !versions().any(|version| version == 0)
            && versions().any(|version| version == self.primary)
        {
            return Ok(());
        }
        Err(DocumentError::Versions)
    }
}

impl Entry<'_> {
    fn checked(&self) -> Result<RootKey, DocumentError> {
        let key = decode_key(self.key).ok_or(DocumentError::Key(self.version))?;
        let given = STANDARD.decode(self.check).unwrap_or_default();
        constant_time::verify_slices_are_equal(&check_value(&key), &given)
            .map_err(|_differs| DocumentError::Damaged(self.version))?;
        Ok(RootKey {
            version: self.version,
            key,
        })
    }
}

fn decode_key(text: &str) -> Option<Secret<[u8; 32]>> {
    // One byte more than a key needs reveals keys that are too long. The decoder writes nothing beyond the buffer.
    let mut bytes = Zeroizing::new([0_u8; 33]);
    let length = STANDARD.decode_slice(text, bytes.as_mut_slice()).ok()?;
    let (key, _room) = bytes.split_first_chunk::<32>()?;
    (length == key.len()).then(|| Secret::new(*key))
}

fn check_value(key: &Secret<[u8; 32]>) -> [u8; CHECK_LENGTH] {
    let tag = hmac::sign(
        &hmac::Key::new(hmac::HMAC_SHA256, key.expose()),
        CHECKED_TEXT,
    );
    tag.as_ref()
        .first_chunk()
        .copied()
        .unwrap_or([0; CHECK_LENGTH])
}

#[cfg(test)]
mod tests;
