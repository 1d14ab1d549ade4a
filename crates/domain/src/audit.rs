//! The audit log: one entry for every use of a wallet key, chained by hashes so that none can be altered or taken out unseen.
//! What is done to Apps, keys and settings has chains of its own: [`control`].
//!
//! Every process writes chains of its own, one per world: no two writers ever wait for the head of one chain. An entry
//! holds the hash of the one before it, and each hash has a keyed hash under the App key: who can write the database can
//! neither change an entry nor make up a chain. The head of a chain is kept, under a keyed hash, beside it, so that entries
//! missing at the end are noticed too.
//!
//! What is **not** noticed: a whole database set back to an older state of its own, which takes a witness outside of it:
//! [`checkpoint`].

pub mod checkpoint;
pub mod control;

use std::fmt;
use std::str::FromStr;

use sha2::{Digest, Sha256};

use self::control::Outcome;
use crate::envelope::{Mac, join_with_lengths};
use crate::ids::{ApiKeyId, AuditChainId, AuditEntryId, WalletId};
use crate::signing::{PayloadHash, Signed};
use crate::{Invalid, Timestamp, World};

/// What was done with a wallet or its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AuditAction {
    /// A key was made. Noted before its wallet is stored, which may still be refused.
    Create,
    /// A key came from outside and was opened. Noted before its wallet is stored, like that of a new one.
    Import,
    /// The key left, sealed to its recipient.
    Export,
    /// `sign_message`.
    SignMessage,
    /// `sign_transaction`.
    SignTransaction,
    /// `rpc`; the method is the detail of the entry.
    Rpc,
    /// The wallet was told to sign nothing.
    Disable,
    /// The wallet was told to sign again.
    Enable,
    /// The key was destroyed with its user. Noted before it is done, which may still be refused.
    Delete,
    /// The stored wallet or key failed its authentication, and nothing was done with it.
    Tampered,
}

impl AuditAction {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Create,
        Self::Import,
        Self::Export,
        Self::SignMessage,
        Self::SignTransaction,
        Self::Rpc,
        Self::Disable,
        Self::Enable,
        Self::Delete,
        Self::Tampered,
    ];

    /// What came of it: of a wallet that was tampered with, nothing was done.
    pub const fn outcome(self) -> Outcome {
        match self {
            Self::Tampered => Outcome::Failed,
            _ => Outcome::Done,
        }
    }

    /// The name in answers and in the database. Never change one: it is part of what is hashed.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Import => "import",
            Self::Export => "export",
            Self::SignMessage => "sign_message",
            Self::SignTransaction => "sign_transaction",
            Self::Rpc => "rpc",
            Self::Disable => "disable",
            Self::Enable => "enable",
            Self::Delete => "delete",
            Self::Tampered => "tampered",
        }
    }
}

impl fmt::Display for AuditAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for AuditAction {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        Self::ALL
            .into_iter()
            .find(|action| action.as_str() == text)
            .ok_or_else(|| Invalid::value("action", "unknown action of an audit entry"))
    }
}

/// SHA-256 of what was handed out: tells later whether a signature that turned up somewhere came from here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResultHash(pub [u8; 32]);

impl ResultHash {
    /// The hash of the fields that an answer has because of the signature, as compact JSON with the names in alphabetical
    /// order. For `sign_message` by an Ethereum wallet that is `{"signature":"0x…"}`.
    pub fn of(signed: &Signed) -> Self {
        let mut fields: Vec<_> = signed.fields.iter().collect();
        fields.sort_unstable_by_key(|(name, _)| *name);
        let mut text = Vec::with_capacity(256);
        text.push(b'{');
        for (place, (name, value)) in fields.into_iter().enumerate() {
            if place > 0 {
                text.push(b',');
            }
            push_json(&mut text, name);
            text.push(b':');
            push_json(&mut text, value);
        }
        text.push(b'}');
        Self(Sha256::digest(&text).into())
    }
}

