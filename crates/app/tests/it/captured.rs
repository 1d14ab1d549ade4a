//! `GET|DELETE /v1/test/messages` (OPS-11).

use std::sync::Arc;

use tokio::sync::oneshot;
use vestry_app::Refusal;
use vestry_app::delivery::test_messages::{FindMessages, TestEnvError};
use vestry_domain::message::CapturedMessage;

use crate::harness::{Harness, START, login};

async fn find(harness: &Harness, query: FindMessages) -> Vec<CapturedMessage> {
    harness
        .service
        .captured_messages(&*harness.test().await, query)
        .await
        .unwrap()
}

fn to(email: &str) -> FindMessages {
    FindMessages {
        to: Some(email.to_owned()),
        ..FindMessages::default()
    }
}

fn codes(messages: &[CapturedMessage]) -> Vec<&str> {
    messages
        .iter()
        .map(|captured| &*captured.message.code)
        .collect()
}

#[tokio::test]
async fn filters_by_recipient_and_kind() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    harness.login(&test, "ada@example.com").await;
    harness.login(&test, "bob@example.com").await;
    harness.deliver().await;
    assert_eq!(find(&harness, FindMessages::default()).await.len(), 2);
    let ada = find(&harness, to("ada@example.com")).await;
    assert_eq!(ada.len(), 1);
    assert_eq!(
        (&*ada[0].message.to, ada[0].world, ada[0].created_at),
        ("ada@example.com", test.world, START)
    );
    assert!(find(&harness, to("nobody@example.com")).await.is_empty());
    let otp = FindMessages {
        kind: Some("otp".into()),
        ..to("bob@example.com")
    };
    assert_eq!(find(&harness, otp).await.len(), 1);
}

/// Newest-first order and the "after this one" cursor hold even for messages of the same second.
#[tokio::test]
async fn order_and_cursor_hold_within_a_second() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let mut sent = Vec::new();
    for number in 0..40 {
        // A reserved address, because of the send limits; its digits are random and its mail is captured.
        let email = format!("wrong+{number}@vestry.test");
        sent.push(harness.fresh_code(&test, &email).await.1);
        if number == 20 {
            harness.pass(1);
        }
    }
    let all = find(&harness, FindMessages::default()).await;
    let newest_first: Vec<_> = sent.iter().rev().map(String::as_str).collect();
    assert_eq!(codes(&all), newest_first);
    for (number, captured) in all.iter().enumerate() {
        assert_eq!(captured.id.timestamp(), captured.created_at);
        let query = FindMessages {
            after: Some(captured.id),
            ..FindMessages::default()
        };
        assert_eq!(codes(&find(&harness, query).await), newest_first[..number]);
    }
}

#[tokio::test]
async fn clears_only_its_own_environment() {
    let harness = Harness::new().await;
    let (test, stranger) = (harness.test().await, harness.stranger().await);
    for caller in [&test, &stranger] {
        harness.login(caller, "ada@example.com").await;
        harness.login(caller, "bob@example.com").await;
    }
    harness.deliver().await;
    assert_eq!(harness.service.clear_captured(&test).await.unwrap(), 2);
    assert!(find(&harness, FindMessages::default()).await.is_empty());
    assert_eq!(harness.service.clear_captured(&test).await.unwrap(), 0);
    let theirs = harness
        .service
        .captured_messages(&stranger, FindMessages::default())
        .await
        .unwrap();
    assert_eq!(theirs.len(), 2);
    harness.pass(20);
    let (_, digits) = harness.fresh_code(&test, "ada@example.com").await;
    assert_eq!(
        codes(&find(&harness, FindMessages::default()).await),
        [digits]
    );
}

