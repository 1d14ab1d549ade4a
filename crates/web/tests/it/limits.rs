//! The rate limit: exact, and included in every response.

use std::sync::Arc;

use serde_json::json;
use vestry_app::Settings;
use vestry_contract::fakes::FakeLimiter;
use vestry_domain::Environment;

use crate::harness::{Api, Lane, Options, Response, assert_response_snapshot, on_both, on_with};

on_both! {
    three_a_minute;
    the_limit_is_exact_and_included_in_every_response
    a_refused_request_says_when_to_retry
    r16_parallel_requests_are_counted_one_by_one
    environments_are_counted_separately
}

fn three_a_minute() -> Options {
    let options = Options::default();
    Options {
        service: Settings {
            test_per_minute: 3,
            live_per_minute: 1000,
            ..options.service
        },
        ..options
    }
}

/// Limit, remaining and reset of a response.
fn rate_limit(response: &Response) -> Option<(u32, u32, i64)> {
    let number = |name: &str| response.header(name).map(str::to_owned);
    let limit = number("x-ratelimit-limit")?.parse().unwrap();
    let remaining = number("x-ratelimit-remaining")?.parse().unwrap();
    Some((
        limit,
        remaining,
        number("x-ratelimit-reset")?.parse().unwrap(),
    ))
}

async fn the_limit_is_exact_and_included_in_every_response(api: &Api) {
    let reset = 1_800_000_060;
    let created = api
        .test()
        .post("/v1/auth/users/create", json!({"email": "ada@example.com"}))
        .await
        .ok();
    assert_eq!(rate_limit(&created), Some((3, 2, reset)));
    api.pass(59);
    let refused = api.test().post("/v1/auth/users/create", json!({})).await;
    refused.refuses(400, "missing_field", Some("email"));
    assert_eq!(rate_limit(&refused), Some((3, 1, reset)));
    let wrong_method = api.test().send("PUT", "/v1/wallets/create", None).await;
    wrong_method.refuses(405, "method_not_allowed", None);
    assert_eq!(rate_limit(&wrong_method), Some((3, 0, reset)));
    let over = api.test().get("/v1/wallets/list").await;
    over.refuses(429, "rate_limited", None);
    assert_eq!(rate_limit(&over), Some((3, 0, reset)));
    // A refused request was not executed, whatever it was.
    let over = api
        .test()
        .post("/v1/auth/users/create", json!({"email": "eve@example.com"}))
        .await;
    over.refuses(429, "rate_limited", None);
    api.pass(1);
    let fresh = api.test().get("/v1/wallets/list").await.ok();
    assert_eq!(rate_limit(&fresh), Some((3, 2, reset + 60)));
    assert_eq!(fresh.body["total_count"], 1);
}

async fn a_refused_request_says_when_to_retry(api: &Api) {
    for _ in 0..3 {
        api.test().get("/v1/wallets/list").await.ok();
    }
    api.pass(20);
    let over = api.test().get("/v1/wallets/list").await;
    assert_eq!(over.header("retry-after"), Some("40"));
    assert_response_snapshot!(over, @r#"
    {
      "body": {
        "error": {
          "code": "rate_limited",
          "message": "too many requests; retry with exponential backoff"
        },
        "error_message": "too many requests; retry with exponential backoff",
        "error_type": "rate_limited",
        "request_id": "[request id]",
        "status_code": 429
      },
      "status": 429
    }
    "#);
}

async fn r16_parallel_requests_are_counted_one_by_one(api: &Api) {
    let key = api.test();
    let calls = (0..30).map(|_| key.get("/v1/wallets/list"));
    let responses = futures_util::future::join_all(calls).await;
    let admitted = responses
        .iter()
        .filter(|response| response.status == 200)
        .count();
    assert_eq!(admitted, 3);
    let mut remaining: Vec<u32> = responses
        .iter()
        .filter(|response| response.status == 200)
        .map(|response| rate_limit(response).unwrap().1)
        .collect();
    remaining.sort_unstable();
    assert_eq!(remaining, [0, 1, 2]);
}

async fn environments_are_counted_separately(api: &Api) {
    for _ in 0..3 {
        api.test().get("/v1/wallets/list").await.ok();
    }
    let live = api.live().get("/v1/wallets/list").await.ok();
    assert_eq!(rate_limit(&live), Some((1000, 999, 1_800_000_060)));
    let other = api.other_app().await.get("/v1/wallets/list").await.ok();
    assert_eq!(rate_limit(&other), Some((3, 2, 1_800_000_060)));
    // Invalid keys and calls without a key are counted nowhere.
    api.with_key("sk_test_x")
        .get("/v1/wallets/list")
        .await
        .refuses(401, "invalid_api_key", None);
    assert_eq!(
        rate_limit(
            &api.anonymous()
                .get(&format!("/v1/auth/jwks/{}", api.app.id))
                .await
                .ok()
        ),
        None
    );
    // Another key of the same environment shares the counter.
    let key = api.new_key(Environment::Test, &[]).await;
    api.with_key(&key)
        .get("/v1/wallets/list")
        .await
        .refuses(429, "rate_limited", None);
}

/// OPS-10: 0 means no limit. The headers are then omitted, because a limit of 0 would say the opposite.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_limit_has_no_headers() {
    let options = three_a_minute();
    let options = Options {
        service: Settings {
            test_per_minute: 0,
            ..options.service
        },
        ..options
    };
    on_with(Lane::Sqlite, options, async |api| {
        let path = format!("/v1/auth/users/user_{}", "0".repeat(27));
        for _ in 0..20 {
            let response = api.test().unlimited().get(&path).await;
            response.refuses(404, "not_found", Some("user"));
            assert_eq!(rate_limit(&response), None);
        }
    })
    .await;
}

/// A request that the general limit cannot count is not executed: the response is 503.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unreachable_limiter_is_unavailable() {
    let limiter = Arc::new(FakeLimiter::default());
    let options = Options {
        limiter: limiter.clone(),
        ..Options::default()
    };
    on_with(Lane::Sqlite, options, async |api| {
        limiter.set_unavailable(true);
        let refused = api.test().unlimited().get("/v1/wallets/list").await;
        refused.refuses(503, "unavailable", None);
        assert_response_snapshot!(refused, @r#"
        {
          "body": {
            "error": {
              "code": "unavailable",
              "message": "temporarily unavailable; try again"
            },
            "error_message": "temporarily unavailable; try again",
            "error_type": "unavailable",
            "request_id": "[request id]",
            "status_code": 503
          },
          "status": 503
        }
        "#);
        limiter.set_unavailable(false);
        api.test().get("/v1/wallets/list").await.ok();
    })
    .await;
}
