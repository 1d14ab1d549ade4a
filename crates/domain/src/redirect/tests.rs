//! Attack 17, B11: only registered URLs match, character by character.

mod tricks;

use std::collections::HashSet;

use proptest::prelude::*;

use super::*;
use tricks::{EXACT, NATIVE, NATIVE_TRICKS, PATTERN_URL, TRICKS};

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

/// Attack 5: an international host has two spellings, and redirects use the one that all browsers interpret alike.
#[test]
fn attack_5_an_international_host_is_compared_in_a_labels() {
    let spellings = |name: &str| {
        [
            format!("https://{name}/in?x=1"),
            format!("https://*.{name}/in?x=1"),
        ]
    };
    let name = "fa\u{df}.example";
    for other in [name, "xn--fa-hia.example"] {
        for (registered, asked) in [(name, other), (other, name)] {
            let [exact, pattern] =
                spellings(registered).map(|url| RedirectTarget::register(&url).unwrap());
            let landing = exact
                .landing(Some(&format!("https://{asked}/in?x=1")))
                .unwrap();
            assert_eq!(
                landing.with_token("T", None),
                "https://xn--fa-hia.example/in?x=1&token=T"
            );
            let landing = exact.landing(None).unwrap();
            assert_eq!(
                landing.with_token("T", None),
                "https://xn--fa-hia.example/in?x=1&token=T"
            );
            let landing = pattern
                .landing(Some(&format!("https://a.{asked}/in?x=1")))
                .unwrap();
            assert_eq!(
                landing.with_token("T", None),
                "https://a.xn--fa-hia.example/in?x=1&token=T"
            );
        }
    }
    for registered in spellings(name)
        .iter()
        .chain(&spellings("xn--fa-hia.example"))
    {
        for other in [
            "fass.example",
            "FA\u{df}.example",
            "XN--FA-HIA.example",
            "fa\u{ff53}\u{ff53}.example",
            "fa\u{df}\u{3002}example",
        ] {
            for url in spellings(other) {
                let url = url.replace('*', "a");
                assert!(!target(registered).admits(&url), "{url} for {registered}");
            }
        }
    }
}

/// None of the tricks matches a native app's URL, and no native app's URL matches a web URL.
#[test]
fn m_24_attack_17_only_the_registered_app_is_admitted() {
    let distinct: HashSet<_> = NATIVE_TRICKS.iter().collect();
    assert!(distinct.len() == NATIVE_TRICKS.len() && NATIVE_TRICKS.len() >= 100);
    for url in NATIVE {
        let native = target(url);
        for trick in TRICKS.iter().chain(NATIVE_TRICKS) {
            assert!(!native.admits(trick), "{trick:?} passes for {url}");
            assert_eq!(native.landing(Some(trick)), None, "{trick:?}");
        }
        for other in NATIVE {
            assert_eq!(native.admits(other), other == url, "{other} for {url}");
        }
        for of_the_web in [EXACT, PATTERN_URL] {
            assert!(!native.admits(of_the_web) && !target(of_the_web).admits(url));
        }
    }
    for trick in NATIVE_TRICKS {
        assert!(
            !target(EXACT).admits(trick) && !target(PATTERN_URL).admits(trick),
            "{trick:?}"
        );
    }
}

/// RFC 8252, section 7.3: an app listens on whichever port is free.
#[test]
fn m_24_a_loopback_address_is_admitted_on_any_port() {
    for (registered, before, after) in [
        ("http://127.0.0.1/callback", "http://127.0.0.1", "/callback"),
        ("http://[::1]/callback?x=1", "http://[::1]", "/callback?x=1"),
        ("http://127.0.0.1", "http://127.0.0.1", ""),
        ("http://127.0.0.1?x=1", "http://127.0.0.1", "?x=1"),
    ] {
        for port in ["", ":1", ":80", ":8080", ":49152", ":65535"] {
            let url = format!("{before}{port}{after}");
            let landing = target(registered).landing(Some(&url));
            assert_eq!(
                landing,
                Some(Landing(url.clone())),
                "{url} for {registered}"
            );
        }
    }
    // A registered port must match exactly, and so must any other name of this machine.
    for (registered, url) in [
        (
            "http://127.0.0.1:3000/callback",
            "http://127.0.0.1:3001/callback",
        ),
        (
            "http://127.0.0.1:3000/callback",
            "http://127.0.0.1/callback",
        ),
        (
            "http://127.0.0.1:3000/callback",
            "http://127.0.0.1:3000:3000/callback",
        ),
        (
            "http://localhost/callback",
            "http://localhost:3000/callback",
        ),
        (
            "http://localhost:3000/callback",
            "http://localhost:3001/callback",
        ),
        (
            "http://127.0.0.2/callback",
            "http://127.0.0.2:3000/callback",
        ),
        (
            "http://127.0.0.10/callback",
            "http://127.0.0.1:3000/callback",
        ),
        (
            "https://127.0.0.1/callback",
            "https://127.0.0.1:3000/callback",
        ),
    ] {
        assert!(!target(registered).admits(url), "{url} for {registered}");
    }
}

