//! Checkpoints: signed statements of where all chains and logs of events end. Whoever keeps one outside of the database can show
//! later that it was set back (AUD-3).
//!
//! The text of a checkpoint is the text of a [`SignedNote`]. Every line ends with a line feed, between words is one space, numbers
//! are decimal and hashes lower-case hex:
//!
//! ```text
//! vestry-audit-checkpoint-v1
//! <deployment>
//! <number> <Unix seconds> <SHA-256 of the text of the checkpoint before>
//! chain <app> <environment> <auditchain_…> <sequence> <hash>
//! events <app> <environment> <log> <position> <event_…>
//! ```
//!
//! There is one way to write a checkpoint and nothing else is read: what is read and written again is the same text, and so has
//! the same hash. Nothing here knows whether a signature is good; custody does.

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
/// Characters of the name of a deployment at most: those of a host name (RFC 1035), and a port.
const LONGEST_NAME: usize = 253 + 6;

/// Where chains and logs of events end at one moment: those that went on since the checkpoint before, or all of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// The name of the deployment, see [`check_deployment`].
    pub deployment: String,
    /// Which one, from 1 without a gap.
    pub number: i64,
    /// When it was made, by the machine's clock.
    pub at: Timestamp,
    /// [`Checkpoint::hash_of`] the one before; [`Checkpoint::NONE_BEFORE`] for the first.
    pub previous: [u8; 32],
    /// What it states.
    pub lines: Vec<Line>,
}

/// One statement of a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// How far a chain of the audit log goes.
    Chain {
        /// App and environment.
        world: World,
        /// The chain.
        chain: AuditChainId,
        /// Place of its last entry, from 1.
        sequence: i64,
        /// Hash of its last entry.
        hash: [u8; 32],
    },
    /// How far the log of events of a world goes.
    Events {
        /// App and environment.
        world: World,
        /// Which log, from 1.
        log: i64,
        /// Position of its newest event, from 1.
        position: i64,
        /// Its newest event.
        newest: EventId,
    },
    /// A line of a kind that this version does not know, without its line feed. Nobody makes one but [`Checkpoint::parse`]; it is
    /// kept as it is, because it is under the signature, and passed over.
    Other(String),
}

/// What a checkpoint says of a chain of either log.
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
    /// What the first checkpoint has in the place of a hash.
    pub const NONE_BEFORE: [u8; 32] = [0; 32];

    /// The text that is signed. [`Checkpoint::parse`] reads it, provided that the deployment has a name and all numbers are those
    /// of something that is there.
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

    /// Reads the text of a checkpoint, in the very form that [`Checkpoint::text`] writes. Of its beginning and of known kinds of
    /// lines every word must be right.
    ///
    /// # Errors
    /// It is something else; names `checkpoint` and the line.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let Some(text) = text.strip_suffix('\n') else {
            return Err(invalid("the last line does not end with a line feed"));
        };
        let mut lines = text.split('\n');
        if lines.next() != Some(FORMAT) {
            return Err(invalid("line 1 does not name the format"));
        }
        let deployment = lines.next().unwrap_or_default();
        if check_deployment(deployment).is_err() {
            return Err(invalid("line 2 is not the name of a deployment"));
        }
        let Some((number, at, previous)) = lines.next().and_then(head) else {
            return Err(invalid("line 3 is not a number, a time and a hash"));
        };
        let mut read = Vec::new();
        for (number, line) in (4_u64..).zip(lines) {
            let line = Line::parse(line)
                .ok_or_else(|| invalid(format!("line {number} is not what its kind has to be")))?;
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

    /// SHA-256 of the text of a checkpoint, without its signatures: what the next one names.
    pub fn hash_of(text: &str) -> [u8; 32] {
        Sha256::digest(text).into()
    }
}

/// Without its line feed.
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
            _ => return is_of_other_kind(kind, line).then(|| Self::Other(line.to_owned())),
        };
        words.next().is_none().then_some(known)
    }
}

/// Whether a line may be one of a later version. A kind is a plain word, so that none looks like another one.
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

/// A number from 0 on, in the one way to write it: without a sign, and without zeros in front.
fn natural<N: FromStr>(word: &str) -> Option<N> {
    let digits = word.bytes().all(|byte| byte.is_ascii_digit());
    let shortest = word == "0" || !word.starts_with('0');
    (digits && shortest).then(|| word.parse().ok()).flatten()
}

/// The same from 1 on.
fn counted(word: &str) -> Option<i64> {
    natural(word).filter(|number| *number > 0)
}

fn hash(word: &str) -> Option<[u8; 32]> {
    HEXLOWER.decode(word.as_bytes()).ok()?.try_into().ok()
}

fn invalid(message: impl Into<std::borrow::Cow<'static, str>>) -> Invalid {
    Invalid::value("checkpoint", message)
}

/// Checks the name of a deployment: host and port as they stand in a URL, such as `auth.example.com`, `localhost:8080` or `[::1]:80`.
/// It is also the name of the key that signs the checkpoints, which may have neither spaces nor a plus sign.
///
/// # Errors
/// It is something else; names `deployment`.
pub fn check_deployment(name: &str) -> Result<(), Invalid> {
    let of_host =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-._:[]".contains(&byte);
    let is_named = (1..=LONGEST_NAME).contains(&name.len()) && name.bytes().all(of_host);
    is_named.then_some(()).ok_or_else(|| {
        let message = "deployment must be a host as in a URL, with or without a port, such as auth.example.com";
        Invalid::value("deployment", message)
    })
}

#[cfg(test)]
mod tests;
