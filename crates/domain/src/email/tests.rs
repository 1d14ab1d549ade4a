//! Attack 5 (Unicode and case collisions), and the malformed input of B6.

mod oracle;

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
fn attack_5_r2_case_normal_form_and_kind_of_label_make_one_identity() {
    for (left, right) in [
        ("Mike@Example.COM", "mike@example.com"),
        ("  mike@example.com\n", "mike@example.com"),
        ("x@B\u{fc}cher.example", "x@xn--bcher-kva.example"),
        ("x@fa\u{df}.de", "X@XN--FA-HIA.de"),
        ("\u{e9}@example.com", "e\u{301}@example.com"),
        ("\u{c9}@example.com", "e\u{301}@example.com"),
        ("x@example\u{3002}com", "x@example.com"),
        // A letter and a mark with a composed form only in lower case.
        ("J\u{30c}@example.com", "\u{1f0}@example.com"),
        ("\u{3aa}\u{301}@example.com", "\u{390}@example.com"),
        ("\u{391}\u{3a3}@example.com", "\u{3b1}\u{3c3}@example.com"),
        ("\u{1e9e}@example.com", "\u{df}@example.com"),
        ("\u{13a0}@example.com", "\u{ab70}@example.com"),
    ] {
        assert_eq!(identity(left), identity(right), "{left:?} and {right:?}");
    }
}

#[test]
fn attack_5_different_people_stay_different() {
    // The dotless i of GitHub's 2016 password-reset bug, and Cyrillic letters that look like Latin ones.
    for (left, right) in [
        ("m\u{131}ke@example.com", "mike@example.com"),
        ("\u{430}dmin@example.com", "admin@example.com"),
        ("mike@ex\u{430}mple.com", "mike@example.com"),
        ("x@fa\u{df}.de", "x@fass.de"),
        ("stra\u{df}e@example.com", "strasse@example.com"),
        ("\u{3b1}\u{3c2}@example.com", "\u{3b1}\u{3c3}@example.com"),
        ("i\u{307}@example.com", "i@example.com"),
    ] {
        assert_ne!(identity(left), identity(right), "{left:?} and {right:?}");
    }
}

#[test]
fn attack_5_look_alikes_are_refused_before_the_at_sign() {
    for odd in [
        // Replaced by NFKC.
        '\u{fb01}',
        '\u{17f}',
        '\u{ff4d}',
        '\u{1d526}',
        '\u{1d2e}',
        '\u{aa}',
        '\u{b5}',
        '\u{2460}',
        '\u{3f4}',
        '\u{ff20}',
        // Replaced by NFC.
        '\u{212a}',
        '\u{2126}',
        '\u{212b}',
        '\u{1fef}',
        '\u{1f71}',
        '\u{37e}',
        '\u{374}',
        '\u{340}',
        '\u{f900}',
        '\u{2f800}',
        // Its lower-case form depends on the rule.
        '\u{130}',
        // Private use, or not assigned yet.
        '\u{e000}',
        '\u{378}',
        '\u{fdd0}',
        '\u{10ffff}',
    ] {
        for local in [format!("{odd}"), format!("a{odd}"), format!("{odd}a")] {
            let refused = Email::parse(&format!("{local}@example.com"));
            assert!(refused.is_err(), "{odd:?} is accepted in {local:?}");
        }
    }
    assert!(Email::parse("I\u{307}@example.com").is_err());
    // Composing several characters does not count as replacing one.
    assert_eq!(
        identity("\u{958}@example.com"),
        identity("\u{915}\u{93c}@example.com")
    );
}

/// No local part with one of these characters has an identity that is rejected, or that has a different identity.
#[test]
fn attack_5_an_identity_is_its_own_identity() {
    let mut accepted = 0;
    for c in ('\0'..='\u{1ffff}').filter(|c| !c.is_whitespace()) {
        let has_case = c.is_lowercase() || c.is_uppercase();
        let marks = ["", "\u{301}", "\u{307}", "\u{30c}", "\u{345}"];
        for mark in marks.into_iter().take(if has_case { 5 } else { 1 }) {
            let Ok(email) = Email::parse(&format!("{c}{mark}@example.com")) else {
                continue;
            };
            accepted += 1;
            let compared = email.identity().as_str();
            assert_eq!(identity(compared), compared, "{c:?}{mark:?}");
        }
    }
    println!("{accepted} local parts were accepted");
    assert!(accepted > 90_000, "{accepted}");
}

#[test]
fn mail_goes_to_the_local_part_as_sent_and_the_domain_in_ascii() {
    let email = Email::parse("J\u{f6}rg@B\u{dc}CHER.example").unwrap();
    assert_eq!(email.destination(), "J\u{f6}rg@xn--bcher-kva.example");
    assert_eq!(
        email.folded(),
        "j\u{f6}rg@xn--bcher-kva.example j\u{f6}rg@b\u{fc}cher.example"
    );
    assert_eq!(Email::parse("A@B.example").unwrap().folded(), "a@b.example");
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
    // 249 octets as sent; every label grows in ASCII.
    let long_in_ascii = format!("mike@{}com", "\u{fc}\u{fc}.".repeat(48));
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
        "mike@127.0.0.1",
        "mike@example.0x1",
        "mike@example.123",
        "mike@example.\u{967}",
        "mike@ex--ample.com",
        "mike@xn--a.com",
        "mike@a\u{200d}b.com",
        &long_in_ascii,
        "<mike@example.com>",
        &long_local,
        &long,
    ] {
        let refused = Email::parse(text).expect_err(text);
        assert_eq!(refused.param, "email");
        assert!(
            text.trim().is_empty() || !refused.message.contains(text.trim()),
            "the message repeats the value: {refused}"
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
            let again = Email::parse(email.identity().as_str()).expect("an identity is a valid address");
            prop_assert_eq!(again.identity(), email.identity());
        }
    }
}
