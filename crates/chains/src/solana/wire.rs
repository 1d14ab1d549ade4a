//! The wire format of transactions: legacy, v0 and v1 (SIMD-0385), with or without signatures.

use std::ops::Range;

use solana_message::VersionedMessage;
use solana_transaction::versioned::VersionedTransaction;

use crate::ed25519::{self, SIGNATURE_LENGTH};

/// The maximum size in bytes of a legacy or v0 transaction: the payload of the smallest packet that IPv6 delivers unfragmented.
const MAX_LEGACY: usize = 1232;
/// The maximum size in bytes of a v1 transaction (SIMD-0385), and so of any.
pub(super) const MAX_TRANSACTION: usize = 4096;

/// A transaction that the network can accept once all have signed it.
pub(super) struct Transaction {
    /// The wire format, with a slot for every signature; an empty slot is all zeros.
    bytes: Vec<u8>,
    /// The range of the message, which is what is signed.
    message: Range<usize>,
    /// The offset of the first slot; the others follow it.
    slots: usize,
    /// The required signers, in slot order.
    signers: Vec<[u8; 32]>,
}

impl Transaction {
    /// Reads a whole transaction, or a bare message, to which empty slots are added.
    ///
    /// The bytes must equal the canonical encoding of what was read. There is therefore no trailing data and no second encoding, and what
    /// is signed is what was sent.
    ///
    /// # Errors
    /// What is wrong, to be put after the name of the field.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, &'static str> {
        // Some messages also parse as a whole transaction that makes no sense, for example with two signatures and missing accounts. The
        // reading that makes sense is used.
        let readings = [
            whole(bytes),
            message(bytes).map(VersionedTransaction::new_unsigned),
        ];
        let mut readings = readings.into_iter().flatten().peekable();
        if readings.peek().is_none() {
            return Err(
                "is not a Solana transaction or message (legacy, v0 or v1, without trailing data)",
            );
        }
        let parsed = readings
            .find(|parsed| parsed.sanitize().is_ok())
            .ok_or("is inconsistent: a count or an index does not match its accounts")?;
        Self::laid_out(&parsed)
            .ok_or("is too large: at most 1232 bytes with all signatures, 4096 for v1")
    }

    /// Returns `None` if it is larger than the network accepts.
    fn laid_out(parsed: &VersionedTransaction) -> Option<Self> {
        let bytes = wincode::serialize(parsed).ok()?;
        let message = wincode::serialize(&parsed.message).ok()?.len();
        let signatures = parsed.signatures.len().checked_mul(SIGNATURE_LENGTH)?;
        let (most, message, slots) = match parsed.message {
            VersionedMessage::Legacy(_) | VersionedMessage::V0(_) => {
                let start = bytes.len().checked_sub(message)?;
                (
                    MAX_LEGACY,
                    start..bytes.len(),
                    start.checked_sub(signatures)?,
                )
            }
            VersionedMessage::V1(_) => (MAX_TRANSACTION, 0..message, message),
        };
        let keys = parsed.message.static_account_keys().iter();
        let signers = keys.take(parsed.signatures.len());
        (bytes.len() <= most).then(|| Self {
            message,
            slots,
            signers: signers.map(|key| key.to_bytes()).collect(),
            bytes,
        })
    }

    /// The bytes that are signed.
    pub(super) fn message(&self) -> &[u8] {
        self.bytes.get(self.message.clone()).unwrap_or_default()
    }

    /// The signature slot of a key, if it is a required signer.
    pub(super) fn slot_of(&self, public_key: &[u8]) -> Option<usize> {
        self.signers.iter().position(|signer| signer == public_key)
    }

    /// The wire format with a signature in a slot and the other slots unchanged; `None` if there is no such slot.
    pub(super) fn signed(
        &self,
        slot: usize,
        signature: &[u8; SIGNATURE_LENGTH],
    ) -> Option<Vec<u8>> {
        let mut bytes = self.bytes.clone();
        bytes.get_mut(self.place(slot)?)?.copy_from_slice(signature);
        Some(bytes)
    }

    /// Whether every signature outside this slot is present and valid.
    pub(super) fn others_signed(&self, slot: usize) -> bool {
        let mut others = (0..).zip(&self.signers).filter(|(other, _)| *other != slot);
        others.all(|(other, signer)| {
            self.place(other)
                .and_then(|place| self.bytes.get(place))
                .is_some_and(|held| ed25519::verify(signer, self.message(), held).is_ok())
        })
    }

    fn place(&self, slot: usize) -> Option<Range<usize>> {
        let start = self
            .slots
            .checked_add(slot.checked_mul(SIGNATURE_LENGTH)?)?;
        Some(start..start.checked_add(SIGNATURE_LENGTH)?)
    }
}

/// Whether the bytes are exactly a message or a whole transaction that lists this key among its accounts.
///
/// This accepts more than [`Transaction::parse`]: what is too large or makes no sense today must not be signed as a message either.
pub(super) fn concerns(bytes: &[u8], public_key: &[u8]) -> bool {
    // Text does not contain the bytes of the key, and most of what is signed is text.
    let length = public_key.len().max(1);
    let holds = bytes.windows(length).any(|part| part == public_key);
    holds
        && [message(bytes), whole(bytes).map(|parsed| parsed.message)]
            .iter()
            .flatten()
            .flat_map(VersionedMessage::static_account_keys)
            .any(|key| key.as_ref() == public_key)
}

fn whole(bytes: &[u8]) -> Option<VersionedTransaction> {
    let parsed: VersionedTransaction = wincode::deserialize_exact(bytes).ok()?;
    (wincode::serialize(&parsed).ok()? == bytes).then_some(parsed)
}

fn message(bytes: &[u8]) -> Option<VersionedMessage> {
    let parsed: VersionedMessage = wincode::deserialize_exact(bytes).ok()?;
    (wincode::serialize(&parsed).ok()? == bytes).then_some(parsed)
}
