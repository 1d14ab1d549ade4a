//! `users/create` and `GET users/{user_id}`.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use tokio::sync::oneshot;
use vestry_app::identity::users::{CreateUser, FullUser, SearchUsers, SearchUsersError};
use vestry_app::{Fault, Refusal};
use vestry_contract::race::race;
use vestry_domain::ids::{Id, UserId};
use vestry_domain::invalid::Reason;
use vestry_domain::operator::{Grants, Role};
use vestry_domain::search::{Combined, Condition, UserFilter};
use vestry_domain::user::UserStatus;
use vestry_domain::wallet::WalletType;
use vestry_domain::{Environment, Invalid};

use crate::harness::{Harness, START};
use crate::operators::{joined, principal};

fn with_email(email: &str) -> CreateUser {
    CreateUser {
        email: Some(email.to_owned()),
        ..CreateUser::default()
    }
}

fn object(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

/// The response of `users/create` when only an address was sent (API-8).
#[tokio::test]
async fn a_user_starts_active_with_an_ethereum_wallet() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let FullUser {
        profile,
        wallets,
        totps,
        passkeys,
        provider_links,
        external_key,
    } = harness.user(&test, " Ada@Example.com ").await;
    assert_eq!(provider_links, []);
    assert_eq!(external_key, None);
    assert_eq!(profile.user.last_sign_in_at, None);
    assert_eq!(totps, []);
    assert!(passkeys.is_empty());
    let user = &profile.user;
    assert_eq!(user.world, harness.world(Environment::Test));
    assert_eq!(user.status, UserStatus::Active);
    assert_eq!((user.created_at, user.updated_at), (START, START));
    assert_eq!(
        user.id.timestamp(),
        START,
        "the time inside an id is created_at"
    );
    assert_eq!(
        (&*user.first_name, &*user.middle_name, &*user.last_name),
        ("", "", "")
    );
    assert!(user.metadata.as_object().is_empty());
    assert!(profile.phones.is_empty());
    let [email] = &*profile.emails else {
        panic!("one address was sent");
    };
    assert_eq!(
        email.email.address(),
        "Ada@Example.com",
        "as sent, without the spaces"
    );
    assert_eq!((email.user_id, email.verified), (user.id, false));
    let [wallet] = &*wallets else {
        panic!("one wallet comes with a user");
    };
    assert_eq!(wallet.wallet_type, WalletType::Ethereum);
    assert_eq!((wallet.world, wallet.user_id), (user.world, user.id));
    assert!(wallet.verified && wallet.is_default);
    assert!(!wallet.is_read_only && !wallet.is_imported);
    assert_eq!(wallet.account_index, None);
    assert_eq!(wallet.created_at, START);

    let read = harness.service.get_user(&test, user.id).await.unwrap();
    assert!(
        read.profile == profile && read.wallets == wallets,
        "the response matches the stored user"
    );
    let wallet_alone = harness.service.get_wallet(&test, wallet.id).await.unwrap();
    assert!(wallet_alone == *wallet);
}

#[tokio::test]
async fn an_address_a_number_or_both() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    for (email, phone) in [
        (Some("ada@example.com"), None),
        (None, Some("+14155552671")),
        (Some("bob@example.com"), Some("+447400123456")),
    ] {
        let command = CreateUser {
            email: email.map(str::to_owned),
            phone_number: phone.map(str::to_owned),
            first_name: Some("Ada".to_owned()),
            last_name: Some("King".to_owned()),
            ..CreateUser::default()
        };
        let profile = harness
            .service
            .create_user(&test, command)
            .await
            .unwrap()
            .user
            .profile;
        let emails: Vec<_> = profile
            .emails
            .iter()
            .map(|row| row.email.address())
            .collect();
        let phones: Vec<_> = profile
            .phones
            .iter()
            .map(|row| row.number.as_str())
            .collect();
        assert_eq!(emails, Vec::from_iter(email));
        assert_eq!(phones, Vec::from_iter(phone));
        assert!(
            profile
                .phones
                .iter()
                .all(|row| !row.verified && row.user_id == profile.user.id)
        );
        assert_eq!(
            (&*profile.user.first_name, &*profile.user.last_name),
            ("Ada", "King")
        );
    }
}

/// `status` is set by the call, or by the App's setting if the call does not say (API-9).
#[tokio::test]
async fn pending_when_verification_is_required() {
    let harness = Harness::new().await;
    for setting in [false, true] {
        harness
            .set(&[("create_requires_verification", &setting.to_string())])
            .await;
        let test = harness.test().await;
        for said in [None, Some(false), Some(true)] {
            let command = CreateUser {
                requires_verification: said,
                ..with_email(&format!("{setting}.{said:?}@example.com").replace(['(', ')'], "-"))
            };
            let status = harness
                .service
                .create_user(&test, command)
                .await
                .unwrap()
                .user
                .profile
                .user
                .status;
            let expected = UserStatus::initial(said.unwrap_or(setting));
            assert_eq!(status, expected, "setting {setting}, call {said:?}");
        }
    }
}

