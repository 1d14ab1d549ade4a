//! Checkpoints: signed statements of where all chains and event logs end. A copy kept outside the database can later prove that the
//! database was rolled back (AUD-3).
//!
//! The text of a checkpoint is the text of a [`SignedNote`]. Every line ends with a line feed, words are separated by one space, numbers
//! are decimal and hashes lower-case hex:
//!
//! ```text
//! vestry-audit-checkpoint-v1
//! <deployment>
//! <number> <Unix seconds> <SHA-256 of the text of the checkpoint before>
//! chain <app> <environment> <auditchain_…> <sequence> <hash>
//! events <app> <environment> <log> <position> <event_…>
//! epoch <number>
//! ```
//!
//! The epoch begins at 1 and grows with each recovery (PR-84). A checkpoint without the line is of epoch 1.
//!
//! The encoding is canonical and nothing else is accepted: parsing a checkpoint and writing it again gives the same text and therefore the
//! same hash. This module does not verify signatures; custody does.

mod note;

use std::fmt;
use std::str::FromStr;

use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};

pub use self::note::{NoteSignature, SignedNote, VerifierKey};
use super::AuditHead;
use super::control::ControlHead;
use crate::ids::{AuditChainId, EventId};
use crate::{Invalid, Timestamp, World};

const FORMAT: &str = "vestry-audit-checkpoint-v1";
/// Maximum length of a deployment name in characters: a host name (RFC 1035) and a port.
const MAX_NAME: usize = 253 + 6;

/// Where chains and event logs end at one moment: either all of them, or those that grew since the previous checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// The name of the deployment; see [`check_deployment`].
    pub deployment: String,
    /// The checkpoint's number, from 1 without gaps.
    pub number: i64,
    /// When it was created, by the machine's clock.
    pub at: Timestamp,
    /// [`Checkpoint::hash_of`] the previous checkpoint; [`Checkpoint::NONE_BEFORE`] for the first.
    pub previous: [u8; 32],
    /// The statements.
    pub lines: Vec<Line>,
}

/// One statement of a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// The head of a chain of the audit log.
    Chain {
        /// App and environment.
        world: World,
        /// The chain.
        chain: AuditChainId,
        /// Position of its last entry, from 1.
        sequence: i64,
        /// Hash of its last entry.
        hash: [u8; 32],
    },
    /// The head of a world's event log.
    Events {
        /// App and environment.
        world: World,
        /// The number of the log, from 1.
        log: i64,
        /// Position of its newest event, from 1.
        position: i64,
        /// Its newest event.
        newest: EventId,
    },
    /// The epoch, from 1.
    Epoch(i64),
    /// A line of a kind that this version does not know, without its line feed. Only [`Checkpoint::parse`] creates one. It is kept verbatim
    /// because the signature covers it, and is otherwise ignored.
    Other(String),
}

/// The checkpoint line for a chain of either log.
macro_rules! chain_lines {
    ($($head:ident)*) => {
        $(impl From<$head> for Line {
            fn from(head: $head) -> Self {
                Self::Chain {
                    world: head.world,
                    chain: head.chain,
                    sequence: head.sequence,
                    hash: head.hash,
                }
            }
        })*
    };
}

chain_lines! { AuditHead ControlHead }

impl Checkpoint {
    /// The previous hash in the first checkpoint.
    pub const NONE_BEFORE: [u8; 32] = [0; 32];

    /// The signed text. [`Checkpoint::parse`] reads it back if the deployment has a name and every number is that of something that exists.
    pub fn text(&self) -> String {
        let mut text = format!(
            "{FORMAT}\n{}\n{} {} {}\n",
            self.deployment,
            self.number,
            self.at.unix(),
            HEXLOWER.encode(&self.previous),
        );
        for line in &self.lines {
            text.push_str(&line.to_string());
            text.push('\n');
        }
        text
    }

