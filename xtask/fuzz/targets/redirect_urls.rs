//! Redirect URLs: a registered one, a zero byte, and the one of a request.
//!
//! An admitted URL has the scheme and host of the registered one, according to a parser without patterns and ports. The URL of an app
//! admits only itself, and no control character or space is admitted.

#![no_main]

use libfuzzer_sys::fuzz_target;
use vestry_domain::redirect::{CallerState, RedirectTarget};
use vestry_fuzz::input::part;

/// Splits off scheme and authority as text. A URL without the two slashes belongs to an app and has no host.
fn origin(url: &str) -> (&str, &str) {
    let (scheme, rest) = url.split_once(':').expect("a scheme");
    let Some(rest) = rest.strip_prefix("//") else {
        return (scheme, "");
    };
    let end = rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len());
    (scheme, &rest[..end])
}

/// The host without the port, which only the URL of the request has.
fn without_port<'a>(host: &'a str, registered: &str) -> &'a str {
    let is_loopback = ["127.0.0.1", "[::1]"].contains(&registered);
    match host.rsplit_once(':') {
        Some((bare, port)) if is_loopback && bare == registered => {
            assert!(port.parse::<u16>().is_ok_and(|port| port > 0), "port");
            bare
        }
        _ => host,
    }
}

fuzz_target!(|data: &[u8]| {
    let (registered, named) = part(data);
    let (Ok(registered), Ok(named)) = (std::str::from_utf8(registered), std::str::from_utf8(named))
    else {
        return;
    };
    let Ok(target) = RedirectTarget::parse(registered) else {
        return;
    };
    assert_eq!(
        RedirectTarget::parse(target.as_str()).as_ref(),
        Ok(&target),
        "read again"
    );
    assert_eq!(target.admits(registered), !target.is_pattern(), "itself");
    // The text itself, and the text filled in for the star.
    let filled = registered.replacen('*', named, 1);
    for url in [named, &filled] {
        let Some(landing) = target.landing(Some(url)) else {
            continue;
        };
        assert!(!url.contains(|c: char| c.is_control() || c.is_whitespace() || c == '\\'));
        let ((scheme, host), (its_scheme, its_host)) = (origin(registered), origin(url));
        assert_eq!(its_scheme, scheme, "scheme");
        match host.strip_prefix('*') {
            None => assert_eq!(without_port(its_host, host), host, "host"),
            Some(suffix) => {
                let label = its_host
                    .strip_suffix(suffix)
                    .expect("the registered domain");
                assert!(
                    !label.is_empty() && !label.contains(['.', '@', ':', '%']),
                    "label"
                );
            }
        }
        let with_token = landing.with_token("token0", None);
        assert!(with_token.starts_with(url) && with_token.ends_with("token=token0"));
        assert_eq!(origin(&with_token), (scheme, its_host), "with a token");
        // The caller's state can be any text, and is one parameter after the token.
        if let Ok(state) = CallerState::parse(url) {
            let with_state = landing.with_token("token0", Some(&state));
            let value = with_state.strip_prefix(&format!("{with_token}&state="));
            let value = value.expect("the state after the token");
            assert!(!value.contains(['&', '#', '?', ' ', '+']), "state");
        }
    }
});
