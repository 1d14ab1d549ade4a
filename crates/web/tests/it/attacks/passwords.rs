//! Attacks 21, 22 and 24: long passwords, floods of them, and what a flood of wrong ones takes from its victim.
//!
//! `attack_22` in the server's tests covers memory and other callers' latency under a flood. `attack_21` in the hasher's tests covers the
//! primitives.

use std::num::NonZeroUsize;

use futures_util::future::join_all;
use serde_json::{Value, json};
use vestry_app::identity::users::PortableUser;
use vestry_contract::browser::Browser;
use vestry_domain::{Environment, World};
use vestry_password_argon2::Settings as Hashing;

use super::people::{
    self, Authenticator, CODES, LINKS, PAGE, PASSKEYS, PASSWORD, PASSWORDS, Pocket, SESSION, TOTP,
    link_to, with,
};
use crate::flows::{sent, signed_in, verified};
use crate::harness::{Api, Lane, Options, on_both, on_with, operator};

on_both! {
    attack_21_a_password_counts_to_its_last_byte
    attack_21_an_imported_bcrypt_hash_accepts_no_longer_password
    attack_24_an_attack_leaves_the_victim_every_other_method
}

async fn fits(api: &Api, user: &str, password: &str) -> bool {
    let request = json!({"user_id": user, "password": password});
    let response = api.test().post(PASSWORDS, request).await;
    assert!([200, 401].contains(&response.status), "{}", response.text);
    response.status == 200
}

/// Passwords that differ only after byte 72, or only in length, up to the longest.
async fn attack_21_a_password_counts_to_its_last_byte(api: &Api) {
    let path = "/v1/auth/passwords/session/update";
    for (number, length) in [72, 73, 200, 1_024].into_iter().enumerate() {
        let session = signed_in(api, &format!("long-{number}@example.com")).await;
        let (user, token) = (
            session.text_at("/user_id"),
            session.text_at("/session_token"),
        );
        let common = "kettle".repeat(171);
        let right = format!("{}!", &common[..length - 1]);
        let request = json!({"session_token": token, "password": right});
        api.test().post(path, request).await.ok();
        let other = format!("{}?", &common[..length - 1]);
        for wrong in [other.as_str(), &right[..length - 1]] {
            assert!(!fits(api, &user, wrong).await, "{length}");
        }
        assert!(fits(api, &user, &right).await, "{length}");
    }
    let session = signed_in(api, "longer@example.com").await;
    let request =
        json!({"session_token": session.text_at("/session_token"), "password": "x".repeat(1_025)});
    let refused = api.test().post(path, request).await;
    refused.refuses(400, "invalid_field", Some("password"));
}

