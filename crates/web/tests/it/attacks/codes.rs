//! Attacks 3 and 4: guessing codes, and racing for them.

use std::sync::Arc;

use serde_json::json;
use tokio::sync::Barrier;
use vestry_domain::code::MAX_TRIES;

use crate::flows::{sent, verified};
use crate::harness::{Api, Response, on_both};

on_both! {
    attack_3_guessing_for_a_day_with_resends
    attack_4_parallel_attempts_are_counted_exactly
}

const VERIFY: &str = "/v1/auth/otps/verify";

/// 1,250 guesses a day, far more than are compared, evenly spread, each from another address, with a new code as soon as one may be sent.
///
/// The odds count the guesses that were compared with a valid code.
async fn attack_3_guessing_for_a_day_with_resends(api: &Api) {
    const GUESSES: i64 = 1_250;
    const LIFETIME: i64 = 600;
    let victim = json!({"email": "victim@example.com", "expires_in": 10});
    let (mut compared, mut codes) = (0, 0);
    // Of the valid code: its id, how many guesses it has seen, and when it expires.
    let mut living: Option<(String, i64, i64)> = None;
    for guess in 0..GUESSES {
        let now = guess * 86_400 / GUESSES;
        if living
            .as_ref()
            .is_none_or(|(_, tries, dies)| *tries == MAX_TRIES || *dies <= now)
        {
            let path = "/v1/auth/otps/email/login_or_create";
            let asked = api.test().post(path, victim.clone()).await;
            if asked.status == 200 {
                living = Some((asked.text_at("/email_id"), 0, now + LIFETIME));
                codes += 1;
            }
        }
        if let Some((method, tries, dies)) = &mut living {
            let refused = api
                .test()
                .post(
                    VERIFY,
                    json!({
                        "method_id": method,
                        "otp": format!("{:06}", guess % 1_000_000),
                        "device_fingerprint": {"ip": format!("203.0.113.{}", guess % 256)},
                    }),
                )
                .await;
            assert!([400, 429].contains(&refused.status), "{}", refused.text);
            if refused.status == 400 && *tries < MAX_TRIES && now < *dies {
                *tries += 1;
                compared += 1;
            }
        }
        api.clock.advance(vestry_domain::timestamp::Seconds(
            (guess + 1) * 86_400 / GUESSES - now,
        ));
    }
    println!(
        "attack 3: {GUESSES} guesses in a day, {codes} codes sent, {compared} guesses compared: odds {compared}/1000000"
    );
    assert!(codes > 1 && compared > 0, "no attempt was made");
    assert!(compared < 100, "attack 3: {compared} guesses were compared");
}

/// 200 concurrent clients, on several connections each: the right code wins once, and no more than five wrong ones are counted.
async fn attack_4_parallel_attempts_are_counted_exactly(api: &Api) {
    for round in 0..5 {
        let right = sent(api, &api.test(), &format!("right-{round}@example.com")).await;
        let proof = json!({
            "method_id": right.method_id, "otp": right.code, "session_expires_in": 60,
        });
        let responses = at_once(api, 200, &proof).await;
        let wins = responses
            .iter()
            .filter(|response| response.status == 200)
            .count();
        assert!(wins > 0, "the right code was refused");
        assert_eq!(wins, 1, "attack 4: sign-ins with one code");
        let listed = api
            .test()
            .get(&format!("/v1/auth/sessions/list?user_id={}", right.user_id))
            .await
            .ok();
        assert_eq!(listed.body["sessions"].as_array().unwrap().len(), 1);
        let wrong = sent(api, &api.test(), &format!("wrong-{round}@example.com")).await;
        let guess = if wrong.code == "000000" {
            "000001"
        } else {
            "000000"
        };
        let proof = json!({"method_id": wrong.method_id, "otp": guess});
        let responses = at_once(api, 200, &proof).await;
        assert!(responses.iter().all(|response| response.status == 400));
        verified(&api.test(), &wrong, json!({}))
            .await
            .refuses(400, "invalid_otp", None);
    }
}

/// Sends the same request from `clients` clients at once; none begins before all are ready.
async fn at_once(api: &Api, clients: usize, body: &serde_json::Value) -> Vec<Response> {
    let start = Arc::new(Barrier::new(clients));
    let tries = (0..clients).map(|_| {
        let start = Arc::clone(&start);
        async move {
            start.wait().await;
            api.test().post(VERIFY, body.clone()).await
        }
    });
    futures_util::future::join_all(tries).await
}