#[tokio::test]
async fn wallet_types_by_name_and_alias() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let cases = [
        (None, WalletType::Ethereum),
        (Some(""), WalletType::Ethereum),
        (Some("ethereum"), WalletType::Ethereum),
        (Some("ETH"), WalletType::Ethereum),
        (Some("solana"), WalletType::Solana),
        (Some("SOL"), WalletType::Solana),
        (Some("bitcoin"), WalletType::Bitcoin),
        (Some("BTC"), WalletType::Bitcoin),
        (Some("DOT"), WalletType::Polkadot),
        (Some("polkadot"), WalletType::Polkadot),
        (Some("XLM"), WalletType::Stellar),
        (Some("stellar"), WalletType::Stellar),
    ];
    for (number, (name, expected)) in cases.into_iter().enumerate() {
        let command = CreateUser {
            wallet_type: name.map(str::to_owned),
            ..with_email(&format!("u{number}@example.com"))
        };
        let user = harness
            .service
            .create_user(&test, command)
            .await
            .unwrap()
            .user;
        assert_eq!(user.wallets.len(), 1);
        assert_eq!(user.wallets[0].wallet_type, expected, "{name:?}");
    }
    for name in ["Ethereum", "doge", "dot"] {
        let command = CreateUser {
            wallet_type: Some(name.to_owned()),
            ..with_email("none@example.com")
        };
        let refused = invalid(&harness, command).await;
        assert_eq!(refused.param, "wallet_type", "{name}");
        assert!(
            !harness.is_known(&test, "none@example.com").await,
            "{name}: nothing may be stored"
        );
    }
}

async fn invalid(harness: &Harness, command: CreateUser) -> Invalid {
    match harness
        .service
        .create_user(&*harness.test().await, command)
        .await
    {
        Err(Refusal::Invalid(invalid)) => invalid,
        other => panic!("expected a refusal that names a field, got {other:?}"),
    }
}

/// Every refusal names its field and stores nothing ("Bad input" of the issue, B6).
#[tokio::test]
async fn bad_input_names_the_field_and_stores_nothing() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let good = || with_email("good@example.com");
    let long = format!("{}@example.com", "a".repeat(300));
    let nested = (0..9).fold(json!(1), |inner, _| json!({ "deeper": inner }));
    let cases = [
        ("email", CreateUser::default()),
        ("email", with_email("")),
        ("email", with_email("ada")),
        ("email", with_email(&long)),
        ("email", with_email("a\0b@example.com")),
        (
            "phone_number",
            CreateUser {
                phone_number: Some("4155552671".into()),
                ..good()
            },
        ),
        (
            "phone_number",
            CreateUser {
                phone_number: Some("+1".into()),
                ..good()
            },
        ),
        (
            "first_name",
            CreateUser {
                first_name: Some("A\0".into()),
                ..good()
            },
        ),
        (
            "middle_name",
            CreateUser {
                middle_name: Some("a\r\nBcc: x".into()),
                ..good()
            },
        ),
        (
            "last_name",
            CreateUser {
                last_name: Some("x".repeat(256)),
                ..good()
            },
        ),
        (
            "metadata",
            CreateUser {
                metadata: Some(object(json!({ "k": "a\0" }))),
                ..good()
            },
        ),
        (
            "metadata",
            CreateUser {
                metadata: Some(object(json!({ "k": "x".repeat(17_000) }))),
                ..good()
            },
        ),
        (
            "metadata",
            CreateUser {
                metadata: Some(object(json!({ "k": nested }))),
                ..good()
            },
        ),
        (
            "metadata",
            CreateUser {
                metadata: Some((0..51).map(|n| (n.to_string(), json!(1))).collect()),
                ..good()
            },
        ),
    ];
    for (number, (param, command)) in cases.into_iter().enumerate() {
        let refused = invalid(&harness, command).await;
        assert_eq!(refused.param, param, "case {number}");
        let reason = if number == 0 {
            Reason::Missing
        } else {
            Reason::Value
        };
        assert_eq!(refused.reason, reason, "case {number}");
        assert!(
            !harness.is_known(&test, "good@example.com").await,
            "case {number}"
        );
    }
}

/// A key that is `null` counts as absent; everything else is returned as sent.
#[tokio::test]
async fn metadata_is_stored_as_sent() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let command = CreateUser {
        metadata: Some(object(
            json!({ "plan": "pro", "gone": null, "tags": [1, 1.5, null], "deep": { "a": null } }),
        )),
        ..with_email("ada@example.com")
    };
    let id = harness
        .service
        .create_user(&test, command)
        .await
        .unwrap()
        .user
        .profile
        .user
        .id;
    let read = harness
        .service
        .get_user(&test, id)
        .await
        .unwrap()
        .profile
        .user
        .metadata;
    let kept =
        json!({ "plan": "pro", "gone": null, "tags": [1, 1.5, null], "deep": { "a": null } });
    assert_eq!(Value::Object(read.as_object().clone()), kept);
}

