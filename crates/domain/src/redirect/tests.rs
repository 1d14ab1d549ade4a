//! Attack 17, B11: only what was registered, character by character.

mod tricks;

use std::collections::HashSet;

use proptest::prelude::*;

use super::*;
use tricks::{EXACT, PATTERN_URL, TRICKS};

fn target(url: &str) -> RedirectTarget {
    RedirectTarget::parse(url).unwrap()
}

#[test]
fn attack_17_only_the_registered_url_is_admitted() {
    let distinct: HashSet<_> = TRICKS.iter().collect();
    assert!(distinct.len() == TRICKS.len() && TRICKS.len() >= 200);
    let (exact, pattern) = (target(EXACT), target(PATTERN_URL));
    for trick in TRICKS {
        assert!(!exact.admits(trick), "{trick:?} passes for {EXACT}");
        assert!(!pattern.admits(trick), "{trick:?} passes for {PATTERN_URL}");
        assert_eq!(exact.landing(Some(trick)), None, "{trick:?}");
    }
    assert!(exact.admits(EXACT));
    assert!(!exact.admits("https://other.example.com/callback"));
}

/// The star is one label of the ASCII form, in lower case; neither none nor two, nor the star itself.
#[test]
fn attack_17_a_star_is_one_label() {
    let pattern = target(PATTERN_URL);
    let long = "a".repeat(63);
    for label in ["app", "a", "1", "a-b", "xn--bcher-kva", "shop--1", &long] {
        let url = format!("https://{label}.example.com/callback");
        assert!(pattern.admits(&url), "{url}");
    }
    let too_long = "a".repeat(64);
    for label in [
        "", "*", "A", "a.b", "-a", "a-", "a_b", "a/b", "a@b", "a:b", "ä", &too_long,
    ] {
        let url = format!("https://{label}.example.com/callback");
        assert!(!pattern.admits(&url), "{url}");
    }
    let with_port = target("https://*.example.com:8443/callback");
    assert!(with_port.admits("https://app.example.com:8443/callback"));
    assert!(!with_port.admits(EXACT));
}

/// What everybody could have a host under, or two readers could read differently, is not registered in the first place.
#[test]
fn attack_17_what_cannot_be_told_apart_is_not_registered() {
    for url in [
        "https://*.com/callback",
        "https://*.com./callback",
        "https://*.localhost/callback",
        "https://*.1.2.3.4/callback",
        "https://*.[::1]/callback",
        "https://*.user@example.com/callback",
        "https://*.example.com@evil.example/callback",
        "https://*.example.com\\@evil.example/callback",
        "https://*.*.example.com/callback",
        "https://app.*.example.com/callback",
        "https://app.example.com/*",
        "https://*example.com/callback",
        "http://*.example.com/callback",
        "http://app.example.com/callback",
        "http://localhost.evil.example/callback",
        "https://app.example.com/callback#x",
        "https://app.example.com/callback?token=x",
        "https://app.example.com/callback?x=1&token=",
        "https://app.example.com/callback?%74oken=x",
        "https://user@app.example.com/callback",
        "https://app.example.com/call back",
        "https://app.example.com/call\tback",
        "https://app.example.com\\callback",
        "javascript:alert(1)",
        "data:text/html,x",
        "//app.example.com/callback",
        // Found by `cargo xtask fuzz`: a parser takes any number of slashes.
        "https:/app.example.com/callback",
        "https:///app.example.com/callback",
        "https:app.example.com/callback",
        "https:/app.example.com/://callback",
        "",
    ] {
        assert!(RedirectTarget::parse(url).is_err(), "{url}");
    }
    for url in [
        EXACT,
        PATTERN_URL,
        "https://app.example.com",
        "https://app.example.com:8443/a/b?x=1&y=2",
        "http://localhost:3000/callback",
        "http://127.0.0.1:3000/callback",
        "http://[::1]:3000/callback",
    ] {
        assert_eq!(target(url).as_str(), url);
    }
}

#[test]
fn a_token_is_appended_whatever_the_url_ends_with() {
    for (url, expected) in [
        ("https://a.example.com", "https://a.example.com?token=T"),
        ("https://a.example.com/", "https://a.example.com/?token=T"),
        (
            "https://a.example.com/in",
            "https://a.example.com/in?token=T",
        ),
        (
            "https://a.example.com/in?",
            "https://a.example.com/in?token=T",
        ),
        (
            "https://a.example.com/in?x",
            "https://a.example.com/in?x&token=T",
        ),
        (
            "https://a.example.com/in?x=1",
            "https://a.example.com/in?x=1&token=T",
        ),
        (
            "https://a.example.com/in?x=1&",
            "https://a.example.com/in?x=1&token=T",
        ),
        (
            "https://a.example.com/in?x=?",
            "https://a.example.com/in?x=?&token=T",
        ),
    ] {
        let landing = target(url).landing(Some(url)).unwrap();
        assert_eq!(landing.with_token("T"), expected);
        assert_eq!(target(url).landing(None), Some(landing));
        let read = Url::parse(expected).unwrap();
        let tokens = read.query_pairs().filter(|(name, _)| name == "token");
        assert_eq!(tokens.count(), 1, "{expected}");
    }
}

/// A pattern is no place to go to by itself.
#[test]
fn a_pattern_needs_a_url_that_fits() {
    let pattern = target(PATTERN_URL);
    assert!(pattern.is_pattern() && !target(EXACT).is_pattern());
    assert_eq!(pattern.landing(None), None);
    let Some(landing) = pattern.landing(Some(EXACT)) else {
        panic!("{EXACT} fits {PATTERN_URL}");
    };
    assert_eq!(landing.with_token("T"), format!("{EXACT}?token=T"));
}

proptest! {
    /// An exact URL admits itself and nothing else, however it is edited.
    #[test]
    fn attack_17_no_edit_of_a_url_is_admitted(
        at in 0_usize..=EXACT.len(), cut in 0_usize..4, put in "\\PC{0,3}",
    ) {
        let end = (at + cut).min(EXACT.len());
        let mut edited = EXACT.to_owned();
        edited.replace_range(at..end, &put);
        prop_assert_eq!(target(EXACT).admits(&edited), edited == EXACT);
    }

    /// Whatever a pattern admits is, to a strict reader, https on one label below the registered host, with nothing before
    /// the host, the registered port, path and query, and no fragment.
    #[test]
    fn attack_17_what_a_pattern_admits_is_below_its_host(
        label in "([a-z0-9-]{0,8}|\\PC{0,8})", rest in "(\\.example\\.com/callback|\\PC{0,24})",
    ) {
        let url = format!("https://{label}{rest}");
        if target(PATTERN_URL).admits(&url) {
            // A label that pretends to be an international one is nothing to a strict reader.
            let Ok(read) = Url::parse(&url) else { return Ok(()) };
            prop_assert_eq!(read.scheme(), "https");
            let host = read.domain().unwrap();
            prop_assert_eq!(host.strip_suffix(".example.com").map(|label| label.contains('.')), Some(false));
            prop_assert!(read.username().is_empty() && read.password().is_none());
            prop_assert_eq!((read.port(), read.path()), (None, "/callback"));
            prop_assert_eq!((read.query(), read.fragment()), (None, None));
        }
    }

    /// No text makes the reader panic, and what it takes it keeps.
    #[test]
    fn any_text_is_taken_or_refused(text in "\\PC{0,60}") {
        if let Ok(target) = RedirectTarget::parse(&text) {
            prop_assert_eq!(target.as_str(), &text);
            prop_assert!(target.is_pattern() || target.admits(&text));
        }
    }
}
