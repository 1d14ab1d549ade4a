//! Requests on the wire, and their responses.

use vestry_domain::timestamp::Seconds;
use vestry_ports::webhooks::{WebhookError, WebhookSender};

use crate::{BODY, THIS_MACHINE, request, send, sender};
use vestry_testkit::receiver::{Receiver, Reply, Untouched};

#[tokio::test]
async fn the_signed_request_arrives_unchanged() {
    let receiver = Receiver::start(Reply::Says(b"HTTP/1.1 204 No Content\r\n\r\n".to_vec())).await;
    let answer = send(&sender(THIS_MACHINE), &receiver.url(crate::PATH))
        .await
        .unwrap();
    assert_eq!(answer.status, 204);
    let authority = receiver.authority.clone();
    let arrived = receiver.arrived().await;
    assert_eq!(arrived.body, BODY);
    assert_eq!(
        arrived.head.lines().next(),
        Some("POST /secret-path?secret=query HTTP/1.1")
    );
    let mut headers = arrived.headers();
    headers.sort_unstable();
    assert_eq!(
        headers,
        [
            ("accept", "*/*"),
            ("content-length", &*BODY.len().to_string()),
            ("content-type", "application/json"),
            ("host", &*authority),
            ("user-agent", concat!("vestry/", env!("CARGO_PKG_VERSION"))),
            ("webhook-id", "event_secret"),
            ("webhook-signature", "v1,c2VjcmV0+/== v1,b2xkZXI="),
            ("webhook-timestamp", "1800000000"),
        ]
    );
}

/// No status is an error, and none causes a second request.
#[tokio::test]
async fn every_status_is_returned() {
    let sender = sender(THIS_MACHINE);
    for (status, headers, retry_after) in [
        (200, "", None),
        (202, "", None),
        (299, "", None),
        (400, "", None),
        (410, "", None),
        (429, "Retry-After: 30\r\n", Some(30)),
        (503, "Retry-After: 86401\r\n", Some(86_401)),
        (503, "Retry-After: Fri, 31 Dec 2027 23:59:59 GMT\r\n", None),
        (503, "Retry-After: -1\r\n", None),
        (500, "", None),
    ] {
        let text = format!("HTTP/1.1 {status} x\r\nContent-Length: 2\r\n{headers}\r\nok");
        let receiver = Receiver::start(Reply::Says(text.into_bytes())).await;
        let answer = send(&sender, &receiver.url(crate::PATH)).await.unwrap();
        assert_eq!(answer.status, status);
        assert_eq!(
            answer.retry_after,
            retry_after.map(Seconds),
            "{status} {headers:?}"
        );
        receiver.arrived().await;
    }
    assert_eq!(format!("{sender:?}"), "HttpWebhooks");
}

/// A receiver could redirect us to an internal address.
#[tokio::test]
async fn wh_6_redirects_are_not_followed() {
    let sender = sender(THIS_MACHINE);
    for status in [301, 302, 303, 307, 308] {
        let elsewhere = Untouched::start();
        let text = format!(
            "HTTP/1.1 {status} x\r\nLocation: http://127.0.0.1:{}/\r\nContent-Length: 0\r\n\r\n",
            elsewhere.port()
        );
        let receiver = Receiver::start(Reply::Says(text.into_bytes())).await;
        let answer = send(&sender, &receiver.url(crate::PATH)).await.unwrap();
        assert_eq!(answer.status, status);
        receiver.arrived().await;
        elsewhere.was_not_touched();
    }
}

/// Bodies that announce 64 MiB, and endless ones, plain and chunked: the connection is dropped.
#[tokio::test]
async fn a_huge_body_is_truncated_and_its_status_counts() {
    let sender = sender(THIS_MACHINE);
    const MIB: usize = 1024 * 1024;
    let some = || vec![b'x'; MIB];
    let chunk = || [b"100000\r\n".to_vec(), some(), b"\r\n".to_vec()].concat();
    for status in [200, 410, 500] {
        for (headers, again, times) in [
            ("Content-Length: 67108864\r\n", some(), 64),
            ("", some(), usize::MAX),
            ("Transfer-Encoding: chunked\r\n", chunk(), usize::MAX),
        ] {
            let head = format!("HTTP/1.1 {status} x\r\n{headers}\r\n");
            let reply = Reply::Repeats(head.into_bytes(), again, times);
            let receiver = Receiver::start(reply).await;
            let answer = send(&sender, &receiver.url(crate::PATH)).await.unwrap();
            assert_eq!(answer.status, status, "{headers:?}");
            let arrived = receiver.arrived().await;
            assert!(!arrived.was_taken, "{status} {headers:?}");
        }
    }
}

/// After 64 KiB the client does not wait for the end.
#[tokio::test]
async fn the_rest_of_a_long_body_is_not_awaited() {
    let mut text = b"HTTP/1.1 200 OK\r\nContent-Length: 65537\r\n\r\n".to_vec();
    text.resize(text.len() + 65_536, b'x');
    let receiver = Receiver::start(Reply::Stalls(text)).await;
    let answer = send(&sender(THIS_MACHINE), &receiver.url(crate::PATH)).await;
    assert_eq!(answer.unwrap().status, 200);
    receiver.arrived().await;
}

#[tokio::test]
async fn an_invalid_header_is_refused() {
    let elsewhere = Untouched::start();
    let sender = sender(THIS_MACHINE);
    for (name, value) in [
        ("webhook-id", "secret\r\nx: y"),
        ("webhook-id", "secret\0"),
        ("webhook id", "secret"),
        ("", "secret"),
    ] {
        let mut request = request(&format!("http://127.0.0.1:{}/secret", elsewhere.port()));
        request.headers.push((name, value.to_owned()));
        let refused = sender.send(request).await.unwrap_err();
        crate::silent(&refused);
        assert!(
            matches!(refused, WebhookError::Unreachable(_)),
            "{refused:?}"
        );
    }
    elsewhere.was_not_touched();
}
