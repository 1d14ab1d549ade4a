//! Failing dependencies: what is retried, what is reported, and that nothing is left half done.

use std::sync::Arc;

use vestry_app::delivery::test_messages::FindMessages;
use vestry_app::identity::codes::{VerifyCode, VerifyCodeError};
use vestry_app::identity::sessions::VerifySession;
use vestry_app::identity::users::CreateUser;
use vestry_app::wallets::SignError;
use vestry_app::{AuthenticateError, Fault, Principal, Refusal};
use vestry_domain::Environment;
use vestry_domain::api_key::{ApiKeyKind, KeyFields};
use vestry_domain::envelope::KeyPurpose;
use vestry_domain::redirect::RedirectKind;
use vestry_domain::session::SessionSelector;
use vestry_domain::wallet::{AddressForm, WalletType};
use vestry_ports::store::StoreError;
use vestry_ports::vault::Vaults;

use crate::harness::{Harness, lasting, login, proof};
use crate::send::send;
use crate::wallets::text;

const ADA: &str = "ada@example.com";

fn create(email: &str) -> CreateUser {
    CreateUser {
        email: Some(email.to_owned()),
        ..CreateUser::default()
    }
}

/// R14: each writing call loses its race three times and then does its work once.
#[tokio::test]
async fn r14_lost_races_are_retried() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let lose = || harness.fake.lose_commits(3);

    lose();
    harness
        .service
        .create_user(&test, create("user@example.com"))
        .await
        .unwrap();
    lose();
    let sent = harness.login(&test, ADA).await;
    assert!(sent.user_created);
    assert_eq!(harness.waiting().await, 1);
    lose();
    assert!(matches!(
        harness
            .service
            .send_code_by_email(&test, send("nobody@example.com"))
            .await,
        Err(Refusal::NotFound(_))
    ));
    lose();
    let wallet = harness
        .service
        .create_wallet(
            &test,
            sent.email.user_id,
            WalletType::Ethereum,
            AddressForm::Usual,
        )
        .await
        .unwrap();
    assert!(harness.service.get_wallet(&test, wallet.id).await.unwrap() == wallet);
    lose();
    let digits = harness.newest_to(&test, ADA).await.message.code;
    lose();
    let command = VerifyCode {
        session_fields: lasting(60),
        ..proof(sent.email.id, &digits)
    };
    let issued = harness
        .service
        .verify_code(&test, command)
        .await
        .unwrap()
        .issued
        .unwrap();
    harness.pass(60);
    lose();
    harness.by_token(&test, &issued.token).await.unwrap();
    lose();
    let extend = VerifySession {
        session_token: Some(issued.token.clone()),
        session_expires_in: Some(60),
        ..VerifySession::default()
    };
    harness.service.verify_session(&test, extend).await.unwrap();
    lose();
    harness
        .service
        .delete_session(&test, SessionSelector::Token(issued.token.clone()))
        .await
        .unwrap();
    let again = harness.sign_in(&test, ADA, 60).await;
    lose();
    assert_eq!(
        harness
            .service
            .delete_all_sessions(&test, again.session.user_id)
            .await
            .unwrap(),
        1
    );
    lose();
    assert_eq!(harness.service.clear_captured(&test).await.unwrap(), 2);
}

/// R14: the same for operator commands.
#[tokio::test]
async fn r14_admin_commands_are_retried() {
    let harness = Harness::new().await;
    let lose = || harness.fake.lose_commits(3);
    lose();
    let app = harness
        .service
        .create_app(Principal::cli(), "Other")
        .await
        .unwrap();
    lose();
    harness
        .service
        .set_app(Principal::cli(), app.id, &[("name".into(), "New".into())])
        .await
        .unwrap();
    let world = vestry_domain::World::new(app.id, Environment::Test);
    lose();
    let key = harness
        .service
        .create_api_key(
            Principal::cli(),
            world,
            ApiKeyKind::Secret,
            KeyFields::default(),
        )
        .await
        .unwrap();
    lose();
    harness
        .service
        .revoke_api_key(Principal::cli(), app.id.into(), key.record.id)
        .await
        .unwrap();
    lose();
    let url = harness
        .service
        .add_redirect_url(
            Principal::cli(),
            world,
            RedirectKind::Login,
            "https://a.example.com/",
            true,
        )
        .await
        .unwrap();
    lose();
    harness
        .service
        .remove_redirect_url(Principal::cli(), app.id.into(), url.id)
        .await
        .unwrap();
    lose();
    harness
        .service
        .rotate_signing_key(Principal::cli(), world)
        .await
        .unwrap();
    lose();
    assert_eq!(
        harness
            .service
            .vault_rotate_root(Principal::cli(), &|_, _| {})
            .await
            .unwrap()
            .rewrapped,
        8
    );
    assert_eq!(
        harness
            .service
            .list_apps(Principal::cli())
            .await
            .unwrap()
            .len(),
        2
    );
    assert_eq!(
        harness
            .service
            .list_api_keys(Principal::cli(), app.id.into())
            .await
            .unwrap()
            .len(),
        1
    );
    assert_eq!(
        harness
            .service
            .list_signing_keys(Principal::cli(), world)
            .await
            .unwrap()
            .len(),
        2
    );
}

