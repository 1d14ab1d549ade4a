//! `eth_transaction`: another library must parse the signed transaction, with the same hash and sender.
//!
//! `ethereum` 0.18 supports types 0, 1, 2 and 4; of type 3 only the signed hash is not compared.

#![no_main]

use std::sync::LazyLock;

use ethereum::{EnvelopedDecodable, EnvelopedEncodable, TransactionV3};
use k256::ecdsa::{RecoveryId, Signature, VerifyingKey};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use sha3::{Digest, Keccak256};
use vestry_domain::Environment;
use vestry_domain::wallet::WalletType;
use vestry_fuzz::wallets::{FuzzWallet, text};

static WALLET: LazyLock<FuzzWallet> =
    LazyLock::new(|| FuzzWallet::new(WalletType::Ethereum, Environment::Live));

fuzz_target!(|data: &[u8]| {
    let Ok(transaction) = serde_json::from_slice::<Value>(data) else {
        return;
    };
    let Some(signed) = WALLET.sign_transaction(transaction) else {
        return;
    };
    let bytes = |name: &str| hex::decode(text(&signed, name).trim_start_matches("0x")).unwrap();
    let (raw, signature) = (bytes("signed_transaction"), bytes("signature"));
    if raw.first() == Some(&3) {
        return;
    }
    let decoded = <TransactionV3 as EnvelopedDecodable>::decode(&raw).expect("a transaction");
    assert_eq!(decoded.encode(), raw, "encoded by the other library");
    assert_eq!(decoded.hash().0[..], Keccak256::digest(&raw)[..], "hash");
    let signed_hash = match decoded {
        TransactionV3::Legacy(it) => it.to_message().hash(),
        TransactionV3::EIP2930(it) => it.to_message().hash(),
        TransactionV3::EIP1559(it) => it.to_message().hash(),
        TransactionV3::EIP7702(it) => it.to_message().hash(),
    };
    assert_eq!(
        signer(&signed_hash.0, &signature),
        WALLET.address.to_lowercase()
    );
});

/// The address that signed the hash.
fn signer(hash: &[u8], signature: &[u8]) -> String {
    let (compact, v) = signature.split_at(64);
    let compact = Signature::from_slice(compact).expect("two numbers");
    let parity = RecoveryId::from_byte(v[0] - 27).expect("a parity");
    let key = VerifyingKey::recover_from_prehash(hash, &compact, parity).expect("a key");
    let point = key.to_encoded_point(false);
    let digest = Keccak256::digest(&point.as_bytes()[1..]);
    format!("0x{}", hex::encode(&digest[12..]))
}
