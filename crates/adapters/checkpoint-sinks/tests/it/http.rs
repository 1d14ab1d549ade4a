//! Sending notes to a receiver.

use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpSocket;
use tokio::task::JoinSet;
use vestry_checkpoint_sinks::{HttpSink, NotSetUp, Settings};
use vestry_domain::Secret;
use vestry_domain::audit::checkpoint::SignedNote;
use vestry_ports::anchors::{CheckpointSink, SinkError};

use crate::{NOTE, said};
use vestry_testkit::receiver::{Receiver, Reply, Untouched};

/// Networks that the operator allows, for receivers on this machine.
const THIS_MACHINE: &[&str] = &["127.0.0.0/8", "::1/128"];
const TOKEN: &str = "token-secret";

fn set_up(url: &str, token: &str, settings: &Settings) -> Result<HttpSink, NotSetUp> {
    let token = Secret::new(token.to_owned());
    HttpSink::new(url.parse().unwrap(), token, settings)
}

fn hasty(url: &str, networks: &[&str], whole: Duration) -> HttpSink {
    let networks = networks.iter().map(|network| network.parse().unwrap());
    let settings = Settings {
        allowed_networks: networks.collect(),
        whole,
    };
    set_up(url, TOKEN, &settings).unwrap()
}

fn sink(url: &str, networks: &[&str]) -> HttpSink {
    hasty(url, networks, Settings::default().whole)
}

/// Puts note 7, and asserts that an error reveals nothing of the request.
async fn put(sink: &HttpSink) -> Result<(), SinkError> {
    let outcome = sink.put(7, NOTE).await;
    if let Err(error) = &outcome {
        let said = said(error);
        for sent in ["secret", "bm90aGluZw", "http:", "https:"] {
            assert!(!said.contains(sent), "{said}");
        }
    }
    outcome
}

async fn answered(text: &str) -> Result<(), SinkError> {
    let receiver = Receiver::start(Reply::Says(text.as_bytes().to_vec())).await;
    let outcome = put(&sink(&receiver.url(crate::PATH), THIS_MACHINE)).await;
    receiver.arrived().await;
    outcome
}

fn is_unavailable(outcome: &Result<(), SinkError>) -> bool {
    matches!(outcome, Err(SinkError::Unavailable(_)))
}

#[tokio::test]
async fn a_note_arrives_unchanged() {
    let receiver = Receiver::start(Reply::Says(b"HTTP/1.1 204 x\r\n\r\n".to_vec())).await;
    let sink = sink(&receiver.url(crate::PATH), THIS_MACHINE);
    put(&sink).await.unwrap();
    let authority = receiver.authority.clone();
    let arrived = receiver.arrived().await;
    assert_eq!(arrived.body, NOTE.as_bytes());
    assert_eq!(
        arrived.head.lines().next(),
        Some("POST /notes?key=secret HTTP/1.1")
    );
    let mut headers = arrived.headers();
    headers.sort_unstable();
    assert_eq!(
        headers,
        [
            ("accept", "*/*"),
            ("authorization", "Bearer token-secret"),
            ("content-length", &*NOTE.len().to_string()),
            ("content-type", "text/plain; charset=utf-8"),
            ("host", &*authority),
            ("user-agent", concat!("vestry/", env!("CARGO_PKG_VERSION"))),
            ("x-checkpoint-number", "7"),
        ]
    );
    let name = format!("http:http://{authority}/notes");
    assert_eq!(sink.name(), name);
    assert_eq!(format!("{sink:?}"), format!("HttpSink({name})"));
}

#[tokio::test]
async fn the_status_says_whether_the_note_was_accepted() {
    for status in [200, 201, 202, 204, 299] {
        let text = format!("HTTP/1.1 {status} x\r\nContent-Length: 0\r\n\r\n");
        let outcome = answered(&text).await;
        assert!(outcome.is_ok(), "{status} {outcome:?}");
    }
    for status in [
        300, 400, 401, 403, 404, 408, 410, 412, 413, 429, 500, 503, 999,
    ] {
        let text = format!("HTTP/1.1 {status} x\r\nContent-Length: 0\r\n\r\n");
        let outcome = answered(&text).await;
        assert!(is_unavailable(&outcome), "{status} {outcome:?}");
        let error = said(&outcome.unwrap_err());
        assert!(error.contains(&status.to_string()), "{error}");
    }
}

