//! Attacks 6, 7 and 8: link scanners, and messages sent at others' expense.
//!
//! For fifty thousand pumped numbers, each breaker and each cap, see `attack_7` and `attack_8` in the use case tests
//! (`crates/app/tests/it/pumping.rs`).

use serde_json::json;
use vestry_app::Principal;
use vestry_domain::Environment;
use vestry_domain::api_key::ApiKeyKind;
use vestry_domain::limits::texts::UNVERIFIED_PER_PREFIX;

use super::people::{self, CODES, LINKS, PASSWORD, link_to, texted};
use crate::flows::{sent, verified};
use crate::harness::{Api, Lane, Options, described, on_both, on_with};

on_both! {
    attack_6_no_scanner_uses_up_a_mailed_secret
    attack_7_pumping_a_prefix_is_stopped_and_the_next_goes_on
    attack_8_mail_to_an_address_is_limited
}

const LOGIN: &str = "/v1/auth/magic_links/email/login_or_create";
const RESET: &str = "/v1/auth/passwords/reset/begin";
const COMPLETE: &str = "/v1/auth/passwords/reset/complete";

/// A mail carries a link, a fallback code and a reset link. A scanner calls every URL with them, with a key and without, with cookies and
/// without. Each remains valid, once.
async fn attack_6_no_scanner_uses_up_a_mailed_secret(api: &Api) {
    people::with_urls(api).await;
    let link = link_to(api, LOGIN, "link@example.com").await;
    link_to(api, LOGIN, "reset@example.com").await;
    let reset = link_to(api, RESET, "reset@example.com").await;
    let code = sent(api, &api.test(), "code@example.com").await;
    let cookies = format!("session={link}; token={link}; otp={}", code.code);
    let clients = [
        api.anonymous(),
        api.test(),
        api.anonymous().header("Cookie", &cookies),
        api.test()
            .header("Cookie", &cookies)
            .header("Sec-Purpose", "prefetch"),
    ];
    let mut paths: Vec<&str> = described()
        .all()
        .map(|operation| operation.path.as_str())
        .collect();
    paths.dedup();
    let mut looks = 0;
    for path in paths {
        let path = path.replace(['{', '}'], "");
        for carried in [&link, &reset] {
            let query = format!(
                "{path}?token={carried}&method_id={}&otp={}",
                code.method_id, code.code
            );
            for method in ["GET", "HEAD", "OPTIONS"] {
                let client = &clients[looks % clients.len()];
                let response = client.send(method, &query, None).await;
                // Captured mails exist in the test environment only.
                let is_mailbox = path == "/v1/test/messages";
                assert!(
                    is_mailbox || !response.text.contains(carried.as_str()),
                    "{path}"
                );
                looks += 1;
            }
        }
    }
    assert!(looks >= 200, "{looks}");
    let proof = json!({"token": link, "session_expires_in": 60});
    api.test().post(LINKS, proof.clone()).await.ok();
    let again = api.test().post(LINKS, proof).await;
    again.refuses(400, "invalid_magic_token", None);
    verified(&api.test(), &code, json!({})).await.ok();
    let again = verified(&api.test(), &code, json!({})).await;
    again.refuses(400, "invalid_otp", None);
    let proof = json!({"token": reset, "password": PASSWORD});
    api.test().post(COMPLETE, proof.clone()).await.ok();
    let again = api.test().post(COMPLETE, proof).await;
    again.refuses(400, "invalid_magic_token", None);
}

