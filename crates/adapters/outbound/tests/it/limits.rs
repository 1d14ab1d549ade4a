//! Time, size, redirects, and the text of errors.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use url::Url;
use vestry_domain::Secret;
use vestry_outbound::{Answer, Call, Outbound, OutboundError, Reach};

use crate::guard::LIMITS;

/// How a body that is too large is handled.
#[derive(Clone, Copy)]
enum Excess {
    Refused,
    Cut,
}

/// Answers one request with these bytes and, unless `stays` is set, closes.
async fn asked(answer: String, stays: bool) -> Result<Answer, OutboundError> {
    asked_with(answer, stays, Excess::Refused).await
}

async fn asked_with(answer: String, stays: bool, excess: Excess) -> Result<Answer, OutboundError> {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!(
        "http://{}/secret-path?secret=query",
        listener.local_addr().unwrap()
    );
    let url = Url::parse(&url).unwrap();
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = [0; 4096];
        let _ = stream.read(&mut request).await.unwrap();
        drop(stream.write_all(answer.as_bytes()).await);
        if stays {
            std::future::pending::<()>().await;
        }
    });
    let outbound = Outbound::new(Reach::default().and_named_by(&url), LIMITS).unwrap();
    let password = Secret::new("secret-password".to_owned());
    let call = Call::post_form(url, &[("field", "secret-value")]).with_login("user", &password);
    let outcome = match excess {
        Excess::Refused => outbound.call(call).await,
        Excess::Cut => outbound.call_and_cut(call).await,
    };
    server.abort();
    if let Err(error) = &outcome {
        let said = format!("{error:?} {error}");
        assert!(!said.contains("secret"), "{said}");
    }
    outcome
}

#[tokio::test]
async fn every_status_is_returned() {
    for status in [200, 302, 404, 500] {
        let text = format!(
            "HTTP/1.1 {status} x\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 2\r\nRetry-After: 7\r\n\r\nok"
        );
        let answer = asked(text, false).await.unwrap();
        assert_eq!((answer.status, &*answer.body), (status, b"ok".as_slice()));
        assert_eq!(answer.retry_after.map(|wait| wait.0), Some(7));
        assert!(!answer.from_outside);
        assert_eq!(format!("{answer:?}"), format!("Answer({status})"));
    }
}

#[tokio::test]
async fn the_body_size_is_limited_with_and_without_content_length() {
    let announced = format!(
        "HTTP/1.1 200 OK\r\nContent-Length: 1001\r\n\r\n{}",
        "x".repeat(1001)
    );
    let endless = format!("HTTP/1.1 200 OK\r\n\r\n{}", "x".repeat(1001));
    for text in [announced, endless] {
        let refused = asked(text, true).await;
        assert!(
            matches!(refused, Err(OutboundError::TooLarge)),
            "{refused:?}"
        );
    }
    let whole = format!(
        "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{}",
        "x".repeat(1000)
    );
    assert_eq!(asked(whole, false).await.unwrap().body.len(), 1000);
}

/// The server keeps the connection open in each case: the client does not wait for the rest.
#[tokio::test]
async fn a_body_can_be_truncated_instead() {
    for (headers, length) in [
        ("Content-Length: 1001\r\n", 1_001),
        ("Content-Length: 1001\r\n", 1_000),
        ("Content-Length: 67108864\r\n", 100_000),
        ("", 1_001),
        ("", 1_000),
    ] {
        let text = format!("HTTP/1.1 410 x\r\n{headers}\r\n{}", "x".repeat(length));
        let answer = asked_with(text, true, Excess::Cut).await.unwrap();
        assert_eq!(
            (answer.status, answer.body.len()),
            (410, 1_000),
            "{headers:?}, {length}"
        );
    }
    let short = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".to_owned();
    let answer = asked_with(short, true, Excess::Cut).await.unwrap();
    assert_eq!(answer.body, b"ok");
    let stalled = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok".to_owned();
    let late = asked_with(stalled.clone(), true, Excess::Cut).await;
    assert!(matches!(late, Err(OutboundError::Late)), "{late:?}");
    let broken = asked_with(stalled, false, Excess::Cut).await;
    assert!(
        matches!(broken, Err(OutboundError::Broken(_))),
        "{broken:?}"
    );
}

#[tokio::test]
async fn the_whole_call_has_a_limit() {
    let calls = [
        "",
        "HTTP/1.1 200 OK\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab",
    ]
    .map(|text| (text, tokio::spawn(asked(text.to_owned(), true))));
    for (text, call) in calls {
        let late = call.await.unwrap();
        assert!(
            matches!(late, Err(OutboundError::Late)),
            "{text:?}: {late:?}"
        );
    }
}

#[tokio::test]
async fn a_response_that_is_not_http_is_broken() {
    for text in [
        "SSH-2.0-OpenSSH_9.6\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab",
        "",
    ] {
        let broken = asked(text.to_owned(), false).await;
        assert!(
            matches!(broken, Err(OutboundError::Broken(_))),
            "{text:?}: {broken:?}"
        );
    }
}
