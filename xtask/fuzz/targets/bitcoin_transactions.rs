//! `btc_transaction`: PSBTs of version 0 and 2 from raw bytes, for a P2WPKH and a P2TR wallet.
//!
//! A signed PSBT must parse, and sign again.

#![no_main]

use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use libfuzzer_sys::fuzz_target;
use serde_json::json;
use vestry_domain::Environment;
use vestry_domain::wallet::{AddressForm, WalletType};
use vestry_fuzz::input::choice;
use vestry_fuzz::wallets::{CHAINS, FuzzWallet, text};

static WALLETS: LazyLock<[FuzzWallet; 4]> = LazyLock::new(|| {
    let usual = |environment| FuzzWallet::new(WalletType::Bitcoin, environment);
    let taproot = |environment| {
        let mut wallet = usual(environment);
        let address = CHAINS.get(WalletType::Bitcoin).address_in_form(
            &wallet.public_key,
            environment,
            AddressForm::Taproot,
        );
        wallet.address = address.expect("a Taproot address");
        wallet
    };
    let (test, live) = (Environment::Test, Environment::Live);
    [usual(test), usual(live), taproot(test), taproot(live)]
});

fuzz_target!(|data: &[u8]| {
    let Some((options, psbt)) = choice(data) else {
        return;
    };
    let (wallet, finalize) = (&WALLETS[options & 3], options & 4 != 0);
    let request = |psbt: &str, finalize: bool| json!({"psbt": psbt, "finalize": finalize});
    let signed = wallet.sign_transaction(request(&STANDARD.encode(psbt), finalize));
    let Some(signed) = signed else { return };
    if !finalize {
        let again = wallet.sign_transaction(request(text(&signed, "signed_transaction"), false));
        assert!(again.is_some(), "signed twice");
    }
});
