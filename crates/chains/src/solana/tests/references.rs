//! What solders 0.29.0 (PyPI) and @solana/kit 5.5.1 (npm; 8.4.0 for v1) signed, byte by byte. The files and the
//! scripts that wrote them lie in `vectors`.

use super::*;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};
use vestry_domain::wallet::WalletType;

use crate::Chains;

pub(super) fn solders() -> Value {
    serde_json::from_str(include_str!("../vectors/solders.json")).unwrap()
}

fn kit() -> Value {
    serde_json::from_str(include_str!("../vectors/kit.json")).unwrap()
}

fn kit_v1() -> Value {
    serde_json::from_str(include_str!("../vectors/kit_v1.json")).unwrap()
}

/// Transactions of every kind with what belongs to them, from both libraries.
pub(super) fn transactions() -> Vec<Value> {
    [solders(), kit(), kit_v1()]
        .iter()
        .flat_map(|made| made["transactions"].as_array().unwrap().clone())
        .collect()
}

pub(super) fn string<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap()
}

/// A legacy transfer whose only signer is a wallet, without its signature.
pub(super) fn unsigned_by(wallet: &Wallet) -> String {
    STANDARD.encode([&[1][..], &[0; 64], &transfer(wallet)].concat())
}

/// The message of that transfer: the system program moves one lamport.
pub(super) fn transfer(wallet: &Wallet) -> Vec<u8> {
    let mut message = vec![1, 0, 1, 3];
    message.extend_from_slice(&wallet.public_key);
    message.extend_from_slice(&[0xaa; 32]);
    message.extend_from_slice(&[0; 32]);
    message.extend_from_slice(&[0xbb; 32]);
    message.extend_from_slice(&[1, 2, 2, 0, 1, 12, 2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]);
    message
}

#[test]
fn messages_of_solders_are_signed_alike_and_verify() {
    let chains = Chains::new(&vestry_domain::Secret::new([7; 32]));
    let made = solders();
    let cases = made["messages"].as_array().unwrap();
    assert_eq!(cases.len(), 30);
    for case in cases {
        let wallet = Wallet::of_seed(string(case, "seed"));
        let (message, signature) = (string(case, "text"), string(case, "signature"));
        assert_eq!(wallet.address, string(case, "address"));
        let fields = wallet.sign_message(message, None).unwrap();
        assert_eq!(text(&fields, "signature"), signature);
        let in_base64 = STANDARD.encode(message);
        let params = json!({"message": in_base64, "encoding": "base64"});
        let fields = wallet.rpc("sol_signMessage", params).unwrap();
        assert_eq!(text(&fields, "signature"), string(case, "base64"));
        let verified = chains.verify_own(
            WalletType::Solana,
            &wallet.address,
            message.as_bytes(),
            signature,
        );
        assert_eq!(verified, Ok(()));
    }
}

/// Legacy, v0 and v1 of both: with the other signatures that were there before, and from the message alone (SOL-5, CH-10).
#[test]
fn transactions_of_both_are_signed_alike() {
    let cases = transactions();
    assert_eq!(cases.len(), 74);
    let mut fully = 0;
    for case in &cases {
        let wallet = Wallet::of_seed(string(case, "seed"));
        let request = json!({"transaction": case["before"], "encoding": "base64"});
        let fields = wallet.sign_transaction(request.clone()).unwrap();
        let expected = json!({
            "signature": case["signature"],
            "signed_transaction": case["after"],
            "encoding": "base64",
            "fully_signed": case["fully_signed"],
        });
        assert_eq!(json!(fields), expected, "{}", case["kind"]);
        fully += usize::from(case["fully_signed"] == true);
        for name in ["sol_signTransaction", "signTransaction"] {
            assert_eq!(wallet.rpc(name, request.clone()), Ok(fields.clone()));
        }
        if let Some(alone) = case.get("alone") {
            let request = json!({"transaction": case["message"], "encoding": "base64"});
            let fields = wallet.sign_transaction(request).unwrap();
            assert_eq!(&fields["signed_transaction"], alone);
        }
        // A second time changes nothing.
        let request = json!({"transaction": case["after"], "encoding": "base64"});
        assert_eq!(json!(wallet.sign_transaction(request).unwrap()), expected);
    }
    assert!((10..cases.len()).contains(&fully), "{fully}");
}

/// SOL-4.
#[test]
fn off_chain_messages_of_kit_are_signed_alike() {
    let made = kit();
    let cases = made["offchain"].as_array().unwrap();
    assert_eq!(cases.len(), 48);
    for case in cases {
        let wallet = Wallet::of_seed(string(case, "seed"));
        let message = match &case["text"] {
            Value::String(text) => text.clone(),
            long => {
                let times = usize::try_from(long["times"].as_u64().unwrap()).unwrap();
                string(long, "repeat").repeat(times)
            }
        };
        let params = json!({
            "message": message,
            "version": case["version"],
            "application_domain": case["application_domain"],
        });
        let fields = wallet.rpc("sol_signOffchainMessage", params).unwrap();
        let whole = STANDARD.decode(text(&fields, "offchain_message")).unwrap();
        if let Some(expected) = case["bytes"].as_str() {
            assert_eq!(text(&fields, "offchain_message"), expected);
        }
        assert_eq!(hex::encode(Sha256::digest(&whole)), string(case, "sha256"));
        assert_eq!(text(&fields, "signature"), string(case, "signature"));
        assert_eq!(text(&fields, "encoding"), "base58");
    }
}
