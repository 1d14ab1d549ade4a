//! Transactions of types 0 to 4: EIP-155 legacy, EIP-2930, EIP-1559, EIP-4844, EIP-7702.
//!
//! The request is signed exactly as written: no field that could send money elsewhere has a default.

mod blobs;
mod kind;
mod lists;

use alloy_consensus::transaction::RlpEcdsaEncodableTx;
use alloy_consensus::{
    BlobTransactionSidecarEip7594, EthereumTypedTransaction, SignableTransaction, TxEip1559,
    TxEip2930, TxEip4844, TxEip4844Variant, TxEip7702, TxLegacy,
};
use alloy_eips::eip7702::SignedAuthorization;
use alloy_primitives::{Address, Bytes, Signature, TxKind, U256, hex};
use serde_json::Value;
use vestry_domain::Invalid;
use vestry_domain::random::ByteSource;
use vestry_domain::signing::{Fields, Signed};

use super::Ethereum;
use super::digest::SignsDigest;
use super::fields::{Field, Object};
use crate::{ChainError, Prepared, PrivateKey, Signer};
use kind::Kind;
use lists::Carrier;

/// A transaction without its signature.
type Unsigned = EthereumTypedTransaction<TxEip4844Variant<BlobTransactionSidecarEip7594>>;

/// The maximum length of `data` in bytes. Nodes accept no transaction over 128 KiB, blobs excluded (go-ethereum, `txMaxSize`).
const MAX_DATA: usize = 128 * 1024;
/// The largest chain id: the greatest whose EIP-155 `v` fits into 64 bits (EIP-2294).
const MAX_CHAIN_ID: u64 = u64::MAX / 2 - 36;

/// The calling endpoint, which determines the form of the response.
#[derive(Clone, Copy)]
pub(super) enum Answer {
    /// `sign_transaction`: `signature` and `signed_transaction`.
    Transaction,
    /// `eth_signTransaction`: `signed_transaction` and `encoding`.
    Method,
}

/// Signs a transaction and encodes it for broadcasting.
pub(super) struct SignsTransaction<'a> {
    digest: SignsDigest<'a>,
    unsigned: Unsigned,
    answer: Answer,
}

impl<'a> SignsTransaction<'a> {
    /// Reads a transaction.
    ///
    /// # Errors
    /// [`Invalid`] with the path of the field.
    pub(super) fn read(
        chain: &'a Ethereum,
        field: &Field<'_>,
        signer: Signer<'_>,
        answer: Answer,
    ) -> Result<Self, Invalid> {
        let unsigned = read(chain, &field.object()?, signer)?;
        let digest = SignsDigest::new(chain, &unsigned.encoded_for_signing(), signer);
        Ok(Self {
            digest,
            unsigned,
            answer,
        })
    }
}

impl Prepared for SignsTransaction<'_> {
    fn sign(&self, key: &PrivateKey, _source: &mut dyn ByteSource) -> Result<Signed, ChainError> {
        let bytes = self.digest.signature(key)?;
        let signature =
            Signature::from_raw(&bytes).map_err(|_no_signature| ChainError::Signature)?;
        let mut encoded = Vec::with_capacity(self.unsigned.eip2718_encoded_length(&signature));
        self.unsigned.eip2718_encode(&signature, &mut encoded);

        let encoded = hex::encode_prefixed(encoded);
        let members = match self.answer {
            Answer::Transaction => [
                ("signature", hex::encode_prefixed(bytes)),
                ("signed_transaction", encoded),
            ],
            Answer::Method => [
                ("signed_transaction", encoded),
                ("encoding", "rlp".to_owned()),
            ],
        };
        let members = members.map(|(name, text)| (name.to_owned(), Value::String(text)));
        Ok(Signed {
            fields: Fields::from_iter(members),
            payload: self.digest.payload,
        })
    }
}

fn read(chain: &Ethereum, object: &Object<'_>, signer: Signer<'_>) -> Result<Unsigned, Invalid> {
    let kind = Kind::of(object)?;
    check_sender(object, signer)?;
    let common = Common::read(object)?;
    match kind {
        Kind::Legacy => legacy(object, common).map(Unsigned::Legacy),
        Kind::AccessList => access_list(object, common).map(Unsigned::Eip2930),
        Kind::DynamicFee => dynamic_fee(object, common).map(Unsigned::Eip1559),
        Kind::Blob => blob(object, common).map(Unsigned::Eip4844),
        Kind::SetCode => {
            let carrier = Carrier {
                chain,
                chain_id: common.chain_id,
                nonce: common.nonce,
                sender: signer.address,
            };
            let authorizations = lists::authorizations(object, &carrier)?;
            set_code(object, common, authorizations).map(Unsigned::Eip7702)
        }
    }
}

fn check_sender(object: &Object<'_>, signer: Signer<'_>) -> Result<(), Invalid> {
    match object.find("from") {
        Some(from) if from.address()?.to_checksum(None) != signer.address => {
            Err(from.refuse("is the address of another wallet"))
        }
        _ => Ok(()),
    }
}

/// The fields that all transaction types have.
struct Common {
    chain_id: u64,
    nonce: u64,
    gas_limit: u64,
    to: Option<Address>,
    value: U256,
    input: Bytes,
}

