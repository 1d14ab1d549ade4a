//! Changes and deletions of users: races, retries and settings. The HTTP tests cover the shapes.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use vestry_app::delivery::test_messages::FindMessages;
use vestry_app::identity::codes::VerifyCodeError;
use vestry_app::identity::users::{CreateUser, UpdateUser};
use vestry_app::{Caller, Refusal};
use vestry_contract::race::race;
use vestry_domain::ids::UserId;
use vestry_domain::user::UserProfile;
use vestry_domain::{link, password, totp};
use vestry_ports::store::Store;

use crate::harness::{Harness, START, claim};

fn object(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

fn merge(metadata: Value) -> UpdateUser {
    UpdateUser {
        metadata: Some(object(metadata)),
        ..UpdateUser::default()
    }
}

fn attach(email: &str) -> UpdateUser {
    UpdateUser {
        emails: vec![claim(email)],
        ..UpdateUser::default()
    }
}

async fn metadata(harness: &Harness, caller: &Caller, id: UserId) -> Value {
    let user = harness.service.get_user(caller, id).await.unwrap();
    Value::Object(user.profile.user.metadata.as_object().clone())
}

/// The number of notices for an address.
async fn notices(harness: &Harness, caller: &Caller, to: &str) -> usize {
    harness.deliver().await;
    let query = FindMessages {
        to: Some(to.to_owned()),
        kind: Some("security_notice".to_owned()),
        ..FindMessages::default()
    };
    let found = harness
        .service
        .captured_messages(caller, query)
        .await
        .unwrap();
    found.len()
}

/// R9: merges of different keys lose none; with `replace_metadata` among them the result is that of some order.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r9_parallel_merges_lose_no_key() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let id = harness.user(&test, "ada@example.com").await.profile.user.id;
    let update = |command: UpdateUser| {
        let (service, test) = (Arc::clone(&harness.service), Arc::clone(&test));
        async move { service.update_user(&test, id, command).await.unwrap() }
    };
    race((0..40).map(|key| update(merge(json!({ key.to_string(): key }))))).await;
    let all: Value = (0..40).map(|key| (key.to_string(), json!(key))).collect();
    assert_eq!(metadata(&harness, &test, id).await, all);
    let replacing = |metadata: Value| UpdateUser {
        replace_metadata: true,
        ..merge(metadata)
    };
    race((0..20).map(|round| update(replacing(json!({ "a": round, "b": round }))))).await;
    let found = metadata(&harness, &test, id).await;
    assert_eq!(found["a"], found["b"]);
    race((0..20).map(|round| update(merge(json!({ "a": round, "b": round }))))).await;
    let found = metadata(&harness, &test, id).await;
    assert_eq!(found["a"], found["b"]);
}

/// R11: one address, requested for many users.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r11_one_of_many_gets_the_address() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let mut users = Vec::new();
    for number in 0..20 {
        let user = harness.user(&test, &format!("u{number}@example.com")).await;
        users.push(user.profile.user.id);
    }
    let outcomes = race(users.into_iter().map(|id| {
        let (service, test) = (Arc::clone(&harness.service), Arc::clone(&test));
        async move {
            service
                .update_user(&test, id, attach("Wanted@example.com"))
                .await
        }
    }))
    .await;
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1);
    let refused = outcomes.iter().filter(
        |outcome| matches!(outcome, Err(Refusal::Taken(field)) if field == "emails[0].email"),
    );
    assert_eq!(refused.count(), 19);
}

/// A user's identifiers are listed in the order they were added, within one call and across calls, all in one second. The first one is the
/// primary one.
#[tokio::test]
async fn identifiers_are_listed_in_the_order_added() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let id = harness.user(&test, "m@example.com").await.profile.user.id;
    let mut expected = vec!["m@example.com".to_owned()];
    let mut numbers = Vec::new();
    for round in 0..8 {
        let emails: Vec<String> = ["z", "a", "q", "b"]
            .iter()
            .map(|name| format!("{name}{round}@example.com"))
            .collect();
        let phones = [
            format!("+49151123456{}", 90 - round),
            format!("+49151123456{}", 10 + round),
        ];
        let command = UpdateUser {
            emails: emails.iter().map(|text| claim(text)).collect(),
            phone_numbers: phones.iter().map(|text| claim(text)).collect(),
            ..UpdateUser::default()
        };
        let updated = harness
            .service
            .update_user(&test, id, command)
            .await
            .unwrap();
        expected.extend(emails);
        numbers.extend(phones);
        let listed = updated.profile.emails.iter();
        let listed: Vec<_> = listed.map(|email| email.email.address()).collect();
        assert_eq!(listed, expected);
        let listed = updated.profile.phones.iter();
        let listed: Vec<_> = listed.map(|phone| phone.number.as_str()).collect();
        assert_eq!(listed, numbers);
    }
}

