//! Plaintexts of imports: the formats of a key or a phrase.
//!
//! The first byte selects chain and environment. The rest is parsed as a plaintext and as a phrase, which must give a key of the address
//! or a refusal. If it is a key, importing any of its usual formats must give that key.

#![no_main]

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use libfuzzer_sys::fuzz_target;
use vestry_domain::Environment;
use vestry_domain::wallet::WalletType;
use vestry_fuzz::input::{choice, pick};
use vestry_fuzz::wallets::CHAINS;

fuzz_target!(|data: &[u8]| {
    let Some((options, plaintext)) = choice(data) else {
        return;
    };
    let chain = CHAINS.get(*pick(&WalletType::ALL, options));
    let environment = *pick(&[Environment::Test, Environment::Live], options / 5);
    let unknown = "an unknown address";
    assert!(chain.import_key(plaintext, unknown, environment).is_err());
    if options & 0x80 != 0 {
        assert!(
            chain
                .import_phrase(plaintext, 0, unknown, environment)
                .is_err()
        );
    }
    let Ok(key) = chain.private_key(plaintext) else {
        return;
    };
    let public_key = chain.public_key(&key).expect("a public key");
    let address = chain.address(&public_key, environment).expect("an address");
    let exported = chain.export_key(&key).expect("an exported key");
    let forms = [
        plaintext.to_vec(),
        exported.to_vec(),
        hex::encode(plaintext).into_bytes(),
        format!("0x{}\n", hex::encode(plaintext)).into_bytes(),
        bs58::encode(&exported[..]).into_vec(),
        STANDARD.encode(plaintext).into_bytes(),
    ];
    for (number, form) in forms.iter().enumerate() {
        let imported = chain.import_key(form, &address, environment);
        let imported = imported.unwrap_or_else(|_| panic!("form {number}"));
        assert_eq!(imported.expose(), key.expose(), "form {number}");
    }
});
