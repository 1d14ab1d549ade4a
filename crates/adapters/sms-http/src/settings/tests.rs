//! Which settings are usable, and that errors repeat nothing.

use super::*;

#[test]
fn urls_must_keep_codes_encrypted() {
    for url in [
        "https://api.twilio.com",
        "https://api.twilio.com/",
        "https://sms.example.com:8443/gateway/v1",
        "http://127.0.0.1:9000",
        "http://[::1]:9000",
        "http://localhost:9000",
        "https://10.0.0.5",
    ] {
        assert!(base_url(url).is_ok(), "{url}");
    }
    for url in [
        "",
        "api.twilio.com",
        "ftp://example.com",
        "http://api.twilio.com",
        "http://10.0.0.5",
        "http://localhost.example.com",
        "https://user:password@example.com",
        "https://example.com?x=1",
        "https://example.com#x",
    ] {
        let refused = base_url(url);
        let text = format!("{refused:?}");
        assert!(refused.is_err() && !text.contains("password@"), "{text}");
    }
}

#[test]
fn senders_are_numbers_short_codes_or_names() {
    for from in [
        "+15005550006",
        "12345",
        "Demo Shop",
        "whatsapp:+14155552671",
        "MG0123456789abcdef0123456789abcdef",
    ] {
        assert!(sender(from).is_ok(), "{from}");
    }
    for from in ["", " ", "a\nb", "ü", &"1".repeat(35)] {
        assert!(sender(from).is_err(), "{from:?}");
    }
}