/// R14: a retried transaction attaches once and notifies once.
#[tokio::test]
async fn a_lost_transaction_is_retried() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let issued = harness.sign_in(&test, "ada@example.com", 60).await;
    let id = issued.session.user_id;
    harness.fake.lose_commits(3);
    let updated = harness
        .service
        .update_user(&test, id, attach("two@example.com"))
        .await
        .unwrap();
    assert_eq!(updated.profile.emails.len(), 2);
    assert_eq!(notices(&harness, &test, "ada@example.com").await, 1);
    assert_eq!(
        notices(&harness, &test, "two@example.com").await,
        0,
        "it was never proved"
    );
    let second = updated
        .profile
        .emails
        .iter()
        .find(|email| !email.verified)
        .unwrap()
        .id;
    harness.fake.lose_commits(3);
    harness.service.delete_email(&test, second).await.unwrap();
    assert_eq!(notices(&harness, &test, "ada@example.com").await, 2);
    harness.fake.lose_commits(3);
    harness.service.delete_user(&test, id).await.unwrap();
    let gone = harness.service.get_user(&test, id).await;
    assert!(matches!(gone, Err(Refusal::NotFound("user"))));
}

/// Of two concurrent removals of the last two sign-in methods, one is refused.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_last_methods_one_stays() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    for round in 0..20 {
        let command = CreateUser {
            email: Some(format!("u{round}@example.com")),
            phone_number: Some("+14155552671".to_owned()),
            ..CreateUser::default()
        };
        let created = harness.service.create_user(&test, command).await.unwrap();
        let profile = created.user.profile;
        let (email, phone) = (profile.emails[0].id, profile.phones[0].id);
        let outcomes = race((0..2).map(|which| {
            let (service, test) = (Arc::clone(&harness.service), Arc::clone(&test));
            async move {
                if which == 0 {
                    service.delete_email(&test, email).await
                } else {
                    service.delete_phone_number(&test, phone).await
                }
            }
        }))
        .await;
        let refused = outcomes
            .iter()
            .filter(|outcome| matches!(outcome, Err(Refusal::LastSignInMethod)));
        assert_eq!(refused.count(), 1, "round {round}: {outcomes:?}");
        harness
            .service
            .delete_user(&test, profile.user.id)
            .await
            .unwrap();
    }
}

/// S-6: the App's settings decide what a removal causes.
#[tokio::test]
async fn settings_decide_what_a_removal_causes() {
    let harness = Harness::new().await;
    for (number, follows) in [true, false].into_iter().enumerate() {
        let setting = follows.to_string();
        harness
            .set(&[
                ("end_sessions_on_change", &setting),
                ("notify_on_change", &setting),
            ])
            .await;
        let test = harness.test().await;
        let address = format!("u{number}@example.com");
        let issued = harness.sign_in(&test, &address, 60).await;
        let id = issued.session.user_id;
        let second = format!("second{number}@example.com");
        let updated = harness
            .service
            .update_user(&test, id, attach(&second))
            .await
            .unwrap();
        let added = notices(&harness, &test, &address).await;
        assert_eq!(added, usize::from(follows));
        assert!(
            harness.by_token(&test, &issued.token).await.is_ok(),
            "attaching ends nothing"
        );
        let unverified = updated
            .profile
            .emails
            .iter()
            .find(|email| !email.verified)
            .unwrap();
        harness
            .service
            .delete_email(&test, unverified.id)
            .await
            .unwrap();
        assert_eq!(
            notices(&harness, &test, &address).await,
            2 * usize::from(follows)
        );
        assert_eq!(
            harness.by_token(&test, &issued.token).await.is_err(),
            follows
        );
    }
}