    /// Parses the text of a checkpoint, in exactly the form that [`Checkpoint::text`] writes. The header and lines of known kinds must be
    /// correct in every word.
    ///
    /// # Errors
    /// If the text has any other form; names `checkpoint` and the line.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let Some(text) = text.strip_suffix('\n') else {
            return Err(invalid("the last line must end with a line feed"));
        };
        let mut lines = text.split('\n');
        if lines.next() != Some(FORMAT) {
            return Err(invalid("line 1 must be the name of the format"));
        }
        let deployment = lines.next().unwrap_or_default();
        if check_deployment(deployment).is_err() {
            return Err(invalid("line 2 must be the name of a deployment"));
        }
        let Some((number, at, previous)) = lines.next().and_then(head) else {
            return Err(invalid("line 3 must be a number, a time and a hash"));
        };
        let mut read = Vec::new();
        for (number, line) in (4_u64..).zip(lines) {
            let line = Line::parse(line)
                .ok_or_else(|| invalid(format!("line {number} is malformed for its kind")))?;
            read.push(line);
        }
        Ok(Self {
            deployment: deployment.to_owned(),
            number,
            at,
            previous,
            lines: read,
        })
    }

    /// The epoch of the database when it was made: how often it was recovered, from 1.
    pub fn epoch(&self) -> i64 {
        let epochs = self.lines.iter().filter_map(|line| match line {
            Line::Epoch(number) => Some(*number),
            _ => None,
        });
        epochs.max().unwrap_or(1)
    }

    /// SHA-256 of the text of a checkpoint without its signatures, as the next checkpoint names it.
    pub fn hash_of(text: &str) -> [u8; 32] {
        Sha256::digest(text).into()
    }
}

/// Writes the line without its line feed.
impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Chain {
                world,
                chain,
                sequence,
                hash,
            } => {
                let (app, environment) = (world.app_id, world.environment);
                let hash = HEXLOWER.encode(hash);
                write!(f, "chain {app} {environment} {chain} {sequence} {hash}")
            }
            Self::Events {
                world,
                log,
                position,
                newest,
            } => {
                let (app, environment) = (world.app_id, world.environment);
                write!(f, "events {app} {environment} {log} {position} {newest}")
            }
            Self::Epoch(number) => write!(f, "epoch {number}"),
            Self::Other(line) => f.write_str(line),
        }
    }
}

impl Line {
    fn parse(line: &str) -> Option<Self> {
        let mut words = line.split(' ');
        let kind = words.next()?;
        let known = match kind {
            "chain" => Self::Chain {
                world: world(&mut words)?,
                chain: words.next()?.parse().ok()?,
                sequence: counted(words.next()?)?,
                hash: hash(words.next()?)?,
            },
            "events" => Self::Events {
                world: world(&mut words)?,
                log: counted(words.next()?)?,
                position: counted(words.next()?)?,
                newest: words.next()?.parse().ok()?,
            },
            "epoch" => Self::Epoch(counted(words.next()?)?),
            _ => return is_of_other_kind(kind, line).then(|| Self::Other(line.to_owned())),
        };
        words.next().is_none().then_some(known)
    }
}

/// Whether a line can come from a later version. A kind must be a plain word, so that no line can pass for one of another kind.
fn is_of_other_kind(kind: &str, line: &str) -> bool {
    let of_word = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    !kind.is_empty() && kind.bytes().all(of_word) && !line.contains(char::is_control)
}

fn head(line: &str) -> Option<(i64, Timestamp, [u8; 32])> {
    let mut words = line.split(' ');
    let number = counted(words.next()?)?;
    let at = Timestamp::from_unix(natural(words.next()?)?);
    let previous = hash(words.next()?)?;
    words.next().is_none().then_some((number, at, previous))
}

fn world<'a>(words: &mut impl Iterator<Item = &'a str>) -> Option<World> {
    let app_id = words.next()?.parse().ok()?;
    let environment = words.next()?.parse().ok()?;
    Some(World::new(app_id, environment))
}

/// Parses a number from 0 in its only valid form: no sign and no leading zeros.
fn natural<N: FromStr>(word: &str) -> Option<N> {
    let digits = word.bytes().all(|byte| byte.is_ascii_digit());
    let shortest = word == "0" || !word.starts_with('0');
    (digits && shortest).then(|| word.parse().ok()).flatten()
}

/// Same as [`natural`], from 1.
fn counted(word: &str) -> Option<i64> {
    natural(word).filter(|number| *number > 0)
}

fn hash(word: &str) -> Option<[u8; 32]> {
    HEXLOWER.decode(word.as_bytes()).ok()?.try_into().ok()
}

fn invalid(message: impl Into<std::borrow::Cow<'static, str>>) -> Invalid {
    Invalid::value("checkpoint", message)
}

/// Checks the name of a deployment: host and port as in a URL, such as `auth.example.com`, `localhost:8080` or `[::1]:80`.
///
/// It is also the name of the key that signs the checkpoints, which must not contain spaces or plus signs.
///
/// # Errors
/// If it is anything else; names `deployment`.
pub fn check_deployment(name: &str) -> Result<(), Invalid> {
    let of_host =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-._:[]".contains(&byte);
    let is_named = (1..=MAX_NAME).contains(&name.len()) && name.bytes().all(of_host);
    is_named.then_some(()).ok_or_else(|| {
        let message = "deployment must be a host with an optional port, as in a URL; for example auth.example.com";
        Invalid::value("deployment", message)
    })
}

#[cfg(test)]
mod tests;
