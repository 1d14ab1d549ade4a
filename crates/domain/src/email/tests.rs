//! Attack 5 (Unicode and case collisions) and the bad input of B6.

use proptest::prelude::*;

use super::*;

fn identity(text: &str) -> String {
    Email::parse(text)
        .unwrap_or_else(|error| panic!("{text:?}: {error}"))
        .identity()
        .as_str()
        .to_owned()
}

#[test]
fn attack_5_spellings_of_one_identity() {
    for (left, right) in [
        ("Mike@Example.COM", "mike@example.com"),
        ("  mike@example.com\n", "mike@example.com"),
        ("ＭＩＫＥ@example.com", "mike@example.com"),
        ("ᴮᴵᴳᴮᴵᴿᴰ@example.com", "bigbird@example.com"),
        ("stra\u{df}e@example.com", "STRASSE@example.com"),
        ("x@B\u{fc}cher.example", "x@xn--bcher-kva.example"),
        ("\u{e9}@example.com", "e\u{301}@example.com"),
        ("x@example\u{3002}com", "x@example.com"),
    ] {
        assert_eq!(identity(left), identity(right), "{left:?} and {right:?}");
    }
}

#[test]
fn attack_5_different_people_stay_different() {
    // The dotless i of GitHub's 2016 password reset, and the Cyrillic letters that look like Latin ones.
    for (left, right) in [
        ("m\u{131}ke@example.com", "mike@example.com"),
        ("\u{430}dmin@example.com", "admin@example.com"),
        ("mike@ex\u{430}mple.com", "mike@example.com"),
    ] {
        assert_ne!(identity(left), identity(right), "{left:?} and {right:?}");
    }
}

#[test]
fn the_address_is_kept_as_sent() {
    let email = Email::parse(" Mike.Tyson+Box@Example.com ").unwrap();
    assert_eq!(email.address(), "Mike.Tyson+Box@Example.com");
    assert_eq!(
        format!("{email:?} {:?}", email.identity()),
        "[redacted] [redacted]"
    );
}

#[test]
fn b6_refused() {
    let long_local = format!("{}@example.com", "a".repeat(65));
    let long = format!(
        "{}@{}.example.com",
        "a".repeat(60),
        ["b".repeat(60), "c".repeat(60), "d".repeat(60)].join(".")
    );
    for text in [
        "",
        "   ",
        "mike",
        "mike@",
        "@example.com",
        "a@b@example.com",
        "mike@example",
        "mike@example.com.",
        "mike\u{ff20}example.com",
        "a\u{ff20}b@example.com",
        "mi ke@example.com",
        "\"mi ke\"@example.com",
        "mike@exa mple.com",
        "mike\0@example.com",
        "mike@example.com\0",
        "mike\r\nBcc: x@example.com",
        ".mike@example.com",
        "mike.@example.com",
        "mi..ke@example.com",
        "mike@-example.com",
        "mike@exa_mple.com",
        "mi\u{200b}ke@example.com",
        "mi\u{202e}ke@example.com",
        "mike@[127.0.0.1]",
        "<mike@example.com>",
        &long_local,
        &long,
    ] {
        let refused = Email::parse(text).expect_err(text);
        assert_eq!(refused.param, "email");
        assert!(
            text.trim().is_empty() || !refused.message.contains(text.trim()),
            "the value is repeated: {refused}"
        );
    }
}

#[test]
fn b6_longest_accepted() {
    let local = "a".repeat(64);
    assert!(Email::parse(&format!("{local}@example.com")).is_ok());
}

proptest! {
    #[test]
    fn attack_5_identity_is_a_fixed_point(text in "\\PC{1,20}@\\PC{1,12}\\.[a-z]{2,3}") {
        if let Ok(email) = Email::parse(&text) {
            let again = Email::parse(email.identity().as_str()).expect("an identity is itself an address");
            prop_assert_eq!(again.identity(), email.identity());
        }
    }
}