impl Common {
    fn read(object: &Object<'_>) -> Result<Self, Invalid> {
        Ok(Self {
            chain_id: chain_id(&object.need("chainId")?)?,
            nonce: nonce(&object.need("nonce")?)?,
            gas_limit: object.need_aliased(&["gas", "gasLimit"], Field::u64)?,
            to: object.find("to").map(|to| to.address()).transpose()?,
            value: match object.find("value") {
                Some(value) => value.quantity()?,
                None => U256::ZERO,
            },
            input: object
                .aliased(&["data", "input"], |field| field.bytes(MAX_DATA))?
                .unwrap_or_default(),
        })
    }

    /// The recipient, or contract creation with `data` as the code if there is none.
    ///
    /// If `data` is missing too, the recipient was forgotten: `value` would be lost in a contract without code.
    fn target(&self, object: &Object<'_>) -> Result<TxKind, Invalid> {
        match self.to {
            Some(to) => Ok(TxKind::Call(to)),
            None if self.input.is_empty() => Err(Invalid::missing(object.path("to"))),
            None => Ok(TxKind::Create),
        }
    }

    /// The required recipient: blob and set-code transactions cannot create contracts (EIP-4844 and EIP-7702, "to must not be nil").
    fn recipient(&self, object: &Object<'_>) -> Result<Address, Invalid> {
        self.to.ok_or_else(|| Invalid::missing(object.path("to")))
    }
}

/// A chain id other than 0. In EIP-155, 0 meant "none", and a signature for no chain would be valid on every chain.
pub(super) fn chain_id(field: &Field<'_>) -> Result<u64, Invalid> {
    let number = field.u64()?;
    if (1..=MAX_CHAIN_ID).contains(&number) {
        return Ok(number);
    }
    Err(field.refuse(&format!("must be a chain id from 0x1 to {MAX_CHAIN_ID:#x}")))
}

/// A nonce below 2^64 − 1, which is never reached (EIP-2681).
pub(super) fn nonce(field: &Field<'_>) -> Result<u64, Invalid> {
    match field.u64()? {
        u64::MAX => Err(field.refuse("must be less than 2^64 - 1")),
        number => Ok(number),
    }
}

struct Fees {
    most: u128,
    priority: u128,
}

impl Fees {
    /// Rejects a priority fee above the maximum fee, because no node accepts such a transaction (EIP-1559).
    fn read(object: &Object<'_>) -> Result<Self, Invalid> {
        let most = object.need("maxFeePerGas")?.u128()?;
        let field = object.need("maxPriorityFeePerGas")?;
        let priority = field.u128()?;
        if priority > most {
            return Err(field.refuse("must be at most maxFeePerGas"));
        }
        Ok(Self { most, priority })
    }
}

fn legacy(object: &Object<'_>, common: Common) -> Result<TxLegacy, Invalid> {
    Ok(TxLegacy {
        chain_id: Some(common.chain_id),
        nonce: common.nonce,
        gas_price: object.need("gasPrice")?.u128()?,
        gas_limit: common.gas_limit,
        to: common.target(object)?,
        value: common.value,
        input: common.input,
    })
}

fn access_list(object: &Object<'_>, common: Common) -> Result<TxEip2930, Invalid> {
    Ok(TxEip2930 {
        chain_id: common.chain_id,
        nonce: common.nonce,
        gas_price: object.need("gasPrice")?.u128()?,
        gas_limit: common.gas_limit,
        to: common.target(object)?,
        value: common.value,
        access_list: lists::access(object)?,
        input: common.input,
    })
}

fn dynamic_fee(object: &Object<'_>, common: Common) -> Result<TxEip1559, Invalid> {
    let fees = Fees::read(object)?;
    Ok(TxEip1559 {
        chain_id: common.chain_id,
        nonce: common.nonce,
        gas_limit: common.gas_limit,
        max_fee_per_gas: fees.most,
        max_priority_fee_per_gas: fees.priority,
        to: common.target(object)?,
        value: common.value,
        access_list: lists::access(object)?,
        input: common.input,
    })
}

fn blob(
    object: &Object<'_>,
    common: Common,
) -> Result<TxEip4844Variant<BlobTransactionSidecarEip7594>, Invalid> {
    let fees = Fees::read(object)?;
    let transaction = TxEip4844 {
        chain_id: common.chain_id,
        nonce: common.nonce,
        gas_limit: common.gas_limit,
        max_fee_per_gas: fees.most,
        max_priority_fee_per_gas: fees.priority,
        to: common.recipient(object)?,
        value: common.value,
        access_list: lists::access(object)?,
        blob_versioned_hashes: blobs::versioned_hashes(object)?,
        max_fee_per_blob_gas: object.need("maxFeePerBlobGas")?.u128()?,
        input: common.input,
    };
    Ok(
        match blobs::sidecar(object, &transaction.blob_versioned_hashes)? {
            None => TxEip4844Variant::TxEip4844(transaction),
            Some(sidecar) => {
                TxEip4844Variant::TxEip4844WithSidecar(transaction.with_sidecar(sidecar))
            }
        },
    )
}

fn set_code(
    object: &Object<'_>,
    common: Common,
    authorization_list: Vec<SignedAuthorization>,
) -> Result<TxEip7702, Invalid> {
    let fees = Fees::read(object)?;
    Ok(TxEip7702 {
        chain_id: common.chain_id,
        nonce: common.nonce,
        gas_limit: common.gas_limit,
        max_fee_per_gas: fees.most,
        max_priority_fee_per_gas: fees.priority,
        to: common.recipient(object)?,
        value: common.value,
        access_list: lists::access(object)?,
        authorization_list,
        input: common.input,
    })
}