/// S-17: for a live key the route does not exist, and live mail is never captured.
#[tokio::test]
async fn s_17_a_live_key_finds_no_route() {
    let harness = Harness::new().await;
    let live = harness.live().await;
    harness.login(&live, "ada@example.com").await;
    harness.deliver().await;
    let found = harness
        .service
        .captured_messages(&live, FindMessages::default())
        .await;
    assert!(matches!(found, Err(TestEnvError::NotFound)));
    assert!(matches!(
        harness.service.clear_captured(&live).await,
        Err(TestEnvError::NotFound)
    ));
    assert!(find(&harness, FindMessages::default()).await.is_empty());
}

#[tokio::test]
async fn bad_queries_name_the_field() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let too_long = FindMessages {
        wait: Some(31),
        ..FindMessages::default()
    };
    let odd_kind = FindMessages {
        kind: Some("telegram".into()),
        ..FindMessages::default()
    };
    for (param, query) in [("wait", too_long), ("kind", odd_kind)] {
        let refused = harness.service.captured_messages(&test, query).await;
        assert!(
            matches!(refused, Err(TestEnvError::Common(Refusal::Invalid(invalid))) if invalid.param == param)
        );
    }
}

/// A long poll ends with the first message, which is delivered by the worker that the send wakes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_poll_ends_with_the_message() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let (stop, stopped) = oneshot::channel::<()>();
    let worker = tokio::spawn({
        let service = Arc::clone(&harness.service);
        async move { service.run_outbox(async { drop(stopped.await) }).await }
    });
    for round in 0..3 {
        let email = format!("u{round}@example.com");
        let query = FindMessages {
            wait: Some(30),
            ..to(&email)
        };
        let waiting = tokio::spawn({
            let (service, test) = (Arc::clone(&harness.service), Arc::clone(&test));
            async move { service.captured_messages(&test, query).await.unwrap() }
        });
        let sent = harness
            .service
            .login_or_create_by_email(&test, login(&email))
            .await
            .unwrap();
        let found = waiting.await.unwrap();
        assert_eq!(found.len(), 1);
        harness
            .verify(&test, sent.email.id, &found[0].message.code)
            .await
            .unwrap();
    }
    stop.send(()).unwrap();
    worker.await.unwrap();
}

/// Two processes: the second is not notified by the first, but finds the message anyway.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_poll_ends_with_the_message_of_another_process() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    harness.login(&test, "ada@example.com").await;
    let first = harness.newest_to(&test, "ada@example.com").await;
    let query = FindMessages {
        wait: Some(30),
        after: Some(first.id),
        ..to("ada@example.com")
    };
    let waiting = tokio::spawn({
        let (service, test) = (Arc::clone(&harness.service), Arc::clone(&test));
        async move { service.captured_messages(&test, query).await.unwrap() }
    });
    harness.pass(20);
    let other = harness.other_process();
    other
        .login_or_create_by_email(&test, login("ada@example.com"))
        .await
        .unwrap();
    assert_eq!(other.deliver_due("other").await.unwrap(), 1);
    let found = waiting.await.unwrap();
    assert_eq!(found.len(), 1);
    assert_ne!(found[0].id, first.id);
}

/// Without a delivery worker, a long poll runs to its timeout.
#[tokio::test]
async fn a_long_poll_for_nothing_ends_empty() {
    let harness = Harness::new().await;
    for wait in [0, 1] {
        let query = FindMessages {
            wait: Some(wait),
            ..FindMessages::default()
        };
        assert!(find(&harness, query).await.is_empty());
    }
}

/// Captured messages are plain text, so they are deleted after a week of real time, whatever the test clock shows.
#[tokio::test]
async fn old_messages_are_swept() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let back = vestry_domain::test_clock::ClockChange {
        now: Some(1_500_000_000),
        ..Default::default()
    };
    harness.service.set_test_clock(&test, back).await.unwrap();
    harness.login(&test, "ada@example.com").await;
    harness.deliver().await;
    for (later, left) in [(7 * 86_400, 1), (1, 0)] {
        harness.pass(later);
        harness.sweep().await;
        assert_eq!(find(&harness, FindMessages::default()).await.len(), left);
    }
}
