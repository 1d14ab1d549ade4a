//! Notes fetched from a receiver.

use std::error::Error;
use std::io::ErrorKind;

use vestry_checkpoint_sinks::{NotFetched, Settings, notes_from};

use crate::NOTE;
use vestry_testkit::receiver::{Receiver, Reply};

async fn asked(
    networks: &[&str],
    head: &str,
    body: &[u8],
) -> (String, Result<Vec<(String, String)>, NotFetched>) {
    let length = body.len();
    let head = format!("HTTP/1.1 {head}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
    let answer = [head.as_bytes(), body].concat();
    let receiver = Receiver::start(Reply::Says(answer)).await;
    let networks = networks.iter().map(|network| network.parse().unwrap());
    let settings = Settings {
        allowed_networks: networks.collect(),
        ..Settings::default()
    };
    let url = receiver.url(crate::PATH).parse().unwrap();
    let place = format!("http://{}/notes", receiver.authority);
    let found = notes_from(&url, &settings).await;
    if !matches!(found, Err(NotFetched::Call { .. })) {
        let arrived = receiver.arrived().await;
        assert!(arrived.head.starts_with("GET /notes?key=secret HTTP/1.1"));
        assert!(!arrived.head.to_lowercase().contains("authorization"));
    }
    (place, found)
}

const HERE: &[&str] = &["127.0.0.0/8"];

#[tokio::test]
async fn a_note_is_found_unchanged() {
    let (place, found) = asked(HERE, "200 x", NOTE.as_bytes()).await;
    assert_eq!(found.unwrap(), [(place, NOTE.to_owned())]);
}

#[tokio::test]
async fn notes_of_a_log_are_found_with_their_lines() {
    let line = serde_json::json!({"level": "INFO", "note": NOTE});
    let log = format!("starting\n{line}\n{{\"note\":\"another\"}}\n{line}\n");
    let (place, found) = asked(HERE, "200 x", log.as_bytes()).await;
    let expected = [2, 4].map(|number| (format!("{place}:{number}"), NOTE.to_owned()));
    assert_eq!(found.unwrap(), expected);
}

#[tokio::test]
async fn a_response_without_notes_is_an_error() {
    for body in [&b""[..], b"<html>", b"{}", b"\xff"] {
        let (place, found) = asked(HERE, "200 x", body).await;
        let Err(NotFetched::NoNote(error)) = found else {
            panic!("{found:?}");
        };
        assert_eq!(error.kind(), ErrorKind::NotFound);
        assert_eq!(
            error.to_string(),
            format!("there is no checkpoint in {place}")
        );
    }
    let binary = [NOTE.as_bytes(), b"\xff"].concat();
    let (place, found) = asked(HERE, "200 x", &binary).await;
    assert_eq!(
        found.unwrap_err().to_string(),
        format!("{place} is not text")
    );
}

/// Only 200 counts, and redirects are not followed.
#[tokio::test]
async fn another_status_is_an_error() {
    for head in [
        "204 x",
        "302 x\r\nLocation: /other",
        "401 x",
        "404 x",
        "500 x",
    ] {
        let (place, found) = asked(HERE, head, NOTE.as_bytes()).await;
        let status = head.split(' ').next().unwrap();
        let said = found.unwrap_err().to_string();
        assert_eq!(said, format!("{place} returned status {status}"));
    }
}

/// Networks that the operator does not allow are not connected to, and the query is never revealed.
#[tokio::test]
async fn wh_6_private_addresses_are_not_contacted() {
    let (place, found) = asked(&[], "200 x", NOTE.as_bytes()).await;
    let error = found.unwrap_err();
    assert_eq!(error.to_string(), format!("{place} cannot be read"));
    assert!(error.source().is_some());
    for url in [
        "https://user@anchor.example.com/",
        "https://anchor.example.com/#x",
    ] {
        let found = notes_from(&url.parse().unwrap(), &Settings::default()).await;
        assert!(matches!(found, Err(NotFetched::NotSetUp(_))), "{url}");
    }
}