/// A wrong attempt that loses its race is still counted once.
#[tokio::test]
async fn r14_a_wrong_attempt_is_counted_once() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let (sent, digits) = harness.fresh_code(&test, ADA).await;
    for _ in 0..4 {
        harness.fake.lose_commits(2);
        let outcome = harness
            .verify(&test, sent.email.id, crate::harness::wrong(&digits))
            .await;
        assert!(
            matches!(outcome, Err(VerifyCodeError::InvalidCode)),
            "{outcome:?}"
        );
    }
    harness.verify(&test, sent.email.id, &digits).await.unwrap();
}

/// Retries are limited.
#[tokio::test]
async fn r14_a_race_lost_too_often_is_a_fault() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    harness.fake.lose_commits(10);
    let outcome = harness
        .service
        .login_or_create_by_email(&test, login(ADA))
        .await;
    assert!(
        matches!(outcome, Err(Refusal::Fault(Fault::LostRace))),
        "{outcome:?}"
    );
    assert!(!harness.is_known(&test, ADA).await);
    harness.fake.lose_commits(9);
    let sent = harness
        .service
        .login_or_create_by_email(&test, login(ADA))
        .await;
    sent.unwrap();
}

/// Only lost races are retried: a commit whose outcome is unknown may have happened.
#[tokio::test]
async fn busy_and_unavailable_are_returned_at_once() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let (sent, digits) = harness.fresh_code(&test, ADA).await;
    let is_unavailable = |fault: &Fault| matches!(fault, Fault::Unavailable(_));
    let reasons: [fn() -> StoreError; 2] = [
        || StoreError::Busy,
        || StoreError::Unavailable("gone".into()),
    ];
    for reason in reasons {
        harness.store.count();
        harness.store.refuse([reason()]);
        let outcome = harness
            .service
            .create_user(&test, create("bob@example.com"))
            .await;
        assert!(
            matches!(&outcome, Err(Refusal::Fault(fault)) if is_unavailable(fault)),
            "{outcome:?}"
        );
        harness.store.refuse([reason()]);
        let outcome = harness
            .service
            .login_or_create_by_email(&test, login("bob@example.com"))
            .await;
        assert!(
            matches!(&outcome, Err(Refusal::Fault(fault)) if is_unavailable(fault)),
            "{outcome:?}"
        );
        harness.store.refuse([reason()]);
        let outcome = harness
            .service
            .create_wallet(
                &test,
                sent.email.user_id,
                WalletType::Ethereum,
                AddressForm::Usual,
            )
            .await;
        assert!(
            matches!(&outcome, Err(Refusal::Fault(fault)) if is_unavailable(fault)),
            "{outcome:?}"
        );
        harness.store.refuse([reason()]);
        let outcome = harness.verify(&test, sent.email.id, &digits).await;
        assert!(
            matches!(&outcome, Err(VerifyCodeError::Common(Refusal::Fault(fault))) if is_unavailable(fault)),
            "{outcome:?}"
        );
        assert_eq!(
            harness.store.count().1,
            0,
            "no second transaction was begun"
        );
        assert!(!harness.is_known(&test, "bob@example.com").await);
    }
    for corrupt in [
        StoreError::Corrupt {
            table: "users",
            column: "status",
        },
        StoreError::Other("a bug".into()),
    ] {
        harness.store.refuse([corrupt]);
        let outcome = harness
            .service
            .create_user(&test, create("bob@example.com"))
            .await;
        assert!(
            matches!(&outcome, Err(Refusal::Fault(Fault::Internal(_)))),
            "{outcome:?}"
        );
    }
    harness.verify(&test, sent.email.id, &digits).await.unwrap();
}

/// Attack 19: with the database unreachable no sign-in succeeds; when it is back everything works.
#[tokio::test]
async fn attack_19_an_unreachable_database_lets_no_one_in() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let session = harness.sign_in(&test, ADA, 60).await;
    harness.service.ready().await.unwrap();
    harness.fake.set_unavailable(true);
    assert!(matches!(
        harness.service.ready().await,
        Err(Fault::Unavailable(_))
    ));
    let verified = harness.by_token(&test, &session.token).await;
    assert!(
        matches!(verified, Err(Refusal::Fault(Fault::Unavailable(_)))),
        "{verified:?}"
    );
    let verified = harness.by_jwt(&test, &session.jwt).await;
    assert!(
        matches!(verified, Err(Refusal::Fault(Fault::Unavailable(_)))),
        "{verified:?}"
    );
    harness.pass(1);
    let key = format!("sk_test_{}", "x".repeat(48));
    let opened = harness.service.authenticate(&key).await;
    assert!(
        matches!(opened, Err(AuthenticateError::Fault(Fault::Unavailable(_)))),
        "{opened:?}"
    );
    assert!(
        harness
            .service
            .captured_messages(&test, FindMessages::default())
            .await
            .is_err()
    );
    harness.fake.set_unavailable(false);
    harness.by_token(&test, &session.token).await.unwrap();
}