/// Adjacent numbers of one prefix, none of which answers, interleaved with honest users of another.
async fn attack_7_pumping_a_prefix_is_stopped_and_the_next_goes_on(api: &Api) {
    const NUMBERS: u32 = 60;
    let (mut admitted, mut honest) = (0, 0);
    for number in 0..NUMBERS {
        let request = json!({"phone_number": format!("+1415555{:04}", 2_000 + number)});
        let path = "/v1/auth/otps/sms/login_or_create";
        let asked = api.test().post(path, request).await;
        match asked.status {
            200 => admitted += 1,
            _ => {
                asked.refuses(429, "too_many_attempts", None);
                let wait: i64 = asked.header("retry-after").unwrap().parse().unwrap();
                assert!((1..=3_600).contains(&wait), "{wait}");
            }
        }
        if number % 10 == 0 {
            let code = texted(api, &format!("+1415777{:04}", 2_000 + number)).await;
            let proof = json!({"method_id": code.method_id, "otp": code.code});
            api.test().post(CODES, proof).await.ok();
            honest += 1;
        }
    }
    println!("attack 7: {admitted} of {NUMBERS} pumped texts, {honest} honest sign-ins");
    assert_eq!((admitted, honest), (UNVERIFIED_PER_PREFIX.most, 6));
}

/// However many calls mail one address, in any spelling, it gets no more than the limit.
async fn attack_8_mail_to_an_address_is_limited(api: &Api) {
    people::with_urls(api).await;
    let spellings = [
        "victim@example.com",
        "Victim@example.com",
        "VICTIM@EXAMPLE.COM",
    ];
    let paths = [
        "/v1/auth/otps/email/login_or_create",
        "/v1/auth/otps/email/send",
        LOGIN,
        "/v1/auth/magic_links/email/invite",
        RESET,
    ];
    let mut admitted = 0;
    for turn in 0..30 {
        let request = json!({"email": spellings[turn % spellings.len()]});
        let asked = api.test().post(paths[turn % paths.len()], request).await;
        match asked.status {
            200 => admitted += 1,
            _ => asked.refuses(429, "too_many_attempts", None),
        }
        api.deliver().await;
    }
    // Concurrent requests mostly repeat an earlier message: one of each kind, and one of each call for a code. Beyond the limit one of
    // each kind would be left.
    let messages = api.test().get("/v1/test/messages").await.ok();
    let mails = messages.body["messages"].as_array().unwrap().len();
    assert!(mails <= 9, "{mails} of {admitted}");
    // And the number of new addresses is limited.
    let cap = [("new_users_per_hour".to_owned(), "3".to_owned())];
    api.service
        .set_app(Principal::cli(), api.app.id, &cap)
        .await
        .unwrap();
    api.pass(3_600);
    let mut created = 0;
    for number in 0..10 {
        let request = json!({"email": format!("bot-{number}@example.com")});
        let asked = api.test().post(paths[0], request).await;
        created += u32::from(asked.status == 200);
    }
    assert_eq!(created, 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn attack_8_the_cap_of_the_operator_holds_across_apps_on_sqlite() {
    the_cap_of_the_operator_holds_across_apps(Lane::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn attack_8_the_cap_of_the_operator_holds_across_apps_on_postgres() {
    the_cap_of_the_operator_holds_across_apps(Lane::Postgres).await;
}

/// Three Apps of one deployment together send a person no more than the operator's cap, and one message beyond it.
async fn the_cap_of_the_operator_holds_across_apps(lane: Lane) {
    let mut options = Options::default();
    options.service.sends_per_identifier = 7;
    on_with(lane, options, async |api| {
        let mut clients = vec![api.test()];
        for name in ["Second", "Third"] {
            let app = api
                .service
                .create_app(Principal::cli(), name)
                .await
                .unwrap();
            let kind = ApiKeyKind::Secret;
            let key = api.key_of(&app, kind, Environment::Test, &[]).await;
            clients.push(api.with_key(&key));
        }
        let mut admitted = 0;
        for _ in 0..5 {
            api.pass(20);
            for client in &clients {
                let path = "/v1/auth/otps/email/login_or_create";
                let request = json!({"email": "victim@example.com"});
                admitted += u32::from(client.post(path, request).await.status == 200);
            }
        }
        assert_eq!(admitted, 8, "one of them beyond the limit (M-5)");
    })
    .await;
}
