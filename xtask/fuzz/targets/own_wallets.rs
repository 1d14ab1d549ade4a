//! Signatures of external wallets: address, signature and message as text, separated by zero bytes.
//!
//! No signature verifies without the key, and no altered signature does either.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use vestry_domain::Environment;
use vestry_domain::signing::SigningRequest;
use vestry_domain::wallet::WalletType;
use vestry_fuzz::input::{altered, choice, part};
use vestry_fuzz::wallets::{CHAINS, FuzzWallet, text};

const MESSAGE: &str = "example.com wants you to sign in";

/// A wallet and its signature over the message.
static SIGNED: LazyLock<[(FuzzWallet, String); 2]> = LazyLock::new(|| {
    [WalletType::Ethereum, WalletType::Solana].map(|wallet_type| {
        let wallet = FuzzWallet::new(wallet_type, Environment::Live);
        let signed = wallet
            .sign(&SigningRequest::message(MESSAGE))
            .expect("a signature");
        let signature = text(&signed, "signature").to_owned();
        (wallet, signature)
    })
});

fuzz_target!(|data: &[u8]| {
    let Some((options, rest)) = choice(data) else {
        return;
    };
    let (wallet, right) = &SIGNED[options & 1];
    if options & 2 != 0 {
        let (address, rest) = part(rest);
        let (signature, message) = part(rest);
        let (Ok(address), Ok(signature)) =
            (std::str::from_utf8(address), std::str::from_utf8(signature))
        else {
            return;
        };
        let verified = CHAINS.verify_own(wallet.wallet_type, address, message, signature);
        let is_known = message == MESSAGE.as_bytes() && address == wallet.address;
        assert!(verified.is_err() || is_known, "a forgery");
        return;
    }
    let Ok(signature) = String::from_utf8(altered(right.as_bytes(), rest)) else {
        return;
    };
    let message = MESSAGE.as_bytes();
    let verified = CHAINS.verify_own(wallet.wallet_type, &wallet.address, message, &signature);
    // Hex may use other letter case and omit `0x`; `v` 0 and 1 mean 27 and 28.
    let plain = |text: &str| text.trim_start_matches("0x").to_lowercase();
    let means = |text: &str| match wallet.wallet_type {
        WalletType::Ethereum => {
            let text = plain(text);
            match text.split_at_checked(128) {
                Some((compact, "00")) => format!("{compact}1b"),
                Some((compact, "01")) => format!("{compact}1c"),
                _ => text,
            }
        }
        _ => text.to_owned(),
    };
    assert_eq!(
        verified.is_ok(),
        means(&signature) == means(right),
        "{signature}"
    );
});
