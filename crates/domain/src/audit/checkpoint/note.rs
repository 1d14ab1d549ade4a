//! Signed notes of C2SP (<https://c2sp.org/signed-note>), and the keys that they are verified with. Go's
//! `golang.org/x/mod/sumdb/note` reads and writes the same.
//!
//! ```text
//! <text, of which every line ends with a line feed>
//!
//! — <name of the key> <base64 of 4 bytes of key id and the signature>
//! ```
//!
//! The signature is over the text with its last line feed, and without the empty line behind it.

use std::fmt;
use std::str::FromStr;

use data_encoding::{BASE64, HEXLOWER};
use sha2::{Digest, Sha256};

use crate::Invalid;

/// What a line of a signature begins with: an em dash and a space.
const MARK: &str = "\u{2014} ";
/// The type of Ed25519 in ids and texts of keys.
const ED25519: u8 = 0x01;

/// A text and who signed it. Whether they did is not known here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedNote {
    /// What is signed; ends with a line feed.
    pub text: String,
    /// One or more.
    pub signatures: Vec<NoteSignature>,
}

/// A signature under a note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoteSignature {
    /// The name of the key.
    pub name: String,
    /// [`VerifierKey::key_id`]. Together with the name it says which key; it proves nothing.
    pub key_id: [u8; 4],
    /// The signature itself; of Ed25519 64 bytes.
    pub signature: Vec<u8>,
}

impl SignedNote {
    /// Bytes of a note at most, signatures included: more than a hundred thousand lines of a checkpoint.
    pub const LARGEST: usize = 16 * 1024 * 1024;
    /// Signatures under it at most. Everybody has to accept so many.
    pub const MOST_SIGNATURES: usize = 16;

    /// Writes the note. What is written can be read.
    ///
    /// # Errors
    /// Such a note would not be read; names `note`.
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

    /// Reads a note in the very form in which one is written.
    ///
    /// # Errors
    /// It is something else, or larger than a note may be; names `note`.
    pub fn parse(note: &str) -> Result<Self, Invalid> {
        check_size(note)?;
        // The text may have empty lines of its own, so the last one counts. The first of the two line feeds is the text's.
        let parts = note
            .rfind("\n\n")
            .and_then(|end| note.split_at_checked(end.checked_add(1)?));
        let lines = parts.and_then(|(text, rest)| {
            let lines = rest.strip_prefix('\n')?.strip_suffix('\n')?;
            Some((text, lines))
        });
        let Some((text, lines)) = lines else {
            return Err(invalid(
                "note must be a text, an empty line, and lines of signatures",
            ));
        };
        let mut signatures = Vec::new();
        // One more than there may be is enough to be refused.
        for line in lines.split('\n').take(Self::MOST_SIGNATURES + 1) {
            let signature = NoteSignature::parse(line).ok_or_else(|| {
                invalid("a line of a signature must be an em dash, the name of a key, and base64")
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
                "the text of a note must not have control characters",
            ));
        }
        if !(1..=Self::MOST_SIGNATURES).contains(&self.signatures.len()) {
            return Err(invalid("a note must have 1 to 16 signatures"));
        }
        let is_whole =
            |signature: &NoteSignature| is_name(&signature.name) && !signature.signature.is_empty();
        if !self.signatures.iter().all(is_whole) {
            return Err(invalid("a signature must have the name of a key and bytes"));
        }
        Ok(())
    }
}

impl NoteSignature {
    fn parse(line: &str) -> Option<Self> {
        let (name, base64) = line.strip_prefix(MARK)?.split_once(' ')?;
        let blob = BASE64.decode(base64.as_bytes()).ok()?;
        let (key_id, signature) = blob.split_first_chunk()?;
        Some(Self {
            name: name.to_owned(),
            key_id: *key_id,
            signature: signature.to_vec(),
        })
    }
}

/// An Ed25519 key that notes are verified with. Its text (a *vkey*) is `name+hex of the key id+base64 of 0x01 and the key`, as Go's
/// `note.NewVerifier` takes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifierKey {
    /// The name of the key; that of a deployment, where it is ours.
    pub name: String,
    /// The key as RFC 8032 writes it. Not every 32 bytes are one.
    pub key: [u8; 32],
}

impl VerifierKey {
    /// The key of this name.
    ///
    /// # Errors
    /// The name is empty or has a space, a plus sign or a control character; names `key`.
    pub fn new(name: impl Into<String>, key: [u8; 32]) -> Result<Self, Invalid> {
        let name = name.into();
        if !is_name(&name) {
            let message = "the name of a key must have no spaces, plus signs or control characters";
            return Err(Invalid::value("key", message));
        }
        Ok(Self { name, key })
    }

    /// By what signatures under a note name the key: the first 4 bytes of SHA-256 over name, line feed, 0x01 and key.
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
        // Base64 has plus signs too, the other two parts have none.
        let mut parts = text.splitn(3, '+');
        let read = parts.next().zip(parts.next()).zip(parts.next());
        let key = read.and_then(|((name, id), base64)| {
            let typed = BASE64.decode(base64.as_bytes()).ok()?;
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