/// I10: one address, one user, in any spelling; a refused call leaves nothing behind.
#[tokio::test]
async fn an_identifier_that_is_taken_creates_nothing() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let first = CreateUser {
        phone_number: Some("+14155552671".into()),
        ..with_email("ada@example.com")
    };
    harness.service.create_user(&test, first).await.unwrap();
    let free = "free@example.com";
    for (field, email, phone) in [
        ("email", "ada@example.com", None),
        ("email", "ADA@Example.COM", None),
        ("email", "ada@example\u{3002}com", None),
        ("email", "ada@example.com", Some("+447400123456")),
        ("phone_number", free, Some("+14155552671")),
    ] {
        let command = CreateUser {
            phone_number: phone.map(str::to_owned),
            ..with_email(email)
        };
        let refused = harness.service.create_user(&test, command).await;
        assert!(
            matches!(&refused, Err(Refusal::Taken(named)) if named == field),
            "{email} {phone:?}: {refused:?}"
        );
    }
    // The other identifier of the refused call is still free.
    let command = CreateUser {
        phone_number: Some("+447400123456".into()),
        ..with_email(free)
    };
    harness.service.create_user(&test, command).await.unwrap();
}

/// I11: the same address can exist in each environment, and no environment sees another.
#[tokio::test]
async fn environments_do_not_mix() {
    let harness = Harness::new().await;
    let (test, live, stranger) = (
        harness.test().await,
        harness.live().await,
        harness.stranger().await,
    );
    let mut ids = Vec::new();
    for caller in [&test, &live, &stranger] {
        ids.push(
            harness
                .user(caller, "ada@example.com")
                .await
                .profile
                .user
                .id,
        );
    }
    for (own, caller) in [&test, &live, &stranger].into_iter().enumerate() {
        for (number, id) in ids.iter().enumerate() {
            match harness.service.get_user(caller, *id).await {
                Ok(user) if number == own => assert_eq!(user.profile.user.id, *id),
                Err(Refusal::NotFound("user")) if number != own => {}
                other => panic!("caller {own}, user {number}: {other:?}"),
            }
        }
    }
    let nobody = UserId::new(START, [7; 16]);
    assert!(matches!(
        harness.service.get_user(&test, nobody).await,
        Err(Refusal::NotFound("user"))
    ));
}

/// R2, in any spelling of the address.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r2_parallel_creates_of_one_address_make_one_user() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let spellings = [
        "j\u{f6}rg@fa\u{df}.example",
        "J\u{d6}RG@fa\u{df}.example",
        "jo\u{308}rg@FA\u{df}.example",
        "j\u{f6}rg@xn--fa-hia.example",
    ];
    let tasks = spellings.iter().cycle().take(48).map(|email| {
        let (service, test, command) = (
            Arc::clone(&harness.service),
            Arc::clone(&test),
            with_email(email),
        );
        async move { service.create_user(&test, command).await }
    });
    let outcomes = race(tasks).await;
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1);
    let duplicates = outcomes
        .iter()
        .filter(|outcome| matches!(outcome, Err(Refusal::Taken(field)) if field == "email"));
    assert_eq!(duplicates.count(), 47);
}

/// A search occupies a slot until it ends, and is refused at once if there is none. An unfiltered list needs no slot.
#[tokio::test]
async fn m_31_searches_have_slots_of_their_own() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    harness.user(&test, "ada@example.com").await;
    let owner = Grants::new(Role::Owner, None).unwrap();
    let (_, token) = joined(&harness, "ann@example.com", owner).await;
    let ann = principal(&harness, &token).await;
    let ann = harness.service.caller(&ann, test.world).await.unwrap();
    let filtered = || SearchUsers {
        filter: Some(UserFilter {
            combined: Combined::All,
            conditions: vec![Condition::EmailMatch("ada".to_owned())],
        }),
        ..SearchUsers::default()
    };
    let (begun, has_begun) = oneshot::channel();
    let (end, may_end) = oneshot::channel::<()>();
    harness.store.before_next_view(async move {
        begun.send(()).unwrap();
        may_end.await.unwrap();
    });
    let (service, caller) = (Arc::clone(&harness.service), Arc::clone(&test));
    let slow = tokio::spawn(async move { service.search_users(&caller, filtered()).await });
    has_begun.await.unwrap();
    let refused = harness.service.search_users(&test, filtered()).await;
    assert!(matches!(
        refused,
        Err(SearchUsersError::Common(Refusal::Fault(Fault::Overloaded)))
    ));
    let all = harness
        .service
        .search_users(&test, SearchUsers::default())
        .await;
    assert_eq!(all.unwrap().total_count, 1);
    // An operator waits for the turn.
    let service = Arc::clone(&harness.service);
    let waits = tokio::spawn(async move { service.search_users(&ann, filtered()).await });
    tokio::task::yield_now().await;
    end.send(()).unwrap();
    assert_eq!(waits.await.unwrap().unwrap().total_count, 1);
    assert_eq!(slow.await.unwrap().unwrap().total_count, 1);
    let found = harness.service.search_users(&test, filtered()).await;
    assert_eq!(found.unwrap().total_count, 1);
}
