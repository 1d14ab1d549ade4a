//! What the charts of the console count, through the API, and how the overview shows it (CON-1, CON-19).

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use vestry_app::Principal;
use vestry_app::platform::ActivityRange;
use vestry_app::platform::webhooks::NewEndpoint;
use vestry_contract::browser::Browser;
use vestry_domain::operator::Role;
use vestry_domain::{Environment, World};

use crate::attacks::people::{
    Authenticator, CODES, PAGE, PASSKEYS, PASSWORD, PASSWORDS, Person, Pocket, TOTP, assertion,
    link_to, passkey, texted, with_password,
};
use crate::console::{grants, operator};
use crate::console_pages::{path, user_in};
use crate::flows::{sent, signed_in, verified};
use crate::harness::{Api, on_both};
use crate::oauth;

on_both! {
    con_20_counters_equal_the_committed_facts
    the_overview_draws_what_happened
}

const CREATE: &str = "/v1/auth/users/create";
const HOST: &str = "hooks.example.com";

/// Counts that are expected, and those that were read.
type Counts = BTreeMap<String, u64>;

/// The counts so far in an environment, written like a process does every ten seconds.
async fn counted(api: &Api, environment: Environment) -> Counts {
    api.service.write_activity().await;
    let world = World::new(api.app.id, environment);
    let of_day = ActivityRange::Day;
    let found = api.service.activity(Principal::cli(), world, of_day).await;
    let mut counts = Counts::new();
    for (measure, of_steps) in found.unwrap().counts {
        // How long an attempt takes depends on the machine.
        let label = match measure.name() {
            "webhook_ms" => "all",
            _ => measure.label(),
        };
        let name = format!("{}/{label}", measure.name());
        *counts.entry(name).or_default() += of_steps.iter().sum::<u64>();
    }
    counts
}

fn note(expected: &mut Counts, names: &[&str]) {
    for name in names {
        *expected.entry((*name).to_owned()).or_default() += 1;
    }
}

/// A request that changed nothing is sent with a key, and again: it is counted once.
async fn twice(api: &Api, path: &str, body: Value) -> Value {
    let keyed = api.test().header("Idempotency-Key", path);
    let first = keyed.post(path, body.clone()).await.ok();
    let again = keyed.post(path, body).await;
    assert_eq!(again.header("idempotent-replayed"), Some("true"));
    assert_eq!(again.ok().body, first.body);
    first.body
}

/// CON-20: sign-ins, failures, users, wallets, signatures and webhooks are counted once, in their environment. Refused, repeated and
/// undone calls count nothing, and nor does any other call.
async fn con_20_counters_equal_the_committed_facts(api: &Api) {
    let mut test = Counts::new();
    let mut live = Counts::new();
    users_and_sign_ins(api, &mut test).await;
    assert_eq!(counted(api, Environment::Test).await, test);
    further_methods(api, &mut test, &mut live).await;
    wallets(api, &mut test).await;
    assert_eq!(counted(api, Environment::Test).await, test);
    assert_eq!(counted(api, Environment::Live).await, live);
    webhooks(api, &mut test).await;
    assert_eq!(counted(api, Environment::Test).await, test);
    assert_eq!(counted(api, Environment::Live).await, live);
    let users = api.test().post("/v1/auth/users/search", json!({})).await;
    let users = users.ok().body["total_count"].as_u64();
    let created = test.iter().filter(|(name, _)| name.starts_with("user_"));
    assert_eq!(users, Some(created.map(|(_, count)| count).sum()));
}

