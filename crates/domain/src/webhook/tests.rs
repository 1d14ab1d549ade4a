use super::*;
use crate::event::EventKind;
use crate::timestamp::Seconds;
use crate::{Environment, Timestamp};

#[test]
fn endpoint_urls_are_https_without_user_or_fragment() {
    let refused = [
        (
            "http://example.com/",
            Environment::Live,
            "only allowed in test environments",
        ),
        ("ftp://example.com/", Environment::Test, "https://"),
        ("example.com", Environment::Live, "must be a URL"),
        ("https://", Environment::Live, "must be a URL"),
        (
            "https://user@example.com/",
            Environment::Live,
            "user or password",
        ),
        (
            "https://:word@example.com/",
            Environment::Live,
            "user or password",
        ),
        ("https://example.com/#here", Environment::Live, "fragment"),
    ];
    for (text, environment, why) in refused {
        let invalid = EndpointUrl::parse(text, environment).unwrap_err();
        assert_eq!(invalid.param, "url");
        assert!(invalid.message.contains(why), "{text}: {}", invalid.message);
    }
    let long = format!("https://example.com/{}", "a".repeat(2029));
    assert!(EndpointUrl::parse(&long, Environment::Live).is_err());
    assert!(EndpointUrl::parse(&long[..2048], Environment::Live).is_ok());
    assert!(EndpointUrl::parse("http://localhost:3000/x?y=z", Environment::Test).is_ok());
}

