//! Signed notes in the C2SP format (<https://c2sp.org/signed-note>), and the keys that verify them. They are compatible with Go's
//! `golang.org/x/mod/sumdb/note`.
//!
//! ```text
//! <text, of which every line ends with a line feed>
//!
//! — <name of the key> <base64 of 4 bytes of key id and the signature>
//! ```
//!
//! The signature covers the text including its last line feed, but not the empty line that follows.

use std::fmt;
use std::str::FromStr;

use data_encoding::{BASE64, HEXLOWER};
use sha2::{Digest, Sha256};

use crate::Invalid;

/// The start of a signature line: an em dash and a space.
const MARK: &str = "\u{2014} ";
/// The algorithm number of Ed25519 in key ids and encoded keys.
const ED25519: u8 = 0x01;

/// A text and its signatures, which are not verified here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedNote {
    /// The signed text; ends with a line feed.
    pub text: String,
    /// One or more signatures.
    pub signatures: Vec<NoteSignature>,
}

/// A signature under a note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoteSignature {
    /// The name of the key.
    pub name: String,
    /// [`VerifierKey::key_id`]. Together with the name it selects the key; it proves nothing.
    pub key_id: [u8; 4],
    /// The signature itself; 64 bytes for Ed25519.
    pub signature: Vec<u8>,
}

impl SignedNote {
    /// Maximum size of a note in bytes, including signatures. Enough for more than a hundred thousand checkpoint lines.
    pub const LARGEST: usize = 16 * 1024 * 1024;
    /// Maximum number of signatures. Every implementation must accept that many.
    pub const MAX_SIGNATURES: usize = 16;

    /// Encodes the note. The result can always be parsed.
    ///
    /// # Errors
    /// If such a note could not be parsed; names `note`.
    pub fn written(&self) -> Result<String, Invalid> {
        self.check()?;
        let mut note = format!("{}\n", self.text);
        for signature in &self.signatures {
            let blob = [signature.key_id.as_slice(), &signature.signature].concat();
            let line = format!("{MARK}{} {}\n", signature.name, BASE64.encode(&blob));
            note.push_str(&line);
        }
        check_size(&note)?;
        Ok(note)
    }

    /// Parses a note, in exactly the form in which one is written.
    ///
    /// # Errors
    /// If it has any other form or is too large; names `note`.
    pub fn parse(note: &str) -> Result<Self, Invalid> {
        check_size(note)?;
        // The text can itself contain empty lines, so the last one counts. The first of its two line feeds belongs to the text.
        let parts = note
            .rfind("\n\n")
            .and_then(|end| note.split_at_checked(end.checked_add(1)?));
        let lines = parts.and_then(|(text, rest)| {
            let lines = rest.strip_prefix('\n')?.strip_suffix('\n')?;
            Some((text, lines))
        });
        let Some((text, lines)) = lines else {
            return Err(invalid(
                "note must consist of a text, an empty line and signature lines",
            ));
        };
        let mut signatures = Vec::new();
        // One more than the maximum is enough to reject the note.
        for line in lines.split('\n').take(Self::MAX_SIGNATURES + 1) {
            let signature = NoteSignature::parse(line).ok_or_else(|| {
                invalid("a signature line must consist of an em dash, a key name and base64")
            })?;
            signatures.push(signature);
        }
        let read = Self {
            text: text.to_owned(),
            signatures,
        };
        read.check()?;
        Ok(read)
    }

    fn check(&self) -> Result<(), Invalid> {
        if !self.text.ends_with('\n') {
            return Err(invalid("the text of a note must end with a line feed"));
        }
        let is_strange = |character: char| character.is_control() && character != '\n';
        if self.text.contains(is_strange) {
            return Err(invalid(
                "the text of a note must not contain control characters",
            ));
        }
        if !(1..=Self::MAX_SIGNATURES).contains(&self.signatures.len()) {
            return Err(invalid("a note must have 1 to 16 signatures"));
        }
        let is_whole =
            |signature: &NoteSignature| is_name(&signature.name) && !signature.signature.is_empty();
        if !self.signatures.iter().all(is_whole) {
            return Err(invalid(
                "a signature must have a key name and must not be empty",
            ));
        }
        Ok(())
    }
}

