//! Attack 19: a dependency that fails at the right moment does not let an attacker in.

use vestry_app::Principal;
use vestry_domain::Environment;
use vestry_domain::api_key::{ApiKeyKind, KeyFields};
use vestry_domain::session::SessionSelector;

use crate::harness::{Harness, wrong};
use crate::links::opened;
use crate::passwords::{self, with_password};
use crate::totps;

const ADA: &str = "ada@example.com";
const PASSWORD: &str = "correct horse battery";

/// Attempts that must fail, whatever fails in the meantime.
const TRIES: [&str; 9] = [
    "a wrong code",
    "a used code",
    "a right code of a disabled user",
    "a wrong password",
    "a wrong authenticator app code",
    "a wrong recovery code",
    "a used link",
    "an ended session",
    "a revoked key",
];

/// Makes an attempt during which the database fails once, after `operations` operations. Returns whether it succeeded, and whether it
/// ended before the failure.
async fn gets_in(what: &str, operations: usize) -> (bool, bool) {
    let harness = Harness::with_urls().await;
    let test = harness.test().await;
    let fail = || harness.fake.fail_after(operations);
    let got_in = match what {
        "a wrong code" => {
            let (sent, code) = harness.fresh_code(&test, ADA).await;
            fail();
            let tried = harness.verify(&test, sent.email.id, wrong(&code)).await;
            tried.is_ok()
        }
        "a used code" => {
            let (sent, code) = harness.fresh_code(&test, ADA).await;
            harness.verify(&test, sent.email.id, &code).await.unwrap();
            fail();
            harness.verify(&test, sent.email.id, &code).await.is_ok()
        }
        "a right code of a disabled user" => {
            let (sent, code) = harness.fresh_code(&test, ADA).await;
            let user = sent.email.user_id;
            harness
                .service
                .disable_user(&test, user, "left")
                .await
                .unwrap();
            fail();
            harness.verify(&test, sent.email.id, &code).await.is_ok()
        }
        "a wrong password" => {
            let user = with_password(&harness, &test, ADA, PASSWORD)
                .await
                .session
                .user_id;
            fail();
            let tried = passwords::verify(&harness, &test, user, "another horse entirely").await;
            tried.is_ok()
        }
        "a wrong authenticator app code" | "a wrong recovery code" => {
            let user = harness.user(&test, ADA).await.profile.user.id;
            let created = harness.verified_totp(&test, user).await;
            let shown = totps::shown_at(&created, harness.now());
            let command = match what {
                "a wrong recovery code" => totps::recovery(user, "aaaaa-aaaaa"),
                _ => totps::code(user, wrong(&shown)),
            };
            fail();
            harness.try_totp(&test, command).await.is_ok()
        }
        "a used link" => {
            harness.user(&test, ADA).await;
            let link = harness.created_link(&test, ADA).await;
            let token = link.token.expose();
            harness.open(&test, token).await.unwrap();
            fail();
            harness
                .service
                .verify_link(&test, opened(token))
                .await
                .is_ok()
        }
        "an ended session" => {
            let session = harness.sign_in(&test, ADA, 60).await;
            let selector = SessionSelector::Id(session.session.id);
            harness
                .service
                .delete_session(&test, selector)
                .await
                .unwrap();
            fail();
            let by_token = harness.by_token(&test, &session.token).await.is_ok();
            by_token || harness.by_jwt(&test, &session.jwt).await.is_ok()
        }
        "a revoked key" => {
            let live = harness.world(Environment::Live);
            let made = harness.service.create_api_key(
                Principal::cli(),
                live,
                ApiKeyKind::Secret,
                KeyFields::default(),
            );
            let made = made.await.unwrap();
            let key = made.key.expose();
            harness.service.authenticate(key).await.unwrap();
            let revoked = harness.service.revoke_api_key(
                Principal::cli(),
                harness.app.id.into(),
                made.record.id,
            );
            revoked.await.unwrap();
            harness.pass(2);
            fail();
            harness.service.authenticate(key).await.is_ok()
        }
        other => panic!("unknown attempt {other}"),
    };
    (got_in, harness.fake.has_yet_to_fail())
}

/// Each operation of each attempt fails once.
#[tokio::test]
async fn attack_19_no_failing_operation_lets_an_attacker_in() {
    for what in TRIES {
        let mut operations = 0;
        loop {
            let (got_in, ended_before) = gets_in(what, operations).await;
            assert!(
                !got_in,
                "attack 19: {what} got in when operation {operations} failed"
            );
            if ended_before {
                break;
            }
            operations += 1;
        }
        println!("attack 19: {what}, {operations} operations");
        assert!(operations > 1, "{what}");
    }
}
