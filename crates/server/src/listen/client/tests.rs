use vestry_domain::timestamp::Seconds;

use super::*;

fn client() -> Client {
    Client::new(&Source {
        base: "http://127.0.0.1:8080".parse().unwrap(),
        key: Secret::new("sk_test_abc".to_owned()),
        found: Found::Argument,
    })
    .unwrap()
}

fn unread(status: u16, retry_after: Option<i64>, body: &str) -> Unread {
    client().of_answer(&Answer {
        status,
        retry_after: retry_after.map(Seconds),
        from_outside: false,
        body: body.as_bytes().to_vec(),
    })
}

const UNKNOWN: &str =
    r#"{"error": {"code": "cursor_unknown", "message": "gone", "param": "after"}}"#;

#[test]
fn temporary_errors_are_retried() {
    for status in [408, 429, 500, 502, 503, 504] {
        let Unread::Away(away) = unread(status, None, "<html>") else {
            panic!("{status}");
        };
        assert_eq!(away.retry_after, None);
        assert!(!away.broke_off);
    }
    for (asked, waited) in [(0, 1), (7, 7)] {
        let Unread::Away(away) = unread(429, Some(asked), "") else {
            panic!("{asked}");
        };
        assert_eq!(away.retry_after, Some(Duration::from_secs(waited)));
    }
}

#[test]
fn permanent_errors_end_the_command() {
    assert!(matches!(unread(409, None, UNKNOWN), Unread::CursorUnknown));
    for (status, body) in [
        (301, ""),
        (400, UNKNOWN),
        (401, UNKNOWN),
        (403, UNKNOWN),
        (404, "<html>"),
        (409, "{}"),
    ] {
        let Unread::Refused(failure) = unread(status, None, body) else {
            panic!("{status}");
        };
        let message = failure.to_string();
        assert_eq!(failure.exit_code(), 1, "{message}");
        assert!(!message.contains("sk_test_abc"), "{message}");
    }
}

#[test]
fn a_call_contains_its_position_and_filter() {
    let client = client();
    let url = |query: &[(&str, &str)]| {
        let url = client.url("/v1/events", query.iter().copied());
        url.unwrap().to_string()
    };
    assert_eq!(url(&[]), "http://127.0.0.1:8080/v1/events");
    assert_eq!(
        url(&[("wait", "30"), ("types", "user.*,a&b")]),
        "http://127.0.0.1:8080/v1/events?wait=30&types=user.*%2Ca%26b"
    );
}
