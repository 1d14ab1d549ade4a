//! The search of a text for secrets.

use vestry_contract::words::{has_word, reveals};

#[test]
fn a_word_is_found_where_it_stands_alone() {
    for text in [
        "\"code\":\"123456\"",
        "123456",
        "code=123456.",
        "is 123456,",
    ] {
        assert!(has_word(text, "123456"), "{text}");
    }
    for text in ["2026-11-21T10:00:00.123456Z", "1123456", "123456a", "12345"] {
        assert!(!has_word(text, "123456"), "{text}");
    }
}

#[test]
fn a_code_must_stand_alone_and_a_key_is_found_anywhere() {
    let line = "2026-11-21T10:00:00.123456Z key=sk_abc9 to=+14155552671";
    assert!(!reveals(line, "123456"));
    assert!(reveals("it is 123456", "123456"));
    assert!(reveals(line, "abc"));
    assert!(reveals(line, "4155552671"));
}