async fn users_and_sign_ins(api: &Api, expected: &mut Counts) {
    let client = api.test();
    twice(api, CREATE, json!({"email": "eve@example.com"})).await;
    note(
        expected,
        &["user_created/create", "wallet_created/ethereum"],
    );
    let taken = client
        .post(CREATE, json!({"email": "eve@example.com"}))
        .await;
    assert_eq!(taken.status, 409);

    let code = sent(api, &client, "ken@example.com").await;
    let wrong = if code.code == "271828" {
        "314159"
    } else {
        "271828"
    };
    let wrong = json!({"method_id": code.method_id, "otp": wrong});
    let refused = client.post(CODES, wrong).await;
    refused.refuses(400, "invalid_otp", None);
    verified(&client, &code, json!({"session_expires_in": 60}))
        .await
        .ok();
    // A used code is refused without a try.
    assert_eq!(verified(&client, &code, json!({})).await.status, 400);
    let names = ["user_created/email_otp", "sign_in_failed/code"];
    note(expected, &names);
    note(expected, &["sign_in/email_code"]);
    // A sign-in without a session.
    let code = texted(api, "+14155552671").await;
    verified(&client, &code, json!({})).await.ok();
    note(expected, &["user_created/sms_otp", "sign_in/sms_code"]);

    let Person { user, .. } = with_password(api, "ada@example.com").await;
    note(expected, &["user_created/email_otp", "sign_in/email_code"]);
    let right = json!({"user_id": user, "password": PASSWORD, "session_expires_in": 60});
    twice(api, PASSWORDS, right).await;
    note(expected, &["sign_in/password"]);
    let wrong = json!({"user_id": user, "password": "not this one at all"});
    let refused = client.post(PASSWORDS, wrong).await;
    refused.refuses(401, "invalid_credentials", None);
    note(expected, &["sign_in_failed/password"]);
    let code = sent(api, &client, "ada@example.com").await;
    let path = |call: &str| format!("/v1/auth/users/{user}/{call}");
    client.post(&path("disable"), json!({})).await.ok();
    assert_ne!(verified(&client, &code, json!({})).await.status, 200);
    client.post(&path("enable"), json!({})).await.ok();
    note(expected, &["sign_in_failed/user_disabled"]);
}

async fn further_methods(api: &Api, expected: &mut Counts, live: &mut Counts) {
    let client = api.test();
    oauth::lands(api).await;
    let path = "/v1/auth/passwords/reset/begin";
    let token = link_to(api, path, "ada@example.com").await;
    let reset = json!({"token": token, "password": PASSWORD});
    let path = "/v1/auth/passwords/reset/complete";
    client.post(path, reset).await.ok();
    note(expected, &["sign_in/email_link"]);

    let session = signed_in(api, "ken@example.com").await;
    let user = session.text_at("/user_id");
    let app = Authenticator::of(api, &user).await;
    let session = signed_in(api, "ken@example.com").await;
    note(expected, &["sign_in/email_code", "sign_in/email_code"]);
    // The first code of the app.
    note(expected, &["sign_in/totp"]);
    // A second factor belongs to a sign-in that was counted.
    let token = session.text_at("/session_token");
    let second = json!({"user_id": user, "totp": app.shows(api), "session_token": token});
    client.post(TOTP, second).await.ok();
    let recovery = json!({"user_id": user, "recovery_code": app.recovery[0]});
    let path = "/v1/auth/totps/recovery";
    client.post(path, recovery.clone()).await.ok();
    // A used one is not a guess.
    assert_eq!(client.post(path, recovery).await.status, 400);
    let shown = app.shows(api);
    let first = if shown.starts_with('1') { "2" } else { "1" };
    let wrong = json!({"user_id": user, "totp": format!("{first}{}", &shown[1..])});
    assert_eq!(client.post(TOTP, wrong).await.status, 400);
    note(expected, &["sign_in/recovery_code", "sign_in_failed/totp"]);

    let mut browser = Browser::counting(PAGE);
    passkey(api, &mut browser, &user).await;
    let request = json!({"public_key_credential": assertion(api, &mut browser).await});
    client.post(PASSKEYS, request).await.ok();
    let mut response = assertion(api, &mut browser).await;
    response["response"]["signature"] = json!(URL_SAFE_NO_PAD.encode([0; 70]));
    let request = json!({"public_key_credential": response});
    let refused = client.post(PASSKEYS, request).await;
    refused.refuses(401, "invalid_credentials", None);
    note(expected, &["sign_in/passkey", "sign_in_failed/passkey"]);

    let query = "identity=verified&email=mia%40example.com";
    let (url, _) = oauth::landed(api, query).await;
    let request = json!({"token": oauth::token(&url)});
    oauth::verify(&client, request).await.ok();
    note(expected, &["user_created/oauth", "sign_in/provider"]);

    let pocket = Pocket::new(api).await;
    note(live, &["user_created/create", "wallet_created/ethereum"]);
    let proof = pocket.proof(api, None).await;
    let path = "/v1/auth/wallets/verify";
    client.post(path, proof.clone()).await.ok();
    let mut again = pocket.proof(api, None).await;
    again["signature"] = proof["signature"].clone();
    let refused = client.post(path, again).await;
    refused.refuses(401, "invalid_credentials", None);
    note(expected, &["user_created/wallet", "sign_in/wallet"]);
    note(expected, &["sign_in_failed/wallet"]);
    note(live, &["signature/ethereum", "signature/ethereum"]);
}