/// An identifier removed between the lookup and the lock is no longer there.
#[tokio::test]
async fn an_identifier_removed_in_between_is_not_found() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let user = harness.user(&test, "ada@example.com").await.profile;
    let id = user.user.id;
    for round in 0..2 {
        harness.pass(1);
        let updated = harness
            .service
            .update_user(&test, id, attach("two@example.com"))
            .await;
        let email = updated.unwrap().profile.emails[1].id;
        let (service, caller) = (Arc::clone(&harness.service), Arc::clone(&test));
        harness.store.before_next_begin(async move {
            if round == 0 {
                service.delete_email(&caller, email).await.unwrap();
            } else {
                service.delete_user(&caller, id).await.unwrap();
            }
        });
        let outcome = harness.service.delete_email(&test, email).await;
        assert!(
            matches!(outcome, Err(Refusal::NotFound("email"))),
            "{outcome:?}"
        );
    }
    let again = harness.service.delete_user(&test, id).await;
    assert!(matches!(again, Err(Refusal::NotFound("user"))));
    let update = harness
        .service
        .update_user(&test, id, UpdateUser::default())
        .await;
    assert!(matches!(update, Err(Refusal::NotFound("user"))));
}

/// R7: a user deleted while a code is being verified is not signed in.
#[tokio::test]
async fn r7_a_user_deleted_in_between_is_not_signed_in() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let (sent, code) = harness.fresh_code(&test, "ada@example.com").await;
    let (service, caller, id) = (
        Arc::clone(&harness.service),
        Arc::clone(&test),
        sent.email.user_id,
    );
    harness.store.before_next_begin(async move {
        service.delete_user(&caller, id).await.unwrap();
    });
    let outcome = harness.verify(&test, sent.email.id, &code).await;
    assert!(
        matches!(outcome, Err(VerifyCodeError::InvalidCode)),
        "{outcome:?}"
    );
    assert!(!harness.is_known(&test, "ada@example.com").await);
}

/// `updated_at` moves with a change, and with nothing else.
#[tokio::test]
async fn updated_at_moves_with_a_change() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let id = harness.user(&test, "ada@example.com").await.profile.user.id;
    let change = |first_name: &str| UpdateUser {
        first_name: Some(first_name.to_owned()),
        ..UpdateUser::default()
    };
    harness.pass(7);
    for (command, expected) in [
        (UpdateUser::default(), START),
        (attach("ada@example.com"), START),
        (merge(json!({ "absent": null })), START),
        (change("Ada"), harness.now()),
    ] {
        let updated = harness
            .service
            .update_user(&test, id, command)
            .await
            .unwrap();
        assert_eq!(updated.profile.user.updated_at, expected);
    }
}

/// All counters of a deleted user are deleted: a late failure is the first one.
#[tokio::test]
async fn failures_of_a_deleted_user_are_forgotten() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let profile = harness.user(&test, "ada@example.com").await.profile;
    let other = harness.user(&test, "eve@example.com").await.profile;
    let subjects = |profile: &UserProfile| {
        let (user, email) = (profile.user.id, profile.emails[0].id);
        [
            email.to_string(),
            link::guard_subject(email),
            password::guarded_user(user),
            totp::guarded_codes(user),
            totp::guarded_recovery(user),
        ]
    };
    let fail_each = async |profile: &UserProfile| {
        let mut tx = harness.fake.begin().await.unwrap();
        let mut counts = Vec::new();
        for subject in subjects(profile) {
            let counted = tx
                .lockouts()
                .fail(&test.world, &subject, harness.now())
                .await;
            counts.push(counted.unwrap());
        }
        tx.commit().await.unwrap();
        counts
    };
    assert_eq!(fail_each(&profile).await, [1; 5]);
    assert_eq!(fail_each(&other).await, [1; 5]);
    let id = profile.user.id;
    harness.service.delete_user(&test, id).await.unwrap();
    assert_eq!(fail_each(&profile).await, [1; 5]);
    assert_eq!(fail_each(&other).await, [2; 5]);
}
