//! `xlm_transaction` and `xlm_signTransaction`: envelopes v0, v1 and fee-bump.

use alloy_primitives::hex;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use stellar_xdr::{DecoratedSignature, Signature, SignatureHint, TransactionEnvelope, VecM};
use vestry_domain::random::ByteSource;
use vestry_domain::signing::{Fields, PayloadHash, Signed, SigningRefused};

use super::{network, xdr};
use crate::object::Object;
use crate::{ChainError, Prepared, PrivateKey, Signer, ed25519};

/// The signatures of an envelope, at most 20 (`signatures<20>` in Stellar's XDR).
type Signatures = VecM<DecoratedSignature, 20>;

/// Signs the hash of a transaction, and appends the signature to the envelope unless it is already there.
pub(super) struct SignsEnvelope {
    envelope: TransactionEnvelope,
    hash: [u8; 32],
    public_key: Vec<u8>,
    /// Whether the envelope already has a valid signature by the wallet.
    is_signed: bool,
    both_names: bool,
}

impl SignsEnvelope {
    /// Reads `xdr` and the optional `network_passphrase`.
    ///
    /// The wallet need not be the source of the transaction, because it may be one of several signers of an account.
    ///
    /// # Errors
    /// [`SigningRefused::Denied`] for a network other than the environment's. `xdr` is also rejected if it has no room for another
    /// signature.
    pub(super) fn read(fields: &Object<'_>, signer: Signer<'_>) -> Result<Self, SigningRefused> {
        fields.only(&["xdr", "network_passphrase"])?;
        let text = fields.text("xdr")?;
        network::check(fields, signer.environment)?;
        let envelope: TransactionEnvelope = xdr::read(text, "a TransactionEnvelope")
            .map_err(|rule| fields.refusal("xdr", &rule))?;
        // The library hashes a v0 transaction as the equivalent v1 (CAP-15).
        let hash = envelope
            .hash(network::id(signer.environment))
            .map_err(|_unwritable| fields.refusal("xdr", "cannot be hashed"))?;
        let held = signatures(&envelope);
        let is_signed = held.iter().any(|one| is_by(one, signer.public_key, &hash));
        if !is_signed && held.len() >= held.max_len() {
            let rule = "already has 20 signatures, the maximum";
            return Err(fields.refusal("xdr", rule).into());
        }
        Ok(Self {
            envelope,
            hash,
            public_key: signer.public_key.to_vec(),
            is_signed,
            both_names: false,
        })
    }

    /// Also returns the envelope as `signedXDR`, WalletConnect's name for it.
    pub(super) const fn under_both_names(mut self) -> Self {
        self.both_names = true;
        self
    }

    fn signed(&self, signature: [u8; 64]) -> Option<TransactionEnvelope> {
        let mut envelope = self.envelope.clone();
        if !self.is_signed {
            let (_, hint) = self.public_key.split_last_chunk::<4>()?;
            let place = signatures_mut(&mut envelope);
            let mut held = std::mem::take(place).into_vec();
            held.push(DecoratedSignature {
                hint: SignatureHint(*hint),
                signature: Signature(signature.to_vec().try_into().ok()?),
            });
            *place = held.try_into().ok()?;
        }
        Some(envelope)
    }
}

/// Verified, not just compared: with other software a key can make several valid signatures over one hash.
fn is_by(signature: &DecoratedSignature, public_key: &[u8], hash: &[u8; 32]) -> bool {
    public_key.ends_with(&signature.hint.0)
        && ed25519::verify(public_key, hash, signature.signature.as_ref()).is_ok()
}

/// The signatures of the envelope itself: a fee-bump's own, not those of its inner transaction.
const fn signatures(envelope: &TransactionEnvelope) -> &Signatures {
    match envelope {
        TransactionEnvelope::TxV0(v0) => &v0.signatures,
        TransactionEnvelope::Tx(v1) => &v1.signatures,
        TransactionEnvelope::TxFeeBump(bump) => &bump.signatures,
    }
}

const fn signatures_mut(envelope: &mut TransactionEnvelope) -> &mut Signatures {
    match envelope {
        TransactionEnvelope::TxV0(v0) => &mut v0.signatures,
        TransactionEnvelope::Tx(v1) => &mut v1.signatures,
        TransactionEnvelope::TxFeeBump(bump) => &mut bump.signatures,
    }
}

impl Prepared for SignsEnvelope {
    /// Returns `signature` and `signed_transaction` in base64, and the transaction's `hash` in hex, as shown by explorers.
    fn sign(&self, key: &PrivateKey, _source: &mut dyn ByteSource) -> Result<Signed, ChainError> {
        let signature = ed25519::sign(key, &self.public_key, &self.hash)?;
        let text = self
            .signed(signature)
            .and_then(|envelope| xdr::write(&envelope))
            .ok_or(ChainError::Signature)?;
        let mut answer = Fields::new();
        let mut put =
            |name: &str, text: String| answer.insert(name.to_owned(), Value::String(text));
        put("signature", STANDARD.encode(signature));
        if self.both_names {
            put("signedXDR", text.clone());
        }
        put("signed_transaction", text);
        put("hash", hex::encode(self.hash));
        Ok(Signed {
            fields: answer,
            payload: PayloadHash(self.hash),
        })
    }
}
