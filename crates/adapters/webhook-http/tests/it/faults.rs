//! Receivers that do not respond, or not with HTTP.

use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpSocket;
use tokio::task::JoinSet;
use vestry_ports::webhooks::WebhookError;

use crate::{THIS_MACHINE, hasty, send, sender};
use vestry_testkit::receiver::{Receiver, Reply};

/// The time limit applies to the whole call: a stalled head or body ends it too.
#[tokio::test]
async fn slow_receivers_time_out() {
    let sender = Arc::new(hasty(THIS_MACHINE, Duration::from_secs(1)));
    let rows = [
        "",
        "HTTP/1.1 200 OK\r\n",
        "HTTP/1.1 100 Continue\r\n\r\n",
        "HTTP/1.1 200 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n",
    ];
    let mut calls = JoinSet::new();
    for text in rows {
        let sender = Arc::clone(&sender);
        calls.spawn(async move {
            let receiver = Receiver::start(Reply::Stalls(text.as_bytes().to_vec())).await;
            let late = send(&sender, &receiver.url(crate::PATH)).await;
            assert!(
                matches!(late, Err(WebhookError::Late)),
                "{text:?}: {late:?}"
            );
            // The connection is closed, too.
            receiver.arrived().await;
        });
    }
    assert_eq!(calls.join_all().await.len(), rows.len());
}

#[tokio::test]
async fn a_response_that_is_not_http_is_broken() {
    let sender = sender(THIS_MACHINE);
    for text in [
        "",
        "HTTP/1.1 200",
        "SSH-2.0-OpenSSH_9.6\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab",
        "HTTP/1.1 200 OK\r\nContent-Length: five\r\n\r\nab",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
    ] {
        let receiver = Receiver::start(Reply::Says(text.as_bytes().to_vec())).await;
        let broken = send(&sender, &receiver.url(crate::PATH)).await;
        assert!(
            matches!(broken, Err(WebhookError::Broken(_))),
            "{text:?}: {broken:?}"
        );
        receiver.arrived().await;
    }
}

/// An endless head is abandoned like an endless body, but has no status that could count.
#[tokio::test]
async fn an_endless_head_is_broken() {
    let sender = sender(THIS_MACHINE);
    for again in ["x: y\r\n", "x"] {
        let receiver = Receiver::start(Reply::Repeats(
            b"HTTP/1.1 200 OK\r\n".to_vec(),
            again.repeat(1024).into_bytes(),
            usize::MAX,
        ))
        .await;
        let broken = send(&sender, &receiver.url(crate::PATH)).await;
        assert!(
            matches!(broken, Err(WebhookError::Broken(_))),
            "{again:?}: {broken:?}"
        );
        assert!(!receiver.arrived().await.was_taken);
    }
}

#[tokio::test]
async fn a_receiver_that_closes_at_once_is_broken() {
    let receiver = Receiver::start(Reply::HangsUp).await;
    let broken = send(&sender(THIS_MACHINE), &receiver.url(crate::PATH)).await;
    assert!(matches!(broken, Err(WebhookError::Broken(_))), "{broken:?}");
    receiver.arrived().await;
}

#[tokio::test]
async fn an_absent_receiver_is_unreachable() {
    // The port is bound, so that no other process listens there.
    let silent = TcpSocket::new_v4().unwrap();
    silent.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let authority = silent.local_addr().unwrap();
    let sender = sender(THIS_MACHINE);
    for scheme in ["http", "https"] {
        let gone = send(&sender, &format!("{scheme}://{authority}/secret")).await;
        assert!(
            matches!(gone, Err(WebhookError::Unreachable(_))),
            "{scheme}: {gone:?}"
        );
    }
}
