//! `sol_transaction`: legacy, v0 and v1 from raw bytes.
//!
//! The signature must verify over the message as extracted here, and the signed transaction must parse and sign again unchanged.

#![no_main]

use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use libfuzzer_sys::fuzz_target;
use serde_json::json;
use vestry_domain::Environment;
use vestry_domain::signing::{MessageRequest, Signed, SigningRequest};
use vestry_domain::wallet::WalletType;
use vestry_fuzz::wallets::{CHAINS, FuzzWallet, text};

static WALLET: LazyLock<FuzzWallet> =
    LazyLock::new(|| FuzzWallet::new(WalletType::Solana, Environment::Live));

fn sign(bytes: &[u8]) -> Option<Signed> {
    let transaction = json!({"transaction": STANDARD.encode(bytes), "encoding": "base64"});
    WALLET.sign_transaction(transaction)
}

/// The wallet's signature slot and the message after the signatures, for legacy and v0 transactions.
fn message(bytes: &[u8]) -> Option<&[u8]> {
    let (count, rest) = bytes.split_first()?;
    // Above 127 the count has two bytes, but a transaction with that many signatures exceeds the size limit.
    (*count < 0x80).then(|| rest.get(usize::from(*count) * 64..))?
}

fuzz_target!(|data: &[u8]| {
    // The guard of `sign_message` sees the same bytes.
    let as_message = WALLET.sign(&SigningRequest::Message(MessageRequest {
        message: STANDARD.encode(data),
        encoding: Some("base64".to_owned()),
        format: None,
    }));
    let Some(signed) = sign(data) else { return };
    let bytes = STANDARD
        .decode(text(&signed, "signed_transaction"))
        .unwrap();
    assert_eq!(sign(&bytes).as_ref(), Some(&signed), "signed twice");
    drop(as_message);
    // v1 has its signatures after the message.
    if data.first().is_some_and(|first| *first < 0x80)
        && let Some(message) = message(&bytes)
    {
        let signature = text(&signed, "signature");
        let verified = CHAINS.verify_own(WalletType::Solana, &WALLET.address, message, signature);
        assert_eq!(verified, Ok(()));
        // A transaction of this wallet must not be signed as a message.
        let guarded = WALLET.sign(&SigningRequest::Message(MessageRequest {
            message: STANDARD.encode(message),
            encoding: Some("base64".to_owned()),
            format: None,
        }));
        assert_eq!(guarded, None, "a transaction as a message");
    }
});
