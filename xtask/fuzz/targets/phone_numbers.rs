//! Phone numbers: a parsed number must print as itself, be valid in a row, and lie in a range.

#![no_main]

use libfuzzer_sys::fuzz_target;
use vestry_domain::phone::PhoneNumber;

fuzz_target!(|text: &str| {
    let _ = vestry_domain::phone::country(text);
    if let Ok(stored) = PhoneNumber::stored(text.to_owned()) {
        let _ = stored.range();
    }
    let Ok(number) = PhoneNumber::parse(text) else {
        return;
    };
    assert!(
        PhoneNumber::parse(number.as_str()) == Ok(number.clone()),
        "read again"
    );
    assert!(
        PhoneNumber::stored(number.as_str().to_owned()) == Ok(number.clone()),
        "stored"
    );
    let range = number.range();
    assert!(number.as_str().starts_with(&range.prefix), "range");
});