async fn wallets(api: &Api, expected: &mut Counts) {
    let client = api.test();
    let user = json!({"email": "nia@example.com"});
    let user = client.post(CREATE, user).await.ok().text_at("/user_id");
    note(
        expected,
        &["user_created/create", "wallet_created/ethereum"],
    );
    let request = json!({"user_id": user, "wallet_type": "solana"});
    let wallet = twice(api, "/v1/wallets/create", request).await;
    note(expected, &["wallet_created/solana"]);
    let id = wallet["id"].as_str().unwrap();
    let path = |call: &str| format!("/v1/wallets/{id}/{call}");
    twice(api, &path("sign_message"), json!({"message": "hi"})).await;
    note(expected, &["signature/solana"]);
    client.post(&path("disable"), json!({})).await.ok();
    let message = json!({"message": "ho"});
    let refused = client.post(&path("sign_message"), message).await;
    assert_ne!(refused.status, 200);
}

async fn webhooks(api: &Api, expected: &mut Counts) {
    let new = NewEndpoint {
        url: format!("https://{HOST}/events"),
        name: None,
        types: vec!["user.created".to_owned()],
        enabled: true,
    };
    // The endpoint gets what happens from now on.
    api.service.sequence_all().await.unwrap();
    let world = World::new(api.app.id, Environment::Test);
    let added = api.service.add_webhook(Principal::cli(), world, new).await;
    added.unwrap();
    for (number, status) in [(1, 200), (2, 500), (3, 410)] {
        api.webhooks.answer(HOST, status, None);
        let user = json!({"email": format!("user{number}@example.com")});
        api.test().post(CREATE, user).await.ok();
        api.service.sequence_all().await.unwrap();
        assert_eq!(api.service.send_due().await.unwrap(), 1);
        note(
            expected,
            &["user_created/create", "wallet_created/ethereum"],
        );
        note(expected, &["webhook_ms/all"]);
    }
    note(expected, &["webhook/delivered", "webhook/failed"]);
    note(expected, &["webhook/gone"]);
}

async fn the_overview_draws_what_happened(api: &Api) {
    let grants = grants(Role::Viewer, Some(api.app.id));
    let (mut ann, ..) = operator(api, "ann@example.com", grants).await;
    let [overview, other] = ["live", "test"].map(|environment| path(api, environment, ""));
    let empty = "Nothing happened in the last 30 days";
    ann.get(&overview).await.shows(200, empty);
    for _ in 0..3 {
        user_in(api, Environment::Live, json!({})).await;
    }
    api.service.write_activity().await;
    for (range, title, step) in [
        ("24h", "New users per hour, last 24 hours", "15 Jan, 08:00"),
        ("7d", "New users per day, last 7 days", "Fri 15 Jan"),
        ("30d", "New users per day, last 30 days", "Fri 15 Jan"),
        ("12m", "New users per month, last 12 months", "Jan 2027"),
    ] {
        let page = ann.get(&format!("{overview}?range={range}")).await;
        let page = page.shows(200, title);
        let row = format!("<th scope=\"row\">{step}</th><td class=\"num\">3</td>");
        let tooltip = format!("<title>{step}: New users 3</title>");
        let current = format!("<a href=\"?range={range}\" aria-current=\"true\">");
        for part in [
            &*row,
            &tooltip,
            &current,
            "No sign-ins in this time",
            "100 %",
        ] {
            assert!(page.html.contains(part), "{part} in {}", page.html);
        }
        assert!(!page.html.contains(" style="), "{}", page.html);
    }
    ann.get(&format!("{overview}?range=1y"))
        .await
        .shows(400, "range must be 24h, 7d, 30d or 12m");
    ann.get(&other).await.shows(200, empty);
}