/// The receiver keeps the first note; the same note again gets the same response.
#[tokio::test]
async fn aud_8_status_409_reports_a_different_note_of_the_number() {
    let outcome = answered("HTTP/1.1 409 x\r\nContent-Length: 7\r\n\r\nanother").await;
    assert!(
        matches!(outcome, Err(SinkError::Differs { number: 7 })),
        "{outcome:?}"
    );
}

/// After a lost response, the same note is sent in the same way.
#[tokio::test]
async fn a_note_is_resent_unchanged() {
    let mut sent = Vec::new();
    let ends = [
        &b"HTTP/1.1 2"[..],
        b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
    ];
    for (place, end) in ends.into_iter().enumerate() {
        let receiver = Receiver::start(Reply::Says(end.to_vec())).await;
        let outcome = put(&sink(&receiver.url(crate::PATH), THIS_MACHINE)).await;
        assert_eq!(outcome.is_ok(), place == 1, "{outcome:?}");
        let authority = receiver.authority.clone();
        let arrived = receiver.arrived().await;
        sent.push((arrived.head.replace(&authority, ""), arrived.body));
    }
    assert_eq!(sent[0], sent[1]);
}

/// The token would be sent along.
#[tokio::test]
async fn redirects_are_not_followed() {
    for status in [301, 302, 303, 307, 308] {
        let elsewhere = Untouched::start();
        let port = elsewhere.port();
        let text = format!(
            "HTTP/1.1 {status} x\r\nLocation: http://127.0.0.1:{port}/\r\nContent-Length: 0\r\n\r\n"
        );
        let outcome = answered(&text).await;
        assert!(is_unavailable(&outcome), "{status} {outcome:?}");
        elsewhere.was_not_touched();
    }
}

/// Bodies that announce 64 MiB, or are endless: the connection is dropped, and the status counts.
#[tokio::test]
async fn a_huge_response_is_truncated() {
    for (status, taken) in [(200, true), (500, false)] {
        for (headers, times) in [("Content-Length: 67108864\r\n", 64), ("", usize::MAX)] {
            let head = format!("HTTP/1.1 {status} x\r\n{headers}\r\n").into_bytes();
            let reply = Reply::Repeats(head, vec![b'x'; 1024 * 1024], times);
            let receiver = Receiver::start(reply).await;
            let sink = sink(&receiver.url(crate::PATH), THIS_MACHINE);
            let outcome = put(&sink).await;
            assert_eq!(outcome.is_ok(), taken, "{headers:?} {outcome:?}");
            assert!(!receiver.arrived().await.was_taken, "{headers:?}");
        }
    }
}

#[tokio::test]
async fn an_endless_head_is_abandoned() {
    let head = b"HTTP/1.1 200 OK\r\n".to_vec();
    let again = "x: y\r\n".repeat(1024).into_bytes();
    let receiver = Receiver::start(Reply::Repeats(head, again, usize::MAX)).await;
    let outcome = put(&sink(&receiver.url(crate::PATH), THIS_MACHINE)).await;
    assert!(is_unavailable(&outcome), "{outcome:?}");
    receiver.arrived().await;
}

