use vestry_domain::timestamp::Seconds;

use super::*;

fn client() -> Client {
    Client::new(&Source {
        base: "http://127.0.0.1:8080".parse().unwrap(),
        key: Secret::new("sk_test_abc".to_owned()),
        key_origin: KeyOrigin::Argument,
    })
    .unwrap()
}

fn error(status: u16, retry_after: Option<i64>, body: &str) -> ReadError {
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
        let ReadError::Unavailable(unavailable) = error(status, None, "<html>") else {
            panic!("{status}");
        };
        assert_eq!(unavailable.retry_after, None);
        assert!(!unavailable.connection_broke);
    }
    for (asked, waited) in [(0, 1), (7, 7)] {
        let ReadError::Unavailable(unavailable) = error(429, Some(asked), "") else {
            panic!("{asked}");
        };
        assert_eq!(unavailable.retry_after, Some(Duration::from_secs(waited)));
    }
}

#[test]
fn permanent_errors_end_the_command() {
    assert!(matches!(
        error(409, None, UNKNOWN),
        ReadError::CursorUnknown
    ));
    for (status, body) in [
        (301, ""),
        (400, UNKNOWN),
        (401, UNKNOWN),
        (403, UNKNOWN),
        (404, "<html>"),
        (409, "{}"),
    ] {
        let ReadError::Refused(failure) = error(status, None, body) else {
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
