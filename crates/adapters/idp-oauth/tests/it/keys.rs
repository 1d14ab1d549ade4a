//! Issuer keys: when they change, and when tokens only pretend that they did (F6).

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::json;
use vestry_contract::provider::evil::unknown_key;
use vestry_contract::provider::{ProviderServer, Reply, Shape};
use vestry_ports::identity_providers::ProviderFault;

use crate::app::{App, connection, settings};

/// Number of tokens in a flood.
const FLOOD: u64 = 100;

#[tokio::test]
async fn f6_rotated_keys_are_fetched_when_a_token_names_one_of_them() {
    let server = ProviderServer::start(Shape::OpenId).await;
    let app = App::of(&server, "example");
    app.sign_in(&server, 1).await.unwrap();
    server.rotates_its_keys();
    let crowd = (0..FLOOD).map(|seed| app.sign_in(&server, seed));
    for outcome in join_all(crowd).await {
        outcome.unwrap();
    }
    println!(
        "F6: {} fetches of a rotated key set",
        server.asked(server.keys_path())
    );
    assert_eq!(server.asked(server.keys_path()), 2);
    assert_eq!(server.asked(server.discovery_path()), 1);
}

#[tokio::test]
async fn f6_unknown_key_ids_cause_a_single_refetch() {
    let server = ProviderServer::start(Shape::OpenId).await;
    let app = App::of(&server, "example");
    app.sign_in(&server, 1).await.unwrap();
    for round in 0..2 {
        server.spoils(unknown_key);
        let flood = (0..FLOOD).map(|seed| app.sign_in(&server, seed));
        for outcome in join_all(flood).await {
            assert!(
                matches!(outcome, Err(ProviderFault::Invalid(_))),
                "{outcome:?}"
            );
        }
        println!(
            "F6: {} fetches of the key set after {} tokens of unknown keys",
            server.asked(server.keys_path()),
            FLOOD * (round + 1)
        );
        assert_eq!(server.asked(server.keys_path()), 2);
        // Valid tokens are accepted during the flood.
        server.spoils_nothing();
        app.sign_in(&server, 1).await.unwrap();
    }
}

/// Some providers replace a key and keep its `kid`. The cached key then fails, and the set is refetched once.
#[tokio::test]
async fn f6_a_key_replaced_under_the_same_kid_is_refetched() {
    let server = ProviderServer::start(Shape::OpenId).await;
    let app = App::of(&server, "example");
    app.sign_in(&server, 1).await.unwrap();
    server.replaces_its_keys();
    for seed in 0..3 {
        app.sign_in(&server, seed).await.unwrap();
    }
    assert_eq!(server.asked(server.keys_path()), 2);
    // At most once a minute, not for each token.
    server.replaces_its_keys();
    for seed in 0..3 {
        let refused = app.sign_in(&server, seed).await;
        assert!(
            matches!(refused, Err(ProviderFault::Invalid(_))),
            "{refused:?}"
        );
    }
    assert_eq!(server.asked(server.keys_path()), 2);
}

/// A provider that rotates during a flood waits at most a minute; here, as long as the setting says.
#[tokio::test]
async fn f6_the_set_is_fetched_again_when_the_time_is_over() {
    let server = ProviderServer::start(Shape::OpenId).await;
    let mut pace = settings();
    pace.between_fetches = Duration::ZERO;
    let app = App::with(&pace, &server, connection("example", server.settings()));
    for rotation in 1..=5 {
        app.sign_in(&server, 1).await.unwrap();
        assert_eq!(server.asked(server.keys_path()), rotation);
        server.rotates_its_keys();
    }
}

/// A token without `kid`: the keys of its type are tried, and the set is refetched once if none fits.
#[tokio::test]
async fn a_token_without_kid() {
    let server = ProviderServer::start(Shape::OpenId).await;
    let app = App::of(&server, "example");
    server.spoils(|draft| {
        draft.header.remove("kid");
    });
    app.sign_in(&server, 1).await.unwrap();
    server.rotates_its_keys();
    app.sign_in(&server, 2).await.unwrap();
    assert_eq!(server.asked(server.keys_path()), 2);
}

/// Key sets that are of no use to us, or to anyone.
#[tokio::test]
async fn keys_are_used_only_for_their_purpose() {
    let server = ProviderServer::start(Shape::OpenId).await;
    let keys = async || {
        let document = published(&server).await;
        document
            .get("keys")
            .and_then(|keys| keys.as_array().cloned())
            .unwrap()
    };
    let good = keys().await;
    let changed = |name: &str, value: serde_json::Value| {
        let mut keys = good.clone();
        for key in &mut keys {
            key.as_object_mut()
                .unwrap()
                .insert(name.to_owned(), value.clone());
        }
        json!({ "keys": keys })
    };
    for (set, is_right) in [
        (json!({ "keys": good }), true),
        (changed("key_ops", json!(["verify"])), true),
        (changed("x5c", json!(["rubbish"])), true),
        (changed("use", json!("enc")), false),
        (changed("key_ops", json!(["encrypt"])), false),
        (changed("key_ops", json!("verify")), false),
        (changed("alg", json!("RS256")), false),
        (changed("kty", json!("oct")), false),
        (changed("crv", json!("P-384")), false),
        (changed("x", json!("AAAA")), false),
        (json!({ "keys": [] }), false),
        (json!({}), false),
        (json!([]), false),
        (json!({ "keys": [1] }), false),
        (
            json!({ "keys": [1, null, "key", [], {"kty": 1}, good[0], good[1]] }),
            true,
        ),
    ] {
        server.replies(server.keys_path(), Some(Reply::json(200, &set)));
        let outcome = App::of(&server, "example").sign_in(&server, 1).await;
        assert_eq!(outcome.is_ok(), is_right, "{set}: {outcome:?}");
    }
}

/// Returns the published set.
async fn published(server: &ProviderServer) -> serde_json::Value {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let address = server.url().strip_prefix("http://").unwrap();
    let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
    let request = format!(
        "GET {} HTTP/1.1\r\nHost: {address}\r\n\r\n",
        server.keys_path()
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    serde_json::from_str(body).unwrap()
}
