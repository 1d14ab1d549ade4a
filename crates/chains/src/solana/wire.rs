//! Transactions as bytes: legacy, v0 and v1 (SIMD-0385), with the section of signatures or without.

use std::ops::Range;

use solana_message::VersionedMessage;
use solana_transaction::versioned::VersionedTransaction;

use crate::ed25519::{self, SIGNATURE_LENGTH};

/// Most bytes of a legacy or v0 transaction: what is left of the smallest packet that IPv6 delivers whole.
const LEGACY_MAX: usize = 1232;
/// Most bytes of a v1 transaction (SIMD-0385), and so of any.
pub(super) const TRANSACTION_MAX: usize = 4096;

/// A transaction that the network could take once all have signed it.
pub(super) struct Transaction {
    /// As it goes over the wire, with a slot for every signature; an empty one is all zeros.
    bytes: Vec<u8>,
    /// Where the message stands, which is what the signatures are over.
    message: Range<usize>,
    /// Where the first slot begins; the others follow it.
    slots: usize,
    /// Whose signatures are required, in the order of the slots.
    signers: Vec<[u8; 32]>,
}

impl Transaction {
    /// Reads a whole transaction, or a message alone, which gets empty slots.
    ///
    /// The bytes must be those that would be written for what was read. So nothing follows them, nothing is encoded in a
    /// second way, and what is signed is what was sent.
    ///
    /// # Errors
    /// What is wrong, to be put after the name of the field.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, &'static str> {
        // Some messages can also be read as a whole transaction, one that makes no sense: of two signatures and accounts that are
        // not there. What makes sense is what was meant.
        let readings = [
            whole(bytes),
            message(bytes).map(VersionedTransaction::new_unsigned),
        ];
        let mut readings = readings.into_iter().flatten().peekable();
        if readings.peek().is_none() {
            return Err(
                "is no Solana transaction or message: legacy, v0 or v1, with nothing after it",
            );
        }
        let parsed = readings
            .find(|parsed| parsed.sanitize().is_ok())
            .ok_or("contradicts itself: a count or an index does not fit its accounts")?;
        Self::laid_out(&parsed).ok_or("is too large: 1232 bytes with all signatures, v1 4096")
    }

    /// None when it is larger than the network takes.
    fn laid_out(parsed: &VersionedTransaction) -> Option<Self> {
        let bytes = wincode::serialize(parsed).ok()?;
        let message = wincode::serialize(&parsed.message).ok()?.len();
        let signatures = parsed.signatures.len().checked_mul(SIGNATURE_LENGTH)?;
        let (most, message, slots) = match parsed.message {
            VersionedMessage::Legacy(_) | VersionedMessage::V0(_) => {
                let start = bytes.len().checked_sub(message)?;
                (
                    LEGACY_MAX,
                    start..bytes.len(),
                    start.checked_sub(signatures)?,
                )
            }
            VersionedMessage::V1(_) => (TRANSACTION_MAX, 0..message, message),
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

    /// What signatures are over.
    pub(super) fn message(&self) -> &[u8] {
        self.bytes.get(self.message.clone()).unwrap_or_default()
    }

    /// The slot for the signature of a key, when it is among those that must sign.
    pub(super) fn slot_of(&self, public_key: &[u8]) -> Option<usize> {
        self.signers.iter().position(|signer| signer == public_key)
    }

    /// As it goes over the wire, with a signature in a slot; the other slots stay as they came. None when there is no
    /// such slot.
    pub(super) fn signed(
        &self,
        slot: usize,
        signature: &[u8; SIGNATURE_LENGTH],
    ) -> Option<Vec<u8>> {
        let mut bytes = self.bytes.clone();
        bytes.get_mut(self.place(slot)?)?.copy_from_slice(signature);
        Some(bytes)
    }

    /// Whether every signature but that of one slot is there, and is one of its signer over this message.
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

/// Whether bytes are, from the first to the last, a message or a whole transaction in whose list of accounts a key
/// stands. This is more than [`Transaction::parse`] takes: what is too large or makes no sense today is refused a
/// signature all the same.
pub(super) fn concerns(bytes: &[u8], public_key: &[u8]) -> bool {
    // Text does not hold the bytes of the key, and most of what is signed is text.
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
