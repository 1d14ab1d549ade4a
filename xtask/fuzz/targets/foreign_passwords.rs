//! Password hashes of other services.
//!
//! An admitted hash is converted to the stored form, which must be admitted unchanged. Cheap ones are also compared with a wrong password.

#![no_main]

use libfuzzer_sys::fuzz_target;
use vestry_domain::Secret;
use vestry_domain::password::{Normalization, Password, PasswordHash};
use vestry_fuzz::service::{RUNTIME, passwords};

/// Whether the cost parameters are small. Other hashes are only parsed, because they would take up the whole run.
fn is_cheap(text: &str) -> bool {
    let mut numbers = text
        .split(|c: char| !c.is_ascii_digit())
        .filter(|part| !part.is_empty());
    let costs_little = |part: &str| part.parse::<u32>().is_ok_and(|number| number <= 64);
    // The first numbers are scheme, version and costs. Salt and hash contain digits too, so only the first ones are examined.
    text.starts_with("$argon2") && numbers.by_ref().skip(1).take(4).all(costs_little)
}

fuzz_target!(|text: &str| {
    let hash = PasswordHash {
        normalization: Normalization::Raw,
        text: Secret::new(text.to_owned()),
    };
    let sealable = hash.to_sealable();
    let unsealed = PasswordHash::from_sealable(&sealable).expect("the sealed hash");
    assert_eq!(unsealed.text.expose(), text);
    let Ok(kept) = passwords().admit(&hash) else {
        return;
    };
    let again = passwords().admit(&kept).expect("the stored form");
    assert_eq!(again.text.expose(), kept.text.expose(), "kept");
    let _ = passwords().is_outdated(&kept);
    if is_cheap(kept.text.expose()) {
        let wrong = Password::presented("password", Secret::new("wrong".to_owned()));
        let wrong = wrong.expect("a password");
        // An error means that the primitive rejects the parameters; it must not be a success.
        let same = RUNTIME.block_on(passwords().verify(&wrong, &kept));
        assert!(!same.unwrap_or(false), "a wrong password is right");
    }
});
