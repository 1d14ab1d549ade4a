//! `xlm_transaction` and contract authorizations: XDR from raw bytes.
//!
//! The first byte chooses between the two, and the environment. The signature must verify over the returned hash, and a signed envelope
//! must not be signed twice.

#![no_main]

use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use libfuzzer_sys::fuzz_target;
use serde_json::{Map, Value, json};
use vestry_domain::Environment;
use vestry_domain::signing::{Signed, SigningRequest};
use vestry_domain::wallet::WalletType;
use vestry_fuzz::input::choice;
use vestry_fuzz::wallets::{CHAINS, FuzzWallet, text};

static WALLETS: LazyLock<[FuzzWallet; 2]> = LazyLock::new(|| {
    [Environment::Test, Environment::Live]
        .map(|environment| FuzzWallet::new(WalletType::Stellar, environment))
});

/// Verifies with Solana's check, because both use ed25519.
fn verify(wallet: &FuzzWallet, signed: &Signed) {
    let address = bs58::encode(&wallet.public_key).into_string();
    let hash = hex::decode(text(signed, "hash")).unwrap();
    let signature = text(signed, "signature");
    let verified = CHAINS.verify_own(WalletType::Solana, &address, &hash, signature);
    assert_eq!(verified, Ok(()));
}

fuzz_target!(|data: &[u8]| {
    let Some((options, xdr)) = choice(data) else {
        return;
    };
    let wallet = &WALLETS[options & 1];
    let xdr = STANDARD.encode(xdr);
    if options & 2 != 0 {
        let mut params = Map::new();
        params.insert("auth_entry".to_owned(), Value::String(xdr));
        let name = "xlm_signAuthEntry".to_owned();
        if let Some(signed) = wallet.sign(&SigningRequest::Method { name, params }) {
            verify(wallet, &signed);
        }
        return;
    }
    let sign = |xdr: &str| wallet.sign_transaction(json!({"xdr": xdr}));
    let Some(signed) = sign(&xdr) else { return };
    verify(wallet, &signed);
    let again = sign(text(&signed, "signed_transaction"));
    assert_eq!(again.as_ref(), Some(&signed), "signed twice");
});
