//! Attack 16: where a request comes from, as the limit of guessed API keys sees it (S-16).

use vestry_domain::Environment;
use vestry_web::WebSettings;

use crate::rig::{Answer, Api, Lane, Wishes, on_with};

const PATH: &str = "/v1/wallets/list";
const MOST: usize = 5;

/// Few guesses a minute, and these proxies.
fn wishes(proxies: &[&str]) -> Wishes {
    Wishes {
        web: WebSettings {
            trusted_proxies: proxies.iter().map(|net| net.parse().unwrap()).collect(),
            failed_auth_per_minute: u32::try_from(MOST).unwrap(),
            ..WebSettings::default()
        },
        ..Wishes::default()
    }
}

/// A key of the right form that nobody has.
fn guess(number: usize) -> String {
    format!("sk_test_{number:048}")
}

async fn guessed(api: &Api, number: usize, forwarded_for: &str) -> Answer {
    let client = api.with_key(&guess(number)).unlimited();
    let client = client.header("X-Forwarded-For", forwarded_for);
    client.get(PATH).await
}

/// Guesses until the address is held up; how many were looked up before.
async fn guess_until_refused(api: &Api, forwarded_for: impl Fn(usize) -> String) -> usize {
    for number in 0..100 {
        let answer = guessed(api, number, &forwarded_for(number)).await;
        if answer.status == 429 {
            answer.refuses(429, "rate_limited", None);
            return number;
        }
        answer.refuses(401, "invalid_api_key", None);
    }
    panic!("nothing held the guesses up");
}

/// With no trusted proxy the header is ignored: a new address with every guess is still the address of the socket.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn attack_16_without_a_proxy_the_header_is_ignored() {
    for lane in [Lane::Sqlite, Lane::Postgres] {
        on_with(lane, wishes(&["10.0.0.0/8"]), async |api: &Api| {
            let claims = |number: usize| match number % 4 {
                0 => format!("203.0.113.{number}"),
                1 => format!("198.51.100.{number}, 10.0.0.1"),
                2 => "not an address".to_owned(),
                _ => "::ffff:999.1.1.1, ,".to_owned(),
            };
            assert_eq!(guess_until_refused(api, claims).await, MOST);
        })
        .await;
    }
}

/// With one, the right-most hop that is none of the proxies counts, whatever is claimed left of it; a header that cannot be
/// read leaves the address of the socket, which is held up like any other.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn attack_16_behind_a_proxy_the_right_most_stranger_counts() {
    for lane in [Lane::Sqlite, Lane::Postgres] {
        let proxies = ["127.0.0.0/8", "10.0.0.0/8"];
        on_with(lane, wishes(&proxies), async |api: &Api| {
            for stranger in ["203.0.113.9", "203.0.113.10", "2001:db8::1"] {
                let claims = |number: usize| match number % 3 {
                    0 => format!("198.51.100.{number}, {stranger}"),
                    1 => format!("not an address, {stranger}, 10.0.0.{number}"),
                    _ => stranger.to_owned(),
                };
                let looked_up = guess_until_refused(api, claims).await;
                assert_eq!(looked_up, MOST, "{stranger}");
            }
            let garbage = |number: usize| format!("203.0.113.{number}, garbage{number}");
            let looked_up = guess_until_refused(api, garbage).await;
            assert_eq!(looked_up, MOST);
            let socket = guessed(api, 0, "127.0.0.1").await;
            socket.refuses(429, "rate_limited", None);
            assert_eq!(socket.header("retry-after"), Some("60"));
        })
        .await;
    }
}

/// Who shares an address with a guesser goes on: a key that was seen is never refused, and one that was not gets in with the
/// next look-up. A revoked key is one that nobody has.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn attack_24_guesses_hold_up_no_backend() {
    for lane in [Lane::Sqlite, Lane::Postgres] {
        on_with(lane, wishes(&[]), async |api: &Api| {
            api.test().get(PATH).await.ok();
            let unseen = api.new_key(Environment::Live, &[]).await;
            guess_until_refused(api, |_| String::new()).await;
            for second in 0..3 {
                api.pass(second);
                api.test().get(PATH).await.ok();
            }
            // Nothing is looked up in a second in which something was: not even a key that is good.
            guessed(api, 0, "")
                .await
                .refuses(401, "invalid_api_key", None);
            let client = api.with_key(&unseen).unlimited();
            client.get(PATH).await.refuses(429, "rate_limited", None);
            api.pass(1);
            client.get(PATH).await.ok();
            guessed(api, 0, "").await.refuses(429, "rate_limited", None);
            client.get(PATH).await.ok();
            // What is no key at all costs no look-up, and says what it always says.
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