/// A process that read its root keys when it started no longer needs the files, and existing sessions continue. Calls that would create App
/// keys fail as sealed and store nothing.
#[tokio::test]
async fn f5_a_lost_root_key_seals_wallets_and_stores_nothing() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let wallet = harness.user(&test, ADA).await.wallets[0].id;
    let session = harness.sign_in(&test, ADA, 60).await;
    let cold = harness.other_process();
    std::fs::remove_file(harness.root_key(KeyPurpose::Wallets)).unwrap();
    let root_key = async |purpose| harness.service.has_root_key(purpose).await;
    assert!(root_key(KeyPurpose::Wallets).await.is_err());
    assert!(root_key(KeyPurpose::Secrets).await.is_ok());
    harness.service.ready().await.unwrap();
    // A process that has opened its keys continues with them.
    harness
        .service
        .sign(&test, text(wallet, "hi"))
        .await
        .unwrap();
    harness.by_token(&test, &session.token).await.unwrap();
    // A process that read the root key when it started no longer needs the file; a fresh App does.
    cold.sign(&test, text(wallet, "hi")).await.unwrap();
    let made = harness.service.create_app(Principal::cli(), "New").await;
    assert!(
        matches!(&made, Err(vestry_app::Refusal::Fault(Fault::Sealed(_)))),
        "{made:?}"
    );
    assert_eq!(
        harness
            .service
            .list_apps(Principal::cli())
            .await
            .unwrap()
            .len(),
        1
    );
}

/// F5: wallets are sealed without their root key, here one whose version this machine lacks. That is not reported as tampering. Sign-in
/// works in a process that has opened no key before (KEY-6).
#[tokio::test]
async fn f5_without_the_root_key_wallets_are_sealed_and_sign_in_works() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let wallet = harness.user(&test, ADA).await.wallets[0].id;
    let cold = harness.process_with_vaults(&Vaults {
        wallets: harness.foreign_root_key().await,
        ..harness.vaults.clone()
    });
    let signed = cold.sign(&test, text(wallet, "hi")).await;
    assert!(
        matches!(
            &signed,
            Err(SignError::Common(Refusal::Fault(Fault::Sealed(_))))
        ),
        "{signed:?}"
    );
    let created = cold.create_user(&test, create("bob@example.com")).await;
    assert!(
        matches!(&created, Err(Refusal::Fault(Fault::Sealed(_)))),
        "{created:?}"
    );
    assert!(!harness.is_known(&test, "bob@example.com").await);
    let sent = cold.login_or_create_by_email(&test, login("bob@example.com"));
    sent.await.unwrap();
    assert!(harness.is_known(&test, "bob@example.com").await);
}

/// F5: without the sign-in key it is the other way round.
#[tokio::test]
async fn f5_without_the_sign_in_key_sign_in_fails_and_nothing_is_stored() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let wallet = harness.user(&test, ADA).await.wallets[0].id;
    let cold = harness.process_with_vaults(&Vaults {
        secrets: harness.foreign_root_key().await,
        ..harness.vaults.clone()
    });
    cold.get_wallet(&test, wallet).await.unwrap();
    // The log of key uses is under it too, and nothing is signed that cannot be recorded.
    let signed = cold.sign(&test, text(wallet, "hi")).await;
    assert!(
        matches!(
            &signed,
            Err(SignError::Common(Refusal::Fault(Fault::Sealed(_))))
        ),
        "{signed:?}"
    );
    let sent = cold.login_or_create_by_email(&test, login("bob@example.com"));
    let sent = sent.await;
    assert!(
        matches!(&sent, Err(Refusal::Fault(Fault::Sealed(_)))),
        "{sent:?}"
    );
    assert!(!harness.is_known(&test, "bob@example.com").await);
    assert_eq!(harness.waiting().await, 0);
    assert_eq!(harness.wallets().await, 1);
}

/// A command runs to completion if its client disconnects, and a panic is contained.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_accepted_command_runs_to_completion() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let (begun, has_begun) = tokio::sync::oneshot::channel();
    let (go_on, gone_on) = tokio::sync::oneshot::channel::<()>();
    let (finish, finished) = tokio::sync::oneshot::channel();
    let client = tokio::spawn({
        let (service, test) = (Arc::clone(&harness.service), Arc::clone(&test));
        async move {
            let command = move |service: Arc<vestry_app::Service>| async move {
                begun.send(()).unwrap();
                gone_on.await.unwrap();
                finish
                    .send(service.create_user(&test, create(ADA)).await.is_ok())
                    .unwrap();
            };
            service.run(command).await
        }
    });
    has_begun.await.unwrap();
    client.abort();
    assert!(client.await.unwrap_err().is_cancelled());
    go_on.send(()).unwrap();
    assert!(finished.await.unwrap());
    assert!(harness.is_known(&test, ADA).await);

    let panicked = harness
        .service
        .run(|_| async { assert!(std::hint::black_box(false), "on purpose") })
        .await;
    assert!(matches!(panicked, Err(Fault::Internal(_))));
    harness
        .service
        .run(|service| async move { service.ready().await })
        .await
        .unwrap()
        .unwrap();
}