/// The receiver does not read, does not respond, or stops halfway.
#[tokio::test]
async fn slow_receivers_time_out() {
    let mut calls = JoinSet::new();
    let replies = [
        Reply::Ignores,
        Reply::Stalls(Vec::new()),
        Reply::Stalls(b"HTTP/1.1 200 OK\r\n".to_vec()),
        Reply::Stalls(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab".to_vec()),
    ];
    let count = replies.len();
    let largest: Arc<str> = "x".repeat(SignedNote::LARGEST).into();
    for reply in replies {
        let largest = Arc::clone(&largest);
        calls.spawn(async move {
            let ignores = matches!(reply, Reply::Ignores);
            let receiver = Receiver::start(reply).await;
            let sink = hasty(
                &receiver.url(crate::PATH),
                THIS_MACHINE,
                Duration::from_secs(1),
            );
            let outcome = if ignores {
                // A small note would fit into the network buffers.
                sink.put(7, &largest).await
            } else {
                put(&sink).await
            };
            assert!(is_unavailable(&outcome), "{outcome:?}");
            let error = said(&outcome.unwrap_err());
            assert!(error.contains("no answer in time"), "{error}");
            if !ignores {
                // The connection is closed, too.
                receiver.arrived().await;
            }
        });
    }
    assert_eq!(calls.join_all().await.len(), count);
}

#[tokio::test]
async fn the_largest_note_arrives() {
    let largest = "x".repeat(SignedNote::LARGEST);
    let reply = Reply::Says(b"HTTP/1.1 201 x\r\nContent-Length: 0\r\n\r\n".to_vec());
    let receiver = Receiver::start(reply).await;
    let sink = sink(&receiver.url(crate::PATH), THIS_MACHINE);
    sink.put(7, &largest).await.unwrap();
    assert!(receiver.arrived().await.body == largest.as_bytes());
}

#[tokio::test]
async fn an_absent_receiver_is_unavailable() {
    let receiver = Receiver::start(Reply::HangsUp).await;
    let outcome = put(&sink(&receiver.url(crate::PATH), THIS_MACHINE)).await;
    assert!(is_unavailable(&outcome), "{outcome:?}");
    receiver.arrived().await;
    // The port is bound, so that no other process listens there.
    let silent = TcpSocket::new_v4().unwrap();
    silent.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let url = format!("http://{}/secret", silent.local_addr().unwrap());
    let outcome = put(&sink(&url, THIS_MACHINE)).await;
    assert!(is_unavailable(&outcome), "{outcome:?}");
}

/// By address and by name, with both schemes, if no network or another one is allowed.
#[tokio::test]
async fn private_addresses_are_refused_unless_they_are_allowed() {
    let untouched = Untouched::start();
    let port = untouched.port();
    for networks in [&[][..], &["10.20.0.0/16", "fd00::/8"]] {
        for scheme in ["http", "https"] {
            for host in [
                "127.0.0.1",
                "localhost",
                "2130706433",
                "[::ffff:127.0.0.1]",
                "0.0.0.0",
                "10.21.0.1",
                "192.168.1.1",
                "169.254.169.254",
                "[fe80::1]",
            ] {
                let url = format!("{scheme}://{host}:{port}/secret");
                let outcome = put(&sink(&url, networks)).await;
                let refused = matches!(outcome, Err(SinkError::Refused(_)));
                assert!(refused, "{url} {outcome:?}");
            }
        }
    }
    untouched.was_not_touched();
}

/// Neither the note nor the token is sent.
#[tokio::test]
async fn nothing_goes_unencrypted_to_a_public_address() {
    for networks in [&[], THIS_MACHINE] {
        for host in ["8.8.8.8", "[2606:4700:4700::1111]"] {
            let outcome = put(&sink(&format!("http://{host}/secret"), networks)).await;
            assert!(matches!(outcome, Err(SinkError::Refused(_))), "{outcome:?}");
        }
    }
}

/// The connection is established, and fails only at TLS.
#[tokio::test]
async fn https_goes_to_allowed_networks() {
    let receiver = Receiver::start(Reply::HangsUp).await;
    let url = receiver.url(crate::PATH).replace("http:", "https:");
    let outcome = put(&sink(&url, THIS_MACHINE)).await;
    assert!(is_unavailable(&outcome), "{outcome:?}");
    receiver.arrived().await;
}

#[tokio::test]
async fn invalid_notes_are_not_sent() {
    let untouched = Untouched::start();
    let url = format!("http://127.0.0.1:{}/", untouched.port());
    let sink = sink(&url, THIS_MACHINE);
    let larger = "x".repeat(SignedNote::LARGEST + 1);
    for (number, note) in [(0, NOTE), (-1, NOTE), (1, &larger)] {
        let outcome = sink.put(number, note).await;
        assert!(matches!(outcome, Err(SinkError::Refused(_))), "{number}");
    }
    assert!(matches!(sink.newest().await, Ok(None)));
    untouched.was_not_touched();
}

#[test]
fn a_sink_needs_a_plain_url_and_a_valid_token() {
    let settings = Settings::default();
    for url in [
        "ftp://anchor.example.com/",
        "file:///tmp",
        "mailto:a@b",
        "https://user@anchor.example.com/",
        "https://:password@anchor.example.com/",
        "https://anchor.example.com/#fragment",
    ] {
        let outcome = set_up(url, TOKEN, &settings);
        assert!(matches!(outcome, Err(NotSetUp::Url)), "{url}");
    }
    let url = "https://anchor.example.com/notes";
    for token in ["", "secret\n", "two words", "secret\0", "s\u{e9}cret"] {
        let outcome = set_up(url, token, &settings);
        assert!(matches!(outcome, Err(NotSetUp::Token)), "{token:?}");
        let error = outcome.unwrap_err();
        let error = format!("{error:?} {error}");
        assert!(token.is_empty() || !error.contains(token), "{error}");
    }
    let sink = set_up(url, TOKEN, &settings).unwrap();
    assert_eq!(sink.name(), "http:https://anchor.example.com/notes");
}