/// Writes what JSON can hold: text and values. Nothing of that fails.
fn push_json(text: &mut Vec<u8>, value: &impl serde::Serialize) {
    let written = serde_json::to_writer(text, value);
    debug_assert!(written.is_ok(), "{written:?}");
}

/// What happened, before it has its place in a chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEvent {
    /// App and environment.
    pub world: World,
    /// The wallet.
    pub wallet_id: WalletId,
    /// What was done.
    pub action: AuditAction,
    /// The method of an `rpc` call, what failed of a tampered wallet; else empty.
    pub detail: String,
    /// The key of the API that asked for it.
    pub api_key_id: ApiKeyId,
    /// Of what was handed out, where something was.
    pub result: Option<ResultHash>,
    /// SHA-256 of what went under a signature, where there was one (AUD-9).
    pub payload: Option<PayloadHash>,
    /// By which request.
    pub request_id: Option<String>,
    /// When, by the clock of the world.
    pub at: Timestamp,
}

/// Which of the two formats the hash of an entry is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Without payload and request.
    V1,
    /// Everything, in the places that entries of both logs have in common.
    V2,
}

impl Format {
    /// As it is stored.
    pub const fn number(self) -> i64 {
        match self {
            Self::V1 => 1,
            Self::V2 => 2,
        }
    }

    /// What [`Format::number`] was made of.
    pub const fn from_number(number: i64) -> Option<Self> {
        match number {
            1 => Some(Self::V1),
            2 => Some(Self::V2),
            _ => None,
        }
    }
}

/// What the hash of an entry of either log is over, since there are two.
struct Said<'a> {
    world: World,
    chain: AuditChainId,
    sequence: i64,
    id: AuditEntryId,
    actor: (&'a str, String),
    action: &'a str,
    subject: (&'a str, &'a str),
    detail: &'a str,
    payload: &'a [u8],
    result: &'a [u8],
    outcome: Outcome,
    at: Timestamp,
    request_id: Option<&'a str>,
    previous: &'a [u8; 32],
}

impl Said<'_> {
    /// SHA-256 over all of it. The empty places are the address of an operator and the id of a policy. Never change the format.
    fn digest(&self) -> [u8; 32] {
        let parts = join_with_lengths([
            b"vestry-audit-v2".as_slice(),
            self.world.app_id.to_string().as_bytes(),
            self.world.environment.as_str().as_bytes(),
            self.chain.to_string().as_bytes(),
            &self.sequence.to_be_bytes(),
            self.id.to_string().as_bytes(),
            self.actor.0.as_bytes(),
            self.actor.1.as_bytes(),
            b"",
            self.action.as_bytes(),
            self.subject.0.as_bytes(),
            self.subject.1.as_bytes(),
            self.detail.as_bytes(),
            self.payload,
            self.result,
            b"",
            self.outcome.as_str().as_bytes(),
            &self.at.unix().to_be_bytes(),
            self.request_id.unwrap_or_default().as_bytes(),
            self.previous,
        ]);
        Sha256::digest(parts).into()
    }
}

/// An entry in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEntry {
    /// The id; ids of a chain rise with their place in it.
    pub id: AuditEntryId,
    /// Its chain.
    pub chain: AuditChainId,
    /// Its place in the chain, from 1.
    pub sequence: i64,
    /// What its hash is over.
    pub format: Format,
    /// What happened.
    pub event: AuditEvent,
    /// Hash of the entry before it; zeros for the first.
    pub previous: [u8; 32],
    /// [`AuditEntry::digest`].
    pub hash: [u8; 32],
    /// Keyed hash of `hash`.
    pub mac: Mac,
}

