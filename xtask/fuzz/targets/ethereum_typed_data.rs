//! `eth_signTypedData_v4` (EIP-712): types, values and domain as JSON.
//!
//! The signature must not depend on the JSON formatting, and must cover the domain.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use serde_json::{Map, Value, json};
use vestry_domain::Environment;
use vestry_domain::signing::{Signed, SigningRequest};
use vestry_domain::wallet::WalletType;
use vestry_fuzz::wallets::FuzzWallet;

static WALLET: LazyLock<FuzzWallet> =
    LazyLock::new(|| FuzzWallet::new(WalletType::Ethereum, Environment::Live));

fn sign(typed_data: Value) -> Option<Signed> {
    let mut params = Map::new();
    params.insert("typed_data".to_owned(), typed_data);
    WALLET.sign(&SigningRequest::Method {
        name: "eth_signTypedData_v4".to_owned(),
        params,
    })
}

fuzz_target!(|data: &[u8]| {
    let Ok(typed_data) = serde_json::from_slice::<Value>(data) else {
        return;
    };
    let Some(signed) = sign(typed_data.clone()) else {
        return;
    };
    let text = serde_json::to_string_pretty(&typed_data).unwrap();
    let rewritten = serde_json::from_str(&text).unwrap();
    assert_eq!(sign(rewritten).as_ref(), Some(&signed), "rewritten");
    let mut elsewhere = typed_data;
    if let Some(name) = elsewhere.pointer_mut("/domain/name")
        && let Some(old) = name.as_str()
    {
        *name = json!(format!("{old}!"));
        assert_ne!(sign(elsewhere).as_ref(), Some(&signed), "of another domain");
    }
});
