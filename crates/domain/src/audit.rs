//! The audit log of wallets: one entry for every use of a wallet key, hash-chained so that altered or missing entries are detected.
//!
//! Changes to Apps, keys and settings have chains of their own: [`control`].
//!
//! Every process writes its own chain for each world, so writers never wait for the head of a shared chain. Each entry holds the hash of
//! the previous one, and each hash has a MAC under the App key. An attacker with write access to the database can therefore neither change
//! an entry nor forge a chain. The head of each chain is stored with a MAC of its own, so a truncated chain is detected too.
//!
//! A rollback of the whole database to an earlier state is **not** detected here. That takes a witness outside the database:
//! [`checkpoint`].

pub mod checkpoint;
pub mod control;

use std::fmt;
use std::str::FromStr;

use sha2::{Digest, Sha256};

use self::control::Outcome;
use crate::actor::Actor;
use crate::envelope::{Mac, join_with_lengths};
use crate::ids::{AuditChainId, AuditEntryId, WalletId};
use crate::signing::{PayloadHash, Signed};
use crate::{Invalid, Timestamp, World};

/// An action on a wallet or its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AuditAction {
    /// A key was created. Recorded before its wallet is stored, which can still fail.
    Create,
    /// A key was imported and decrypted. Recorded before its wallet is stored, like that of a new one.
    Import,
    /// The key was exported, encrypted to its recipient.
    Export,
    /// `sign_message`.
    SignMessage,
    /// `sign_transaction`.
    SignTransaction,
    /// `rpc`; the entry's detail holds the method.
    Rpc,
    /// The wallet was disabled and signs nothing.
    Disable,
    /// The wallet was enabled again.
    Enable,
    /// The key was destroyed with its user. Recorded before the deletion, which can still fail.
    Delete,
    /// The stored wallet or key failed its integrity check and was not used.
    Tampered,
}

impl AuditAction {
    /// All actions.
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

    /// The outcome of the action. Nothing is ever done with a wallet that was tampered with.
    pub const fn outcome(self) -> Outcome {
        match self {
            Self::Tampered => Outcome::Failed,
            _ => Outcome::Done,
        }
    }

    /// The name in responses and in the database. Never change one: it is part of the hashed data.
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
            .ok_or_else(|| Invalid::value("action", "unknown audit action"))
    }
}

/// SHA-256 of the returned result. It can later show whether a signature found elsewhere was made by this service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResultHash(pub [u8; 32]);

impl ResultHash {
    /// The hash of the response fields that the signature produced, as compact JSON with its keys in alphabetical order. For `sign_message`
    /// by an Ethereum wallet that is `{"signature":"0x…"}`.
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

/// Appends text or a JSON value, neither of which can fail to serialize.
fn push_json(text: &mut Vec<u8>, value: &impl serde::Serialize) {
    let written = serde_json::to_writer(text, value);
    debug_assert!(written.is_ok(), "{written:?}");
}

/// An audit event that has no position in a chain yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEvent {
    /// App and environment.
    pub world: World,
    /// The wallet.
    pub wallet_id: WalletId,
    /// The action.
    pub action: AuditAction,
    /// The method of an `rpc` call or, for a tampered wallet, the check that failed; otherwise empty.
    pub detail: String,
    /// The actor that requested it.
    pub actor: Actor,
    /// The hash of the result, if one was returned.
    pub result: Option<ResultHash>,
    /// SHA-256 of the signed payload, if there was one (AUD-9).
    pub payload: Option<PayloadHash>,
    /// The request that caused it.
    pub request_id: Option<String>,
    /// When it happened, by the world's clock.
    pub at: Timestamp,
}

/// The hash format of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Does not cover payload and request id.
    V1,
    /// Covers every field, in the layout that both logs share.
    V2,
}

impl Format {
    /// The stored number.
    pub const fn number(self) -> i64 {
        match self {
            Self::V1 => 1,
            Self::V2 => 2,
        }
    }

