//! `dot_transaction`: payloads as JSON, and raw bytes.
//!
//! This covers the encoding of calls and extensions, and the sr25519 signature, which is verified before it is returned.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use vestry_domain::Environment;
use vestry_domain::wallet::WalletType;
use vestry_fuzz::wallets::{FuzzWallet, text};

static WALLET: LazyLock<FuzzWallet> =
    LazyLock::new(|| FuzzWallet::new(WalletType::Polkadot, Environment::Live));

fuzz_target!(|data: &[u8]| {
    let Ok(payload) = serde_json::from_slice::<Value>(data) else {
        return;
    };
    let Some(signed) = WALLET.sign_transaction(payload) else {
        return;
    };
    let signature = hex::decode(text(&signed, "signature").trim_start_matches("0x")).unwrap();
    assert_eq!((signature.len(), signature[0]), (65, 1), "a MultiSignature");
    let Some(whole) = signed.text("signed_transaction") else {
        return;
    };
    // The whole transaction contains the signature, after the length of what follows.
    let whole = hex::decode(whole.trim_start_matches("0x")).unwrap();
    let (prefix, length) = match whole[0] & 3 {
        0 => (1, usize::from(whole[0]) >> 2),
        1 => (
            2,
            usize::from(u16::from_le_bytes([whole[0], whole[1]])) >> 2,
        ),
        _ => {
            let length = u32::from_le_bytes([whole[0], whole[1], whole[2], whole[3]]);
            (4, usize::try_from(length >> 2).unwrap())
        }
    };
    assert_eq!(whole.len(), prefix + length, "length");
    let signer = &whole[prefix + 2..prefix + 34];
    assert_eq!(signer, WALLET.public_key, "signer");
    assert_eq!(whole[prefix + 34..prefix + 99], signature, "signature");
});
