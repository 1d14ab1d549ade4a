//! WH-6, WH-7: allowed destinations, and the excerpts stored of responses from networks that only the operator allows.

use std::time::Duration;

use vestry_ports::webhooks::WebhookError;
use vestry_webhook_http::HttpWebhooks;

use crate::{THIS_MACHINE, hasty, send, sender};
use vestry_testkit::receiver::{Receiver, Reply, Untouched};

async fn is_refused(sender: &HttpWebhooks, url: &str) {
    let refused = send(sender, url).await;
    assert!(
        matches!(refused, Err(WebhookError::NotAllowed)),
        "{url}: {refused:?}"
    );
}

/// Addresses and a name, with both schemes: no connection is made.
#[tokio::test]
async fn wh_6_this_machine_is_not_reached() {
    let untouched = Untouched::start();
    let port = untouched.port();
    for sender in [sender(&[]), sender(&["10.0.0.0/8", "fd00::/8"])] {
        for scheme in ["http", "https"] {
            for host in [
                "127.0.0.1",
                "localhost",
                "LOCALHOST",
                "2130706433",
                "0x7f.1",
                "[::ffff:127.0.0.1]",
                "0.0.0.0",
            ] {
                is_refused(&sender, &format!("{scheme}://{host}:{port}/secret")).await;
            }
        }
    }
    untouched.was_not_touched();
}

/// EV-F2: the addresses of B12 as endpoint URLs, while the operator allows other networks.
#[tokio::test]
async fn wh_6_no_notation_of_an_internal_address_is_reached() {
    let sender = sender(&["10.20.0.0/16"]);
    for host in [
        "169.254.169.254",
        "2852039166",
        "0xa9fea9fe",
        "0251.0376.0251.0376",
        "169.254.170.2",
        "100.100.100.200",
        "10.0.0.1",
        "10.21.0.1",
        "172.16.0.1",
        "192.168.1.1",
        "127.1",
        "017700000001",
        "127.0.0.1.",
        "%31%32%37.0.0.1",
        "１２７.0.0.1",
        "0",
        "255.255.255.255",
        "224.0.0.1",
        "[::]",
        "[::1]",
        "[::127.0.0.1]",
        "[::ffff:10.0.0.1]",
        "[::ffff:169.254.169.254]",
        "[::ffff:a9fe:a9fe]",
        "[fe80::1]",
        "[fd00:ec2::254]",
        "[ff02::1]",
        "[64:ff9b::a9fe:a9fe]",
        "[2002:a9fe:a9fe::1]",
        "[2001:db8::1]",
    ] {
        for scheme in ["http", "https"] {
            is_refused(&sender, &format!("{scheme}://{host}/secret")).await;
        }
    }
}

/// Unencrypted traffic never leaves the operator's networks.
#[tokio::test]
async fn wh_6_nothing_goes_unencrypted_to_a_public_address() {
    for sender in [sender(&[]), sender(THIS_MACHINE)] {
        for host in [
            "8.8.8.8",
            "1.1.1.1:8080",
            "[2606:4700:4700::1111]",
            "[::ffff:8.8.8.8]",
        ] {
            is_refused(&sender, &format!("http://{host}/secret")).await;
        }
    }
}

/// By address and by name, encrypted and not; nothing of the response is stored.
#[tokio::test]
async fn wh_7_responses_from_the_operators_networks_are_not_stored() {
    let sender = sender(THIS_MACHINE);
    for host in ["127.0.0.1", "localhost"] {
        for status in [200, 404, 500] {
            let text = format!("HTTP/1.1 {status} x\r\nContent-Length: 14\r\n\r\nan inner thing");
            let receiver = Receiver::start(Reply::Says(text.into_bytes())).await;
            let url = receiver.url(crate::PATH).replace("127.0.0.1", host);
            let answer = send(&sender, &url).await.unwrap();
            assert_eq!((answer.status, answer.excerpt), (status, None), "{url}");
            receiver.arrived().await;
        }
    }
}

/// Unencrypted, into a network that is not loopback: `0.0.0.0` leads to this machine, and is none of its names.
#[tokio::test]
async fn wh_6_http_goes_to_every_network_of_the_operator() {
    let text = b"HTTP/1.1 200 OK\r\nContent-Length: 14\r\n\r\nan inner thing";
    let receiver = Receiver::start(Reply::Says(text.to_vec())).await;
    let url = receiver.url(crate::PATH).replace("127.0.0.1", "0.0.0.0");
    let answer = send(&sender(&["0.0.0.0/8"]), &url).await.unwrap();
    assert_eq!((answer.status, answer.excerpt), (200, None));
    receiver.arrived().await;
}

/// An unused address in a public range that was returned: it has no route, but it is not refused.
#[tokio::test]
async fn wh_6_https_goes_to_public_addresses() {
    for networks in [&[], THIS_MACHINE] {
        let sender = hasty(networks, Duration::from_millis(100));
        let gone = send(&sender, "https://[3ffe::1]/secret").await;
        assert!(
            matches!(gone, Err(WebhookError::Late | WebhookError::Unreachable(_))),
            "{gone:?}"
        );
    }
}

/// The connection is established, and fails only at TLS.
#[tokio::test]
async fn wh_6_https_goes_to_networks_of_the_operator() {
    let sender = sender(THIS_MACHINE);
    for host in ["127.0.0.1", "localhost"] {
        let receiver = Receiver::start(Reply::HangsUp).await;
        let url = receiver.url(crate::PATH).replace("127.0.0.1", host);
        let failed = send(&sender, &url.replace("http:", "https:")).await;
        assert!(
            matches!(failed, Err(WebhookError::Unreachable(_))),
            "{url}: {failed:?}"
        );
        receiver.arrived().await;
    }
}

/// A pooled connection serves neither other hosts nor the other scheme.
#[tokio::test]
async fn wh_6_a_pooled_connection_serves_only_its_own_host() {
    let sender = sender(&["127.0.0.1/32"]);
    let text = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    let receiver = Receiver::start(Reply::Stalls(text.to_vec())).await;
    let answer = send(&sender, &receiver.url(crate::PATH)).await.unwrap();
    assert_eq!(answer.status, 200);
    for host in ["127.0.0.2", "[::1]", "0.0.0.0", "8.8.8.8"] {
        is_refused(
            &sender,
            &receiver.url(crate::PATH).replace("127.0.0.1", host),
        )
        .await;
    }
    drop(sender);
    receiver.arrived().await;
}