impl AuditEntry {
    /// What the hash of an entry has to be: SHA-256 over all of it but the hashes of its own. Never change the format.
    pub fn digest(
        format: Format,
        id: AuditEntryId,
        chain: AuditChainId,
        sequence: i64,
        event: &AuditEvent,
        previous: &[u8; 32],
    ) -> [u8; 32] {
        match format {
            Format::V1 => Self::digest_v1(id, chain, sequence, event, previous),
            Format::V2 => {
                let wallet = event.wallet_id.to_string();
                let result = event.result.as_ref().map(|hash| hash.0);
                let payload = event.payload.as_ref().map(|hash| hash.0);
                let said = Said {
                    world: event.world,
                    chain,
                    sequence,
                    id,
                    actor: ("api_key", event.api_key_id.to_string()),
                    action: event.action.as_str(),
                    subject: ("wallet", &wallet),
                    detail: &event.detail,
                    payload: payload.as_ref().map_or(&[], <[u8; 32]>::as_slice),
                    result: result.as_ref().map_or(&[], <[u8; 32]>::as_slice),
                    outcome: event.action.outcome(),
                    at: event.at,
                    request_id: event.request_id.as_deref(),
                    previous,
                };
                said.digest()
            }
        }
    }

    fn digest_v1(
        id: AuditEntryId,
        chain: AuditChainId,
        sequence: i64,
        event: &AuditEvent,
        previous: &[u8; 32],
    ) -> [u8; 32] {
        let world = event.world;
        let result = event.result.as_ref().map(|hash| hash.0);
        let parts = join_with_lengths([
            b"vestry-audit-v1".as_slice(),
            world.app_id.to_string().as_bytes(),
            world.environment.as_str().as_bytes(),
            chain.to_string().as_bytes(),
            &sequence.to_be_bytes(),
            id.to_string().as_bytes(),
            event.wallet_id.to_string().as_bytes(),
            event.action.as_str().as_bytes(),
            event.detail.as_bytes(),
            event.api_key_id.to_string().as_bytes(),
            result.as_ref().map_or(&[], |hash| hash.as_slice()),
            &event.at.unix().to_be_bytes(),
            previous,
        ]);
        Sha256::digest(parts).into()
    }

    /// Whether the entry follows the one whose hash and place are given, and its hash is its own.
    pub fn follows(&self, sequence: i64, previous: &[u8; 32]) -> bool {
        let digest = Self::digest(
            self.format,
            self.id,
            self.chain,
            self.sequence,
            &self.event,
            &self.previous,
        );
        // What the first format does not hash, nobody has written.
        let is_all_hashed = match self.format {
            Format::V1 => self.event.payload.is_none() && self.event.request_id.is_none(),
            Format::V2 => true,
        };
        is_all_hashed
            && sequence.checked_add(1) == Some(self.sequence)
            && self.previous == *previous
            && self.hash == digest
    }
}

/// How far a chain goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditHead {
    /// App and environment.
    pub world: World,
    /// The chain.
    pub chain: AuditChainId,
    /// Place of its last entry.
    pub sequence: i64,
    /// Hash of its last entry.
    pub hash: [u8; 32],
    /// Keyed hash of the two.
    pub mac: Mac,
}

impl AuditHead {
    /// The parts under the keyed hash of a head.
    pub fn sealed_parts(chain: AuditChainId, sequence: i64, hash: &[u8; 32]) -> [Vec<u8>; 3] {
        [
            chain.to_string().into_bytes(),
            sequence.to_be_bytes().to_vec(),
            hash.to_vec(),
        ]
    }
}

/// Where a chain of either log begins, of which entries were exported and then removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditMarker {
    /// App and environment.
    pub world: World,
    /// The chain.
    pub chain: AuditChainId,
    /// Place of the last entry that was removed.
    pub sequence: i64,
    /// Its hash, which the first entry that is left names as the one before it.
    pub hash: [u8; 32],
    /// Keyed hash of the marker, over [`AuditHead::sealed_parts`].
    pub mac: Mac,
}

/// The end of a chain and the end that it takes the place of, so that nobody goes on from where a chain does not end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditStep {
    /// How far the chain goes afterwards.
    pub head: AuditHead,
    /// Place of its last entry before; 0 for a chain that begins.
    pub after: i64,
    /// Hash of its last entry before; zeros for a chain that begins.
    pub after_hash: [u8; 32],
}

#[cfg(test)]
mod tests;
