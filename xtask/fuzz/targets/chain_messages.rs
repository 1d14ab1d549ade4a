//! `sign_message` of all chains: encodings, formats, and the guards that keep messages from being transactions.
//!
//! The first byte selects chain and environment, the second the encoding, the third the format; the rest is the text.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use vestry_domain::Environment;
use vestry_domain::signing::{MessageRequest, SigningRequest};
use vestry_domain::wallet::WalletType;
use vestry_fuzz::input::{choice, pick};
use vestry_fuzz::wallets::{self, CHAINS, FuzzWallet, text};

static WALLETS: LazyLock<[[FuzzWallet; 5]; 2]> =
    LazyLock::new(|| [Environment::Test, Environment::Live].map(wallets::all));

const ENCODINGS: [Option<&str>; 6] = [
    None,
    Some("utf-8"),
    Some("hex"),
    Some("base64"),
    Some("base58"),
    Some("latin-1"),
];
const FORMATS: [Option<&str>; 6] = [
    None,
    None,
    None,
    Some("bip322"),
    Some("bip137"),
    Some("other"),
];

fuzz_target!(|data: &[u8]| {
    let Some((wallet, rest)) = choice(data) else {
        return;
    };
    let Some((encoding, rest)) = choice(rest) else {
        return;
    };
    let Some((format, rest)) = choice(rest) else {
        return;
    };
    let Ok(message) = std::str::from_utf8(rest) else {
        return;
    };
    let of_environment = pick(&WALLETS[..], wallet / 5);
    let wallet = pick(&of_environment[..], wallet);
    let encoding = *pick(&ENCODINGS, encoding);
    let request = SigningRequest::Message(MessageRequest {
        message: message.to_owned(),
        encoding: encoding.map(str::to_owned),
        format: pick(&FORMATS, format).map(str::to_owned),
    });
    let Some(signed) = wallet.sign(&request) else {
        return;
    };
    let signature = text(&signed, "signature");
    let is_text = matches!(encoding, None | Some("utf-8"));
    // Wallet sign-in verification must accept this signature.
    if wallet.wallet_type == WalletType::Ethereum && is_text {
        let verified = CHAINS.verify_own(
            WalletType::Ethereum,
            &wallet.address,
            message.as_bytes(),
            signature,
        );
        assert_eq!(verified, Ok(()));
    }
});