/// The first example in the standard's own test vectors, from its reference implementations.
#[test]
fn signatures_match_the_standards_test_vector() {
    let secret = SigningSecret::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
    let at = Timestamp::from_unix(1_614_265_330);
    let signed = signatures(
        &[secret],
        "msg_p5jXN8AQM9LWM0D4loKWxJek",
        at,
        br#"{"test": 2432232314}"#,
    );
    assert_eq!(signed, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
}

#[test]
fn secrets_round_trip_through_text() {
    let secret = SigningSecret::new([7; 32]);
    let text = secret.text();
    let read = SigningSecret::parse(text.expose()).unwrap();
    assert_eq!(read.text().expose(), text.expose());
    assert!(text.expose().ends_with(&secret.last_four()));
    for wrong in [
        "",
        "whsec_",
        "whsec_MfKQ",
        "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        "whsec_?",
    ] {
        assert!(SigningSecret::parse(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn a_star_does_not_select_optional_types() {
    let all = EventTypes::parse(["*"]).unwrap();
    for kind in EventKind::ALL {
        assert_eq!(all.select(*kind), !kind.is_optional(), "{kind}");
    }
    let some = EventTypes::parse(["wallet.*", "wallet.signed", "user.created", "user.created"]);
    let some = some.unwrap();
    assert_eq!(some.names(), ["user.created", "wallet.*", "wallet.signed"]);
    assert!(some.select(EventKind::WalletSigned) && some.select(EventKind::UserCreated));
    assert!(!some.select(EventKind::UserDeleted));
    assert!(some.optional().eq([EventKind::WalletSigned]));
    for wrong in [vec!["nothing.*"], vec!["user.*", "user.born"], Vec::new()] {
        assert_eq!(EventTypes::parse(wrong).unwrap_err().param, "types");
    }
}

#[test]
fn ten_attempts_take_three_days_and_some_hours() {
    let whole: i64 = (1..MAX_ATTEMPTS)
        .map(|attempts| {
            let [least, most] = [0, 255].map(|drawn| wait_after(attempts, drawn).unwrap().0);
            assert!(least < most);
            least.midpoint(most)
        })
        .sum();
    assert_eq!(whole / 60, 75 * 60 + 35);
    assert_eq!(wait_after(MAX_ATTEMPTS, 0), None);
    assert_eq!(wait_after(9, 0), Some(Seconds(77_760)));
    assert_eq!(wait_after(9, 255), Some(Seconds(95_040)));
}

#[test]
fn statuses_map_to_outcomes() {
    let failed = |is_overload, retry_after: Option<i64>| {
        AttemptOutcome::Failed(Failing {
            is_overload,
            retry_after: retry_after.map(Seconds),
        })
    };
    let asked = Some(Seconds(1_000_000_000));
    for (status, outcome) in [
        (200, AttemptOutcome::Delivered),
        (299, AttemptOutcome::Delivered),
        (301, failed(false, None)),
        (307, failed(false, None)),
        (400, failed(false, None)),
        (410, AttemptOutcome::Gone),
        (429, failed(true, Some(86_400))),
        (500, failed(false, None)),
        (503, failed(true, Some(86_400))),
    ] {
        assert_eq!(judge(status, asked), outcome, "{status}");
    }
}

#[test]
fn a_window_opens_slowly_and_closes_fast() {
    let mut window = Window::default();
    assert_eq!((window.room(), window.room_for_later()), (1, 1));
    assert!(window.is_new() && !window.is_closed() && window.is_idle());
    window.begin(false);
    assert_eq!((window.room(), window.room_for_later()), (0, 0));
    window.end(false);
    assert!(window.is_idle());
    window.succeeded();
    assert!(!window.is_new() && !window.is_closed() && !window.is_idle());
    assert_eq!((window.room(), window.room_for_later()), (8, 4));
    for _ in 0..4 {
        window.begin(true);
    }
    assert_eq!((window.room(), window.room_for_later()), (4, 0));
    window.failed(false);
    assert_eq!(window.room(), 0);
    for _ in 0..4 {
        window.end(true);
    }
    assert_eq!((window.room(), window.room_for_later()), (4, 2));
    for _ in 0..4 {
        window.failed(false);
    }
    assert!(window.is_closed());
    assert_eq!((window.room(), window.room_for_later()), (1, 1));
    for _ in 0..40 {
        window.succeeded();
    }
    assert_eq!(window.room(), 32);
    window.failed(true);
    assert!(window.is_closed() && !window.is_idle());
}

#[test]
fn a_window_that_begins_with_a_failure_stays_at_one() {
    let mut window = Window::default();
    for _ in 0..3 {
        window.failed(false);
        assert_eq!(window.room(), 1);
    }
    window.succeeded();
    assert_eq!(window.room(), 2);
}

/// The Rust example from docs/webhooks.md.
mod page {
    use super::super::{SigningSecret, signatures};
    use crate::Timestamp;

    include!("tests/page.rs");

    /// WH-2, WH-3: the documented code accepts signatures by either of two secrets, and nothing else.
    #[test]
    fn wh_2_wh_3_the_documented_code_verifies_signatures() {
        let shown = include_str!("../../../../docs/webhooks.md");
        let lines = concat!("```rust\n", include_str!("tests/page.rs"), "```");
        assert!(
            shown.contains(lines),
            "the code in docs/webhooks.md differs from tests/page.rs"
        );
        let [one, two, other] = [1, 2, 3].map(|byte| SigningSecret::new([byte; 32]));
        let (id, sent_at, body) = ("event_1", 1_800_000_000, br#"{"type":"user.created"}"#);
        let signed = signatures(
            &[one.clone(), two.clone()],
            id,
            Timestamp::from_unix(sent_at),
            body,
        );
        let takes = |secret: &SigningSecret, id: &str, sent_at: i64, body: &[u8], now: i64| {
            verify(
                secret.text().expose(),
                id,
                &sent_at.to_string(),
                &signed,
                body,
                now,
            )
        };
        for secret in [&one, &two] {
            for late in [-300, 0, 300] {
                assert!(takes(secret, id, sent_at, body, sent_at + late));
            }
            for late in [-301, 301] {
                assert!(!takes(secret, id, sent_at, body, sent_at + late));
            }
            assert!(!takes(secret, "event_2", sent_at, body, sent_at));
            assert!(!takes(secret, id, sent_at + 1, body, sent_at));
            assert!(!takes(secret, id, sent_at, b"{}", sent_at));
        }
        assert!(!takes(&other, id, sent_at, body, sent_at));
        let unsigned = verify(one.text().expose(), id, "1800000000", "", body, sent_at);
        assert!(!unsigned);
    }
}
