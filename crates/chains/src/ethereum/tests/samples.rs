//! Transactions to start from.

use serde_json::{Value, json};

use super::support::{param, transaction};
use super::*;

/// The example of the API's documentation.
pub(super) fn example() -> Value {
    json!({
        "to": "0xE9534C9fAF3cDBc636c25E1981A80EfaE03f187a",
        "value": "0x38d7ea4c68000",
        "nonce": "0x8",
        "maxPriorityFeePerGas": "0x77359400",
        "maxFeePerGas": "0xdf8475800",
        "gas": "0x5208",
        "chainId": "0x5",
    })
}

/// eth-account 0.14.0 over the same fields (ETH-6).
pub(super) const EXAMPLE_SIGNED: &str = "0x02f87205088477359400850df847580082520894e9534c9faf3cdbc636c25e1981a80efae03f187a87038d7ea4c6800080c080a01c00898e70541765b8f3f17ed4447268771bcf7b1ae4e97949b7215ada02f947a0128c278143782331e81a30a125f0806b6c2e569a4ac05104becb3738e281b5f7";

pub(super) fn with(mut transaction: Value, changes: Value) -> Value {
    let fields = transaction.as_object_mut().unwrap();
    for (name, value) in changes.as_object().unwrap() {
        fields.insert(name.clone(), value.clone());
    }
    transaction
}

pub(super) fn without(mut transaction: Value, name: &str) -> Value {
    transaction.as_object_mut().unwrap().remove(name).unwrap();
    transaction
}

/// An authorization for chain 1 by the key `07…07`, as eth-account 0.14.0 signs it.
pub(super) fn authorization() -> Value {
    json!({
        "chainId": "0x1", "address": "0xe9534c9faf3cdbc636c25e1981a80efae03f187a", "nonce": "0x1",
        "yParity": "0x1",
        "r": "0x598f7ac0058f510e47fdd6251850bd4bd235da1699c29d88a7b78bda949fe2d6",
        "s": "0x2f9312e48e0da8a6802e2668272c3cad8e366f758b39d600f274e2efdee570a9",
    })
}

/// One good transaction of each type.
pub(super) fn every_type() -> [Value; 5] {
    let base = json!({
        "to": "0xe9534c9faf3cdbc636c25e1981a80efae03f187a",
        "nonce": "0x0", "gas": "0x5208", "chainId": "0x1", "data": "0xfe",
    });
    let priced = with(base.clone(), json!({ "gasPrice": "0x3b9aca00" }));
    let dynamic = with(
        base,
        json!({ "maxFeePerGas": "0x2", "maxPriorityFeePerGas": "0x1" }),
    );
    let hash = format!("0x01{}", "22".repeat(31));
    let blob = json!({ "maxFeePerBlobGas": "0x1", "blobVersionedHashes": [hash] });
    [
        priced.clone(),
        with(priced, json!({ "accessList": [] })),
        dynamic.clone(),
        with(dynamic.clone(), blob),
        with(dynamic, json!({ "authorizationList": [authorization()] })),
    ]
}

/// The sender of an encoded transaction, by alloy's decoder and our recovery.
pub(super) fn recovered(encoded: &[u8]) -> String {
    use alloy_consensus::{BlobTransactionSidecarEip7594, EthereumTxEnvelope, TxEip4844Variant};
    use alloy_eips::eip2718::Decodable2718;

    type Envelope = EthereumTxEnvelope<TxEip4844Variant<BlobTransactionSidecarEip7594>>;
    let mut rest = encoded;
    let envelope = Envelope::decode_2718(&mut rest).unwrap();
    assert!(rest.is_empty());
    let digest = envelope.signature_hash();
    let signature = envelope.signature().as_bytes();
    let parsed = parse_signature(&signature).unwrap();
    let point = ethereum()
        .curve
        .recover_ecdsa(&Message::from_digest(digest.0), &parsed)
        .unwrap();
    Ethereum::address_of(&point.serialize()).unwrap()
}

/// The path under which a transaction is refused.
pub(super) fn refused(value: Value) -> String {
    param(transaction(value))
}
