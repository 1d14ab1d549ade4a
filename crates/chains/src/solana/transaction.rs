//! `sol_transaction` and `sol_signTransaction`.

use serde_json::Value;
use vestry_domain::Invalid;
use vestry_domain::random::ByteSource;
use vestry_domain::signing::{Fields, PayloadHash, Signed};

use super::encoding::Encoding;
use super::wire::{MAX_TRANSACTION, Transaction};
use crate::object::Object;
use crate::{ChainError, Prepared, PrivateKey, Signer, ed25519};

/// Puts the wallet's signature into its slot of a transaction. The blockhash and other slots are unchanged.
pub(super) struct SignsTransaction {
    transaction: Transaction,
    slot: usize,
    /// Whether the transaction is complete with our signature.
    others_signed: bool,
    encoding: Encoding,
    public_key: Vec<u8>,
}

impl SignsTransaction {
    /// Reads `transaction` and `encoding`, both required.
    ///
    /// # Errors
    /// Also if the wallet is not a required signer, and for unknown members.
    pub(super) fn read(fields: &Object<'_>, signer: Signer<'_>) -> Result<Self, Invalid> {
        fields.only(&["transaction", "encoding"])?;
        let text = fields.text("transaction")?;
        let encoding = Encoding::named(fields.text("encoding")?)
            .ok_or_else(|| fields.refusal("encoding", "must be base64 or base58"))?;
        let bytes = encoding
            .read(text, MAX_TRANSACTION)
            .map_err(|rule| fields.refusal("transaction", &rule))?;
        let transaction =
            Transaction::parse(&bytes).map_err(|rule| fields.refusal("transaction", rule))?;
        let slot = transaction.slot_of(signer.public_key).ok_or_else(|| {
            fields.refusal("transaction", "does not require a signature by this wallet")
        })?;
        Ok(Self {
            others_signed: transaction.others_signed(slot),
            transaction,
            slot,
            encoding,
            public_key: signer.public_key.to_vec(),
        })
    }
}

impl Prepared for SignsTransaction {
    /// Returns `signature`, always in base58, `signed_transaction` in the `encoding` of the request, and `fully_signed`, which is true if
    /// every signature is present and valid.
    fn sign(&self, key: &PrivateKey, _source: &mut dyn ByteSource) -> Result<Signed, ChainError> {
        let signature = ed25519::sign(key, &self.public_key, self.transaction.message())?;
        let signed = self
            .transaction
            .signed(self.slot, &signature)
            .ok_or(ChainError::Signature)?;
        let text = self.encoding.write(&signed);
        let fields = [
            (
                "signature",
                Value::String(Encoding::Base58.write(&signature)),
            ),
            ("signed_transaction", Value::String(text)),
            ("encoding", Value::from(self.encoding.name())),
            ("fully_signed", Value::Bool(self.others_signed)),
        ];
        let fields = fields.map(|(name, value)| (name.to_owned(), value));
        Ok(Signed {
            fields: Fields::from_iter(fields),
            payload: PayloadHash::of(self.transaction.message()),
        })
    }
}
