//! The device of a session, in words.

use vestry_domain::session::{DeviceFingerprint, Session};

/// The device of a session, in words.
pub(crate) fn device(session: &Session) -> String {
    let DeviceFingerprint { ip, user_agent } = &session.device_fingerprint;
    match browser(user_agent) {
        Some(browser) if ip.is_empty() => browser,
        Some(browser) => format!("{browser}, {ip}"),
        None if ip.is_empty() => "Unknown device".to_owned(),
        None => ip.clone(),
    }
}

/// The browser and the system that a `User-Agent` names.
fn browser(user_agent: &str) -> Option<String> {
    // Browsers name those whose pages they imitate too, so the most particular comes first.
    let first = |names: &[(&str, &'static str)]| {
        let found = names.iter().find(|(part, _)| user_agent.contains(part));
        found.map(|(_, name)| *name)
    };
    let browser = first(&[
        ("Firefox/", "Firefox"),
        ("Edg/", "Edge"),
        ("OPR/", "Opera"),
        ("Chrome/", "Chrome"),
        ("CriOS/", "Chrome"),
        ("Safari/", "Safari"),
    ])?;
    let system = first(&[
        ("iPhone", "iOS"),
        ("iPad", "iPadOS"),
        ("Android", "Android"),
        ("Windows", "Windows"),
        ("Mac OS X", "macOS"),
        ("CrOS", "ChromeOS"),
        ("Linux", "Linux"),
    ]);
    Some(system.map_or(browser.to_owned(), |system| {
        format!("{browser} on {system}")
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn browsers_are_named() {
        for (user_agent, expected) in [
            (
                "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Safari/605.1.15",
                Some("Safari on macOS"),
            ),
            (
                "Mozilla/5.0 (X11; Linux x86_64; rv:132.0) Gecko/20100101 Firefox/132.0",
                Some("Firefox on Linux"),
            ),
            (
                "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36 Edg/130.0.0.0",
                Some("Edge on Windows"),
            ),
            (
                "Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) CriOS/130.0 Mobile/15E148 Safari/604.1",
                Some("Chrome on iOS"),
            ),
            ("curl/8.5.0", None),
            ("", None),
        ] {
            assert_eq!(browser(user_agent).as_deref(), expected);
        }
    }
}
