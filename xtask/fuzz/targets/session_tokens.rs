//! Session JWTs: made-up text, and altered tokens. An accepted token must be byte for byte one that was signed here.

#![no_main]

use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use libfuzzer_sys::fuzz_target;
use vestry_domain::signing_key::{Algorithm, SigningKey};
use vestry_fuzz::custody::{House, NOW, id};
use vestry_fuzz::input::{altered, choice, part};
use vestry_ports::tokens::TokenSigner;
use vestry_token_jwt::JwtSigner;

struct Fixture {
    signer: JwtSigner,
    keys: Vec<SigningKey>,
    tokens: Vec<String>,
}

static FIXTURE: LazyLock<Fixture> = LazyLock::new(|| {
    let house = House::new();
    let signer = JwtSigner::new(house.custody.clone());
    let claims = r#"{"sub":"user_1"}"#;
    let (mut keys, mut tokens) = (Vec::new(), Vec::new());
    let algorithms = [Algorithm::ES256, Algorithm::EdDSA, Algorithm::RS256];
    for (number, algorithm) in (10..).zip(algorithms) {
        let key = signer.generate(id(number), house.world, algorithm, NOW, NOW);
        let key = house.wait(key).expect("a signing key");
        tokens.push(house.wait(signer.sign(&key, claims)).expect("a token"));
        keys.push(key);
    }
    Fixture {
        signer,
        keys,
        tokens,
    }
});

fuzz_target!(|data: &[u8]| {
    let Some((options, rest)) = choice(data) else {
        return;
    };
    let right = &FIXTURE.tokens[options % 3];
    let token = match options / 3 % 4 {
        0 => String::from_utf8_lossy(rest).into_owned(),
        1 => String::from_utf8_lossy(&altered(right.as_bytes(), rest)).into_owned(),
        // A header and body from the input in base64, with a valid token's signature.
        2 => {
            let (head, body) = part(rest);
            let (_, signature) = right.rsplit_once('.').expect("a signature");
            let encode = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
            format!("{}.{}.{signature}", encode(head), encode(body))
        }
        // Only the signature from the input, as bytes.
        _ => {
            let (message, signature) = right.rsplit_once('.').expect("a signature");
            let signature = URL_SAFE_NO_PAD.decode(signature).expect("base64url");
            let signature = altered(&signature, rest);
            format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature))
        }
    };
    let accepted = FIXTURE.signer.authenticate(&token, &FIXTURE.keys).is_ok();
    assert_eq!(accepted, FIXTURE.tokens.contains(&token), "{token}");
});