/// RFC 8252, section 7.1: a reversed domain name, one slash, and nothing that resembles a web scheme.
#[test]
fn m_24_a_private_use_scheme_is_a_domain_name_in_reverse_order() {
    for url in [
        "com.example.app:/callback",
        "com.example.app:/",
        "com.example.my-app.v2:/oauth/done?flow=sign-in",
        "com.googleusercontent.apps.1234-abc:/oauth2redirect",
        "io.example:/callback",
    ] {
        assert_eq!(RedirectTarget::register(url), Ok(target(url)), "{url}");
        assert!(target(url).admits(url));
        let landed = target(url).landing(None).unwrap().with_token("T", None);
        assert!(
            landed.starts_with(url) && landed.ends_with("token=T"),
            "{landed}"
        );
    }
    for url in [
        // No dot: not owned by anyone.
        "myapp:/callback",
        "myapp://callback",
        "javascript:/callback",
        "javascript:/alert(1)",
        "data:/text/html,x",
        "file:/etc/passwd",
        "mailto:ada@example.com",
        // Like a web scheme.
        "http.example.app:/callback",
        "https.example.app:/callback",
        "httpsx.example:/callback",
        "javascript.example:/callback",
        "data.example:/callback",
        "intent.example:/callback",
        "app.example.com:8443/callback",
        "app.example.com://callback",
        // Invalid names.
        "com..app:/callback",
        ".com.app:/callback",
        "com.app.:/callback",
        "com.-app:/callback",
        "com.app-:/callback",
        "Com.Example.App:/callback",
        "1com.example:/callback",
        "com.example+app:/callback",
        "com.example_app:/callback",
        // Nothing after the scheme, or too much.
        "com.example.app:",
        "com.example.app:callback",
        "com.example.app://callback",
        "com.example.app:///callback",
        "com.example.app:/callback#x",
        "com.example.app:/*",
        "com.example.app:/call back",
        "com.example.app:/cällback",
        "com.example.app:/\"callback\"",
        "com.example.app:/<callback>",
        "com.example.app:/callback?token=x",
        "com.example.app:/callback?x=1&%74oken=",
    ] {
        assert!(RedirectTarget::parse(url).is_err(), "{url}");
    }
}

/// Browsers resolve dot segments before a redirect. URLs that were registered before this check can still be read.
#[test]
fn m_19_dot_segments_are_not_registered() {
    for url in [
        "https://x.example/a/../b",
        "https://x.example/a/./b",
        "https://x.example/..",
        "https://x.example/.",
        "https://x.example/a/..",
        "https://x.example/a/.?x=1",
        "https://x.example/a/%2e%2e/b",
        "https://x.example/a/%2E%2e/b",
        "https://x.example/a/.%2e/b",
        "https://x.example/a/%2e./b",
        "https://x.example/%2E",
        "https://*.x.example/a/../b",
        "http://localhost:3000/a/../b",
        "http://127.0.0.1/a/../b",
        "com.example.app:/a/../b",
        "com.example.app:/%2e%2e",
    ] {
        let refused = RedirectTarget::register(url).unwrap_err();
        assert_eq!(refused.param, "url", "{url}");
        assert!(
            refused
                .message
                .contains("https://app.example.com/b instead of"),
            "{refused}"
        );
        assert_eq!(target(url).as_str(), url);
    }
    for url in [
        "https://x.example/a..b",
        "https://x.example/.../b",
        "https://x.example/.well-known/x",
        "https://x.example/a.b/..c",
        "https://x.example/%2e%2e%2e",
        "https://x.example/%2e%2eb",
        "https://x.example/a?next=/../b",
        EXACT,
        PATTERN_URL,
    ] {
        assert_eq!(RedirectTarget::register(url), Ok(target(url)), "{url}");
    }
}

/// The star matches one label in ASCII form and lower case; neither none nor two, nor the star itself.
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

/// URLs under which anyone could have a host, or that two parsers could read differently, are not registered at all.
#[test]
fn attack_17_ambiguous_urls_are_not_registered() {
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
        // Found by `cargo xtask fuzz`: a parser accepts any number of slashes.
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
        assert_eq!(landing.with_token("T", None), expected);
        assert_eq!(target(url).landing(None), Some(landing));
        let read = Url::parse(expected).unwrap();
        let tokens = read.query_pairs().filter(|(name, _)| name == "token");
        assert_eq!(tokens.count(), 1, "{expected}");
    }
}

