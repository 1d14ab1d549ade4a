//! `rpc` of all chains: the first byte selects chain and environment, the second the method, the rest is the JSON of its
//! parameters.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use vestry_domain::Environment;
use vestry_domain::signing::SigningRequest;
use vestry_fuzz::input::{choice, pick};
use vestry_fuzz::wallets::{self, FuzzWallet};

static WALLETS: LazyLock<[[FuzzWallet; 5]; 2]> =
    LazyLock::new(|| [Environment::Test, Environment::Live].map(wallets::all));

/// All methods of all chains, and some unknown ones. Append only, so that the seeds keep their meaning.
const METHODS: [&str; 30] = [
    "personal_sign",
    "eth_personalSign",
    "signMessage",
    "eth_signTypedData_v4",
    "eth_signTransaction",
    "eth_sign7702Authorization",
    "eth_signUserOperation",
    "secp256k1_sign",
    "eth_sendTransaction",
    "eth_sign",
    "sol_signMessage",
    "sol_signOffchainMessage",
    "sol_signTransaction",
    "signTransaction",
    "sol_signAndSendTransaction",
    "btc_signMessage",
    "btc_signPsbt",
    "signPsbt",
    "polkadot_signMessage",
    "dot_signRaw",
    "polkadot_signTransaction",
    "xlm_signMessage",
    "xlm_signTransaction",
    "stellar_signXDR",
    "xlm_signAuthEntry",
    "stellar_signAndSubmitXDR",
    "",
    "sign",
    "eth_signTypedData",
    "signAllTransactions",
];

fuzz_target!(|data: &[u8]| {
    let Some((wallet, rest)) = choice(data) else {
        return;
    };
    let Some((method, rest)) = choice(rest) else {
        return;
    };
    let Ok(params) = serde_json::from_slice(rest) else {
        return;
    };
    let of_environment = pick(&WALLETS[..], wallet / 5);
    let wallet = pick(&of_environment[..], wallet);
    wallet.sign(&SigningRequest::Method {
        name: (*pick(&METHODS, method)).to_owned(),
        params,
    });
});