impl NoteSignature {
    fn parse(line: &str) -> Option<Self> {
        let (name, base64) = line.strip_prefix(MARK)?.split_once(' ')?;
        let blob = decoded(base64)?;
        let (key_id, signature) = blob.split_first_chunk()?;
        Some(Self {
            name: name.to_owned(),
            key_id: *key_id,
            signature: signature.to_vec(),
        })
    }
}

/// Decodes base64 in its only form. The decoder alone accepts several padded values one after the other.
fn decoded(base64: &str) -> Option<Vec<u8>> {
    let bytes = BASE64.decode(base64.as_bytes()).ok()?;
    (BASE64.encode(&bytes) == base64).then_some(bytes)
}

/// An Ed25519 key that verifies notes.
///
/// Its text form (a *vkey*) is `name+hex of the key id+base64 of 0x01 and the key`, as Go's `note.NewVerifier` accepts it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifierKey {
    /// The name of the key; for our own keys, that of the deployment.
    pub name: String,
    /// The key as encoded by RFC 8032. Not every 32-byte value is a valid key.
    pub key: [u8; 32],
}

impl VerifierKey {
    /// Creates a key with this name.
    ///
    /// # Errors
    /// If the name is empty or contains a space, a plus sign or a control character; names `key`.
    pub fn new(name: impl Into<String>, key: [u8; 32]) -> Result<Self, Invalid> {
        let name = name.into();
        if !is_name(&name) {
            let message =
                "a key name must not be empty or contain spaces, plus signs or control characters";
            return Err(Invalid::value("key", message));
        }
        Ok(Self { name, key })
    }

    /// The key id in signature lines: the first 4 bytes of SHA-256 over name, line feed, 0x01 and key.
    pub fn key_id(&self) -> [u8; 4] {
        let mut hash = Sha256::new();
        hash.update(&self.name);
        hash.update(b"\n");
        hash.update([ED25519]);
        hash.update(self.key);
        let hash: [u8; 32] = hash.finalize().into();
        let [first, second, third, fourth, ..] = hash;
        [first, second, third, fourth]
    }
}

impl fmt::Display for VerifierKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = HEXLOWER.encode(&self.key_id());
        let key = BASE64.encode(&[[ED25519].as_slice(), &self.key].concat());
        write!(f, "{}+{id}+{key}", self.name)
    }
}

impl FromStr for VerifierKey {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        // Base64 can contain plus signs; the other two parts cannot.
        let mut parts = text.splitn(3, '+');
        let read = parts.next().zip(parts.next()).zip(parts.next());
        let key = read.and_then(|((name, id), base64)| {
            let typed = decoded(base64)?;
            let key: [u8; 32] = typed.strip_prefix(&[ED25519])?.try_into().ok()?;
            let key = Self::new(name, key).ok()?;
            (HEXLOWER.encode(&key.key_id()) == id).then_some(key)
        });
        key.ok_or_else(|| {
            let message = "key must be an Ed25519 verifier key of the form name+hash+base64, as `vestry audit key` prints it";
            Invalid::value("key", message)
        })
    }
}

fn is_name(name: &str) -> bool {
    let is_refused =
        |character: char| character.is_whitespace() || character.is_control() || character == '+';
    !name.is_empty() && !name.contains(is_refused)
}

fn check_size(note: &str) -> Result<(), Invalid> {
    let fits = note.len() <= SignedNote::LARGEST;
    fits.then_some(())
        .ok_or_else(|| invalid("a note must not be larger than 16 MiB"))
}

fn invalid(message: &'static str) -> Invalid {
    Invalid::value("note", message)
}

#[cfg(test)]
mod tests;
