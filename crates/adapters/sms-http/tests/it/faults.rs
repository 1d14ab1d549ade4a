//! F4, row by row.

use std::time::Duration;

use futures_util::future::join_all;
use vestry_sms_http::HttpSms;

use crate::provider::{Provider, Reply};
use crate::{is_final, send, sender, settings, transient};

/// Messages per row; the full number of the row is for the nightly run.
const SENDS: usize = 50;

#[tokio::test]
async fn f4_a_4xx_is_permanent() {
    let provider = Provider::start().await;
    let sms = sender(&provider);
    for status in [400, 401, 403, 404, 410, 422] {
        provider.then([Reply::Says(
            status,
            "",
            r#"{"code": 21211, "message": "The 'To' number +14155552671 is not valid.", "status": 400}"#,
        )]);
        is_final(send(&sms).await);
    }
}

#[tokio::test]
async fn f4_a_429_says_when_to_retry() {
    let provider = Provider::start().await;
    let sms = sender(&provider);
    for (headers, wait) in [
        ("Retry-After: 30\r\n", Some(30)),
        ("Retry-After: 999999\r\n", Some(3_600)),
        ("Retry-After: Fri, 31 Dec 2027 23:59:59 GMT\r\n", None),
        ("Retry-After: -1\r\n", None),
        ("", None),
    ] {
        provider.then([Reply::Says(429, headers, "")]);
        assert_eq!(transient(send(&sms).await), wait, "{headers:?}");
    }
    // Any number of them: the provider is busy and not broken, and the breaker stays closed.
    provider.then(vec![Reply::Says(429, "Retry-After: 30\r\n", ""); SENDS]);
    for _ in 0..SENDS {
        assert_eq!(transient(send(&sms).await), Some(30));
    }
    send(&sms).await.unwrap();
}

/// The status says that it was accepted: a retry would send a second text.
#[tokio::test]
async fn f4_a_success_with_an_unreadable_body_counts() {
    let provider = Provider::start().await;
    let sms = sender(&provider);
    let bodies = ["", "{\"sid\": \"SM", "<html>", "[]", "null", "\u{fffd}"];
    for body in bodies {
        for status in [200, 201, 202, 204] {
            provider.then([Reply::Says(status, "", body)]);
            send(&sms).await.unwrap();
        }
    }
    assert_eq!(
        provider.arrived().len(),
        bodies.len() * 4,
        "one request per message"
    );
}

#[tokio::test]
async fn f4_a_success_with_an_error_in_the_body_is_retried() {
    let provider = Provider::start().await;
    let sms = sender(&provider);
    for body in [
        r#"{"code": 20500, "message": "internal"}"#,
        r#"{"sid": "SM1", "status": "failed", "error_code": 30001}"#,
    ] {
        for _ in 0..SENDS {
            provider.then([Reply::Says(200, "", body)]);
            assert_eq!(transient(send(&sms).await), None);
        }
    }
    // It does not count as an outage.
    send(&sms).await.unwrap();
}

/// Login and code go only to the configured provider.
#[tokio::test]
async fn f4_redirects_are_not_followed() {
    let (provider, elsewhere) = (Provider::start().await, Provider::start().await);
    let sms = sender(&provider);
    let location: &'static str =
        Box::leak(format!("Location: {}/2010-04-01/x\r\n", elsewhere.url).into_boxed_str());
    for status in [301, 302, 303, 307, 308] {
        provider.then([Reply::Says(status, location, "")]);
        transient(send(&sms).await);
    }
    assert!(elsewhere.arrived().is_empty());
    assert_eq!(provider.arrived().len(), 5);
}

/// 500 without end: the breaker opens after ten failures, and later sends do not reach the provider.
#[tokio::test]
async fn f4_a_dead_provider_gets_no_more_calls() {
    let provider = Provider::start().await;
    let sms = sender(&provider);
    provider.always(Reply::Says(500, "", ""));
    for _ in 0..SENDS {
        transient(send(&sms).await);
    }
    println!(
        "F4: {} of {SENDS} sends reached a provider that answers 500",
        provider.arrived().len()
    );
    assert_eq!(provider.arrived().len(), 10);
    let wait = transient(send(&sms).await).unwrap();
    assert!((1..=3).contains(&wait), "{wait}");
}

/// It closes automatically once the provider is back.
#[tokio::test]
async fn f4_the_breaker_closes_automatically() {
    let provider = Provider::start().await;
    let sms = sender(&provider);
    for reply in [Reply::HangsUp, Reply::Says(503, "Retry-After: 7\r\n", "")] {
        provider.always(reply);
        for _ in 0..10 {
            transient(send(&sms).await);
        }
        let before = provider.arrived().len();
        transient(send(&sms).await);
        assert_eq!(provider.arrived().len(), before);
        provider.always(Reply::Takes);
        let mut look = tokio::time::interval(Duration::from_millis(50));
        tokio::time::timeout(Duration::from_secs(10), async {
            while send(&sms).await.is_err() {
                look.tick().await;
            }
        })
        .await
        .unwrap();
    }
}

/// Three in ten calls fail. Every message is delivered on retry, none twice, and the breaker stays closed.
#[tokio::test]
async fn f4_a_flaky_provider_gets_every_message_once() {
    let provider = Provider::start().await;
    let sms = sender(&provider);
    let (mut tries, mut most) = (0_u32, 0);
    for message in 0..SENDS {
        for attempt in 1.. {
            tries += 1;
            // A fixed pattern of three in ten.
            if [0, 3, 7].contains(&(tries % 10)) {
                provider.then([Reply::Says(500, "", "")]);
            }
            if send(&sms).await.is_ok() {
                most = most.max(attempt);
                break;
            }
            assert!(attempt < 10, "message {message}");
        }
    }
    let taken = usize::try_from(tries).unwrap() - provider.arrived().len();
    println!("F4: {SENDS} messages in {tries} tries at 30 % failures, at most {most} for one");
    assert_eq!(taken, 0, "each attempt was one request");
}

/// A response after twenty seconds still counts; here all times are scaled down to a tenth.
#[tokio::test]
async fn f4_a_slow_response_counts_and_a_slower_one_times_out() {
    let provider = Provider::start().await;
    provider.always(Reply::TakesLate(Duration::from_millis(500)));
    let sms = sender(&provider);
    for outcome in join_all((0..20).map(|_| send(&sms))).await {
        outcome.unwrap();
    }
    assert_eq!(provider.arrived().len(), 20, "no request was repeated");
    let mut hasty = settings(&provider);
    assert!(hasty.limits.whole > Duration::from_secs(20));
    hasty.limits.whole = Duration::from_millis(100);
    let hasty = HttpSms::new(&hasty).unwrap();
    assert_eq!(transient(send(&hasty).await), None);
}

/// A response of any size costs a bounded amount of memory.
#[tokio::test]
async fn a_huge_response_is_truncated() {
    let provider = Provider::start().await;
    let huge: &'static str = Box::leak("x".repeat(70_000).into_boxed_str());
    provider.then([Reply::Says(201, "", huge)]);
    assert_eq!(transient(send(&sender(&provider)).await), None);
}