/// A pattern alone is not a redirect target.
#[test]
fn a_pattern_needs_a_matching_url() {
    let pattern = target(PATTERN_URL);
    assert!(pattern.is_pattern() && !target(EXACT).is_pattern());
    assert_eq!(pattern.landing(None), None);
    let Some(landing) = pattern.landing(Some(EXACT)) else {
        panic!("{EXACT} matches {PATTERN_URL}");
    };
    assert_eq!(landing.with_token("T", None), format!("{EXACT}?token=T"));
}

proptest! {
    /// An exact URL matches itself and nothing else, however it is edited.
    #[test]
    fn attack_17_no_edit_of_a_url_is_admitted(
        at in 0_usize..=EXACT.len(), cut in 0_usize..4, put in "\\PC{0,3}",
    ) {
        let end = (at + cut).min(EXACT.len());
        let mut edited = EXACT.to_owned();
        edited.replace_range(at..end, &put);
        prop_assert_eq!(target(EXACT).admits(&edited), edited == EXACT);
    }

    /// To a strict parser, every URL that matches a pattern is https with one label before the registered host. It has nothing before the
    /// host, the registered port, path and query, and no fragment.
    #[test]
    fn attack_17_pattern_matches_are_below_its_host(
        label in "([a-z0-9-]{0,8}|\\PC{0,8})", rest in "(\\.example\\.com/callback|\\PC{0,24})",
    ) {
        let url = format!("https://{label}{rest}");
        if target(PATTERN_URL).admits(&url) {
            // A strict parser rejects a label that only looks like an international one.
            let Ok(read) = Url::parse(&url) else { return Ok(()) };
            prop_assert_eq!(read.scheme(), "https");
            let host = read.domain().unwrap();
            prop_assert_eq!(host.strip_suffix(".example.com").map(|label| label.contains('.')), Some(false));
            prop_assert!(read.username().is_empty() && read.password().is_none());
            prop_assert_eq!((read.port(), read.path()), (None, "/callback"));
            prop_assert_eq!((read.query(), read.fragment()), (None, None));
        }
    }

    /// To a strict parser, every URL that matches a loopback address is plain http on that address, with the registered path and query.
    #[test]
    fn m_24_loopback_matches_are_on_this_machine(
        port in "(:[0-9]{0,7}|\\PC{0,8})", rest in "(/callback|\\PC{0,24})",
    ) {
        let url = format!("http://127.0.0.1{port}{rest}");
        if target(NATIVE[0]).admits(&url) {
            let read = Url::parse(&url).unwrap();
            prop_assert_eq!((read.scheme(), read.host_str()), ("http", Some("127.0.0.1")));
            prop_assert!(read.username().is_empty() && read.password().is_none());
            prop_assert_eq!((read.path(), read.query(), read.fragment()), ("/callback", None, None));
        }
    }

    /// An app's URL matches itself and nothing else, however it is edited.
    #[test]
    fn m_24_no_edit_of_an_apps_url_is_admitted(
        at in 0_usize..=NATIVE[2].len(), cut in 0_usize..4, put in "\\PC{0,3}",
    ) {
        let end = (at + cut).min(NATIVE[2].len());
        let mut edited = NATIVE[2].to_owned();
        edited.replace_range(at..end, &put);
        prop_assert_eq!(target(NATIVE[2]).admits(&edited), edited == NATIVE[2]);
    }

    /// No text makes the parser panic, and every accepted text is kept as it is.
    #[test]
    fn any_text_is_accepted_or_rejected(text in "\\PC{0,60}") {
        if let Ok(target) = RedirectTarget::parse(&text) {
            prop_assert_eq!(target.as_str(), &text);
            prop_assert!(target.is_pattern() || target.admits(&text));
        }
    }
}

/// M-2: the state from the start call is returned unchanged after a token and after an error, and the URL is otherwise unchanged.
#[test]
fn m_2_the_callers_state_is_returned() {
    let url = "https://app.example.com/in?a=b";
    let landing = RedirectTarget::parse(url).unwrap().landing(None).unwrap();
    let printable: String = (b' '..=b'~').map(char::from).collect();
    for text in ["x", "a b+c&token=T2#%3D", &printable, &"s".repeat(512)] {
        let state = CallerState::parse(text).unwrap();
        for (landed, name, value) in [
            (landing.with_token("T", Some(&state)), "token", "T"),
            (landing.with_error("E", Some(&state)), "error", "E"),
        ] {
            let parsed = Url::parse(&landed).unwrap();
            assert!(landed.starts_with(&format!("{url}&{name}={value}&state=")));
            let pairs: Vec<_> = parsed.query_pairs().into_owned().collect();
            let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
            assert_eq!(
                pairs,
                [pair("a", "b"), pair(name, value), pair("state", text)]
            );
            assert_eq!(parsed.fragment(), None);
        }
    }
    for odd in ["", "é", "a\nb", "a\0", "\u{7f}", &"s".repeat(513)] {
        let refused = CallerState::parse(odd).unwrap_err();
        assert_eq!(refused.param, "state", "{odd:?}");
    }
}