/// bcrypt reads 72 bytes: a longer password with the right first 72 bytes is wrong.
async fn attack_21_an_imported_bcrypt_hash_accepts_no_longer_password(api: &Api) {
    // Of 72 times x.
    let hash = "$2b$04$abcdefghijklmnopqrstuubzadhGtS2zEF.gu0yd0opP6cVzb.e0i";
    let line: PortableUser = serde_json::from_value(json!({
        "emails": [{"email": "imported@example.com", "verified": true}], "password_hash": hash,
    }))
    .unwrap();
    let world = World::new(api.app.id, Environment::Test);
    let mut import = api
        .service
        .import_users(&operator(&api.service, world).await, false)
        .await
        .unwrap();
    import.take(&[line]).await.unwrap();
    let user = signed_in(api, "imported@example.com")
        .await
        .text_at("/user_id");
    for length in [71, 73, 80, 1_024] {
        assert!(!fits(api, &user, &"x".repeat(length)).await, "{length}");
    }
    assert!(fits(api, &user, &"x".repeat(72)).await);
    // From then on its hash is one of ours, and accepts no more.
    assert!(!fits(api, &user, &"x".repeat(73)).await);
    assert!(fits(api, &user, &"x".repeat(72)).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn attack_22_a_flood_is_refused_and_the_rest_goes_on_on_sqlite() {
    a_flood_is_refused_and_the_rest_goes_on(Lane::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn attack_22_a_flood_is_refused_and_the_rest_goes_on_on_postgres() {
    a_flood_is_refused_and_the_rest_goes_on(Lane::Postgres).await;
}

/// One thread hashes and two requests may wait. The others get a retry time, and sessions are verified in the meantime.
async fn a_flood_is_refused_and_the_rest_goes_on(lane: Lane) {
    const FLOOD: usize = 40;
    let options = Options {
        hashing: Hashing {
            threads: NonZeroUsize::MIN,
            waiting: 2,
            ..Hashing::default()
        },
        ..Options::default()
    };
    on_with(lane, options, async |api| {
        let person = people::with_password(api, "ada@example.com").await;
        let request = json!({"user_id": person.user, "password": PASSWORD});
        let flood = (0..FLOOD).map(|_| async {
            let response = api.test().post(PASSWORDS, request.clone()).await;
            if response.status == 503 {
                response.refuses(503, "unavailable", None);
                let wait: u32 = response.header("retry-after").unwrap().parse().unwrap();
                assert!(wait > 0);
            }
            response.status
        });
        let sessions = async {
            for _ in 0..10 {
                let request = json!({ "session_token": person.token });
                api.test().post(SESSION, request).await.ok();
            }
        };
        let (statuses, ()) = futures_util::future::join(join_all(flood), sessions).await;
        let count = |status| statuses.iter().filter(|one| **one == status).count();
        println!(
            "attack 22: of {FLOOD} at once {} right, {} refused",
            count(200),
            count(503)
        );
        assert!(count(200) > 0 && count(503) > 0, "{statuses:?}");
        assert_eq!(count(200) + count(503), FLOOD, "{statuses:?}");
        // The flood is over.
        api.test().post(PASSWORDS, request).await.ok();
    })
    .await;
}

/// Whichever method is locked out, the others still work: session, passkey, wallet, link, recovery code.
async fn attack_24_an_attack_leaves_the_victim_every_other_method(api: &Api) {
    let test = api.test();
    people::with_urls(api).await;
    let user = signed_in(api, "ada@example.com").await.text_at("/user_id");
    let mut browser = Browser::at(PAGE);
    people::passkey(api, &mut browser, &user).await;
    let totp = Authenticator::of(api, &user).await;
    let pocket = Pocket::new(api).await;
    let session = signed_in(api, "ada@example.com").await;
    let token = json!({"session_token": session.text_at("/session_token")});
    let request = with(json!({"user_id": user, "totp": totp.shows(api)}), token);
    let session = test.post(TOTP, request).await.ok();
    let token = json!({"session_token": session.text_at("/session_token")});
    let request = with(pocket.proof(api, Some(&user)).await, token);
    let session = test.post("/v1/auth/wallets/verify", request).await.ok();
    let token = session.text_at("/session_token");
    let request = json!({"session_token": token, "password": PASSWORD});
    let updated = test
        .post("/v1/auth/passwords/session/update", request)
        .await;
    updated.ok();
    api.pass(630);

    let code = sent(api, &test, "ada@example.com").await;
    let burn = async |path: &str, request: Value| {
        let mut last = 0;
        for _ in 0..25 {
            last = test.post(path, request.clone()).await.status;
        }
        last
    };
    for (path, request, right) in [
        (
            PASSWORDS,
            json!({"user_id": user, "password": "wrong"}),
            json!({"user_id": user, "password": PASSWORD}),
        ),
        (
            TOTP,
            json!({"user_id": user, "totp": "271828"}),
            json!({"user_id": user, "totp": totp.shows(api)}),
        ),
    ] {
        assert_eq!(burn(path, request).await, 429, "{path}");
        test.post(path, right)
            .await
            .refuses(429, "too_many_attempts", None);
    }
    // Five attempts void a code; its identifier is locked out after twenty.
    let wrong = |method: &str| json!({"method_id": method, "otp": "271828"});
    let mut burned = burn(CODES, wrong(&code.method_id)).await;
    for _ in 0..4 {
        let code = sent(api, &test, "ada@example.com").await;
        burned = burn(CODES, wrong(&code.method_id)).await;
    }
    assert_eq!(burned, 429);
    let refused = verified(&test, &code, json!({})).await;
    refused.refuses(429, "too_many_attempts", None);

    let request = json!({"session_token": token, "session_expires_in": 60});
    test.post(SESSION, request).await.ok();
    let credential = people::assertion(api, &mut browser).await;
    let request = json!({"public_key_credential": credential, "session_expires_in": 60});
    test.post(PASSKEYS, request).await.ok();
    let request = pocket.proof(api, None).await;
    test.post("/v1/auth/wallets/verify", request).await.ok();
    let request = json!({"user_id": user, "recovery_code": totp.recovery[0]});
    test.post("/v1/auth/totps/recovery", request).await.ok();
    // The attacker triggered codes too; a link created by the App is not one of them.
    let link = json!({ "user_id": user });
    let link = test.post("/v1/auth/magic_links/create", link).await.ok();
    let request = json!({"token": link.text_at("/token"), "session_expires_in": 60});
    test.post(LINKS, request).await.ok();
    // And a mailed one, once mails may be sent again; the lockout of the codes continues.
    api.pass(601);
    let path = "/v1/auth/magic_links/email/login_or_create";
    let token = link_to(api, path, "ada@example.com").await;
    test.post(LINKS, json!({ "token": token })).await.ok();
}
