//! Attack 16: the origin of a request, as seen by the limit on guessed API keys (S-16).

use vestry_domain::Environment;
use vestry_edge::WebSettings;

use crate::harness::{Api, Lane, Options, Response, on_with};

const PATH: &str = "/v1/wallets/list";
const MAX_TRIES: usize = 5;

/// Few guesses a minute, and these proxies.
fn options(proxies: &[&str]) -> Options {
    Options {
        web: WebSettings {
            trusted_proxies: proxies.iter().map(|net| net.parse().unwrap()).collect(),
            failed_auth_per_minute: u32::try_from(MAX_TRIES).unwrap(),
            ..WebSettings::default()
        },
        ..Options::default()
    }
}

/// A well-formed key that does not exist.
fn guess(number: usize) -> String {
    format!("sk_test_{number:048}")
}

async fn guessed(api: &Api, number: usize, forwarded_for: &str) -> Response {
    let client = api.with_key(&guess(number)).unlimited();
    let client = client.header("X-Forwarded-For", forwarded_for);
    client.get(PATH).await
}

/// Guesses until the address is limited; returns how many guesses were looked up.
async fn guess_until_refused(api: &Api, forwarded_for: impl Fn(usize) -> String) -> usize {
    for number in 0..100 {
        let response = guessed(api, number, &forwarded_for(number)).await;
        if response.status == 429 {
            response.refuses(429, "rate_limited", None);
            return number;
        }
        response.refuses(401, "invalid_api_key", None);
    }
    panic!("the guesses were never limited");
}

/// Without a trusted proxy the header is ignored: the socket's address counts, whatever new address each guess claims.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn attack_16_without_a_proxy_the_header_is_ignored() {
    for lane in [Lane::Sqlite, Lane::Postgres] {
        on_with(lane, options(&["10.0.0.0/8"]), async |api: &Api| {
            let claims = |number: usize| match number % 4 {
                0 => format!("203.0.113.{number}"),
                1 => format!("198.51.100.{number}, 10.0.0.1"),
                2 => "not an address".to_owned(),
                _ => "::ffff:999.1.1.1, ,".to_owned(),
            };
            assert_eq!(guess_until_refused(api, claims).await, MAX_TRIES);
        })
        .await;
    }
}

/// With a trusted proxy, the right-most hop that is not a proxy counts, whatever is claimed to the left of it. If the header is unreadable,
/// the socket's address is used and limited like any other.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn attack_16_behind_a_proxy_the_right_most_stranger_counts() {
    for lane in [Lane::Sqlite, Lane::Postgres] {
        let proxies = ["127.0.0.0/8", "10.0.0.0/8"];
        on_with(lane, options(&proxies), async |api: &Api| {
            for stranger in ["203.0.113.9", "203.0.113.10", "2001:db8::1"] {
                let claims = |number: usize| match number % 3 {
                    0 => format!("198.51.100.{number}, {stranger}"),
                    1 => format!("not an address, {stranger}, 10.0.0.{number}"),
                    _ => stranger.to_owned(),
                };
                let looked_up = guess_until_refused(api, claims).await;
                assert_eq!(looked_up, MAX_TRIES, "{stranger}");
            }
            let garbage = |number: usize| format!("203.0.113.{number}, garbage{number}");
            let looked_up = guess_until_refused(api, garbage).await;
            assert_eq!(looked_up, MAX_TRIES);
            let socket = guessed(api, 0, "127.0.0.1").await;
            socket.refuses(429, "rate_limited", None);
            assert_eq!(socket.header("retry-after"), Some("60"));
        })
        .await;
    }
}

/// Callers that share a guesser's address are not blocked: a key seen before is never refused, and another one works at the next lookup. A
/// revoked key counts as unknown.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn attack_24_guesses_block_no_backend() {
    for lane in [Lane::Sqlite, Lane::Postgres] {
        on_with(lane, options(&[]), async |api: &Api| {
            api.test().get(PATH).await.ok();
            let unseen = api.new_key(Environment::Live, &[]).await;
            guess_until_refused(api, |_| String::new()).await;
            for second in 0..3 {
                api.pass(second);
                api.test().get(PATH).await.ok();
            }
            // One lookup a second at most: not even a valid key is looked up again within it.
            guessed(api, 0, "")
                .await
                .refuses(401, "invalid_api_key", None);
            let client = api.with_key(&unseen).unlimited();
            client.get(PATH).await.refuses(429, "rate_limited", None);
            api.pass(1);
            client.get(PATH).await.ok();
            guessed(api, 0, "").await.refuses(429, "rate_limited", None);
            client.get(PATH).await.ok();
            // A string that is not a key costs no lookup and gets the usual response.
            let anonymous = api.anonymous().get(PATH).await;
            anonymous.refuses(401, "missing_api_key", None);
            let malformed = api.with_key("sk_test_x").get(PATH).await;
            malformed.refuses(401, "invalid_api_key", None);
            api.pass(60);
            guessed(api, 0, "")
                .await
                .refuses(401, "invalid_api_key", None);
        })
        .await;
    }
}