    /// The format with this stored number.
    pub const fn from_number(number: i64) -> Option<Self> {
        match number {
            1 => Some(Self::V1),
            2 => Some(Self::V2),
            _ => None,
        }
    }
}

/// The hashed fields of an entry, in the layout that both logs share.
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
    /// SHA-256 over all fields. The empty parts are reserved for the address of an operator and the id of a policy. Never change the
    /// format.
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

/// An entry with its position in a chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEntry {
    /// The id; within a chain, ids increase with `sequence`.
    pub id: AuditEntryId,
    /// The chain that the entry belongs to.
    pub chain: AuditChainId,
    /// Position in the chain, from 1.
    pub sequence: i64,
    /// The format of its hash.
    pub format: Format,
    /// The recorded event.
    pub event: AuditEvent,
    /// Hash of the previous entry; zeros for the first.
    pub previous: [u8; 32],
    /// [`AuditEntry::digest`].
    pub hash: [u8; 32],
    /// MAC of `hash`.
    pub mac: Mac,
}

impl AuditEntry {
    /// Computes the hash of an entry: SHA-256 over all fields except its own hash and MAC. Never change the format.
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
                    actor: (event.actor.kind(), event.actor.id().unwrap_or_default()),
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
            event.actor.id().unwrap_or_default().as_bytes(),
            result.as_ref().map_or(&[], |hash| hash.as_slice()),
            &event.at.unix().to_be_bytes(),
            previous,
        ]);
        Sha256::digest(parts).into()
    }

    /// Whether the entry directly follows the entry with the given position and hash, and its own hash is correct.
    pub fn follows(&self, sequence: i64, previous: &[u8; 32]) -> bool {
        let digest = Self::digest(
            self.format,
            self.id,
            self.chain,
            self.sequence,
            &self.event,
            &self.previous,
        );
        // Fields that V1 does not hash must be absent: anything in them was added later.
        let is_all_hashed = match self.format {
            Format::V1 => {
                self.event.payload.is_none()
                    && self.event.request_id.is_none()
                    && matches!(self.event.actor, Actor::ApiKey(_))
            }
            Format::V2 => true,
        };
        is_all_hashed
            && sequence.checked_add(1) == Some(self.sequence)
            && self.previous == *previous
            && self.hash == digest
    }
}

/// The head of a chain: its last entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditHead {
    /// App and environment.
    pub world: World,
    /// The chain.
    pub chain: AuditChainId,
    /// Position of the last entry.
    pub sequence: i64,
    /// Hash of the last entry.
    pub hash: [u8; 32],
    /// MAC over [`AuditHead::sealed_parts`].
    pub mac: Mac,
}

impl AuditHead {
    /// The parts that the MAC of a head covers.
    pub fn sealed_parts(chain: AuditChainId, sequence: i64, hash: &[u8; 32]) -> [Vec<u8>; 3] {
        [
            chain.to_string().into_bytes(),
            sequence.to_be_bytes().to_vec(),
            hash.to_vec(),
        ]
    }
}

/// The start of a chain in either log after its older entries were exported and removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditMarker {
    /// App and environment.
    pub world: World,
    /// The chain.
    pub chain: AuditChainId,
    /// Position of the last removed entry.
    pub sequence: i64,
    /// Hash of the last removed entry; the first remaining entry has it as its `previous`.
    pub hash: [u8; 32],
    /// MAC of the marker, over [`AuditHead::sealed_parts`].
    pub mac: Mac,
}

/// A move of a chain's head from the one it replaces, so that a writer can only append at the actual end of a chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditStep {
    /// The new head.
    pub head: AuditHead,
    /// Position of the head that it replaces; 0 for a new chain.
    pub after: i64,
    /// Hash of the head that it replaces; zeros for a new chain.
    pub after_hash: [u8; 32],
}

#[cfg(test)]
mod tests;
