//! API keys: creation, listing, rotation, revocation, and what each key can access (S-15).

use std::sync::Arc;

use tokio::task::JoinHandle;
use vestry_app::delivery::events::{ListEvents, ListEventsError};
use vestry_app::delivery::test_messages::{FindMessages, TestEnvError};
use vestry_app::{AuthenticateError, Caller, Principal, Refusal, Service};
use vestry_domain::api_key::{ApiKeyKind, KeyFields, Scope};
use vestry_domain::ids::{ApiKeyId, AppId, EventId, Id};
use vestry_domain::invalid::Reason;
use vestry_domain::token::TokenHash;
use vestry_domain::{Environment, World};

use crate::harness::{Harness, START};

async fn is_unknown(service: &Service, presented: &str) -> bool {
    matches!(
        service.authenticate(presented).await,
        Err(AuthenticateError::Unknown)
    )
}

#[tokio::test]
async fn a_key_opens_its_world() {
    let harness = Harness::new().await;
    for (environment, kind, prefix) in [
        (Environment::Test, ApiKeyKind::Secret, "sk_test_"),
        (Environment::Live, ApiKeyKind::Secret, "sk_live_"),
        (Environment::Test, ApiKeyKind::Public, "pk_test_"),
        (Environment::Live, ApiKeyKind::Public, "pk_live_"),
    ] {
        let world = harness.world(environment);
        let made = harness
            .service
            .create_api_key(Principal::cli(), world, kind, KeyFields::default())
            .await
            .unwrap();
        let key = made.key.expose();
        let random = key.strip_prefix(prefix).unwrap();
        assert_eq!(random.len(), 48);
        assert!(random.bytes().all(|byte| byte.is_ascii_alphanumeric()));
        if kind == ApiKeyKind::Public {
            assert!(
                is_unknown(&harness.service, key).await,
                "a public token is not a key"
            );
            continue;
        }
        let caller = harness.service.authenticate(key).await.unwrap();
        assert_eq!(
            (caller.world, caller.is_test()),
            (world, environment == Environment::Test)
        );
        assert_eq!(
            (caller.key().unwrap(), &*caller.app),
            (&made.record, &harness.app)
        );
    }
}

/// Anything that is not one of our keys gets the same response. A string that cannot be a key costs no query.
#[tokio::test]
async fn an_unknown_key_opens_nothing() {
    let harness = Harness::new().await;
    let made = harness
        .service
        .create_api_key(
            Principal::cli(),
            harness.world(Environment::Test),
            ApiKeyKind::Secret,
            KeyFields::default(),
        )
        .await
        .unwrap();
    let key = made.key.expose().as_str();
    let random = &key["sk_test_".len()..];
    harness.store.count();
    for malformed in [
        "",
        "sk_test_",
        random,
        &key[..key.len() - 1],
        &format!("{key}x"),
        &format!("{key}\0"),
        &format!(" {key}"),
        &format!("Bearer {key}"),
        &format!("pk_test_{random}"),
        &format!("SK_TEST_{random}"),
        &format!("sk_test_{}é", &random[2..]),
    ] {
        assert!(
            is_unknown(&harness.service, malformed).await,
            "{malformed:?}"
        );
    }
    assert_eq!(harness.store.count(), (0, 0));
    for unknown in [
        format!("sk_live_{random}"),
        format!("sk_test_{}", "x".repeat(48)),
    ] {
        assert!(is_unknown(&harness.service, &unknown).await, "{unknown}");
    }
    harness.service.authenticate(key).await.unwrap();
}

/// S-15: only the hash and the last four characters are stored, never the key.
#[tokio::test]
async fn s_15_only_a_hash_is_stored() {
    let harness = Harness::new().await;
    let scopes = vec![Scope::UsersRead, Scope::WalletsSign];
    let made = harness
        .service
        .create_api_key(
            Principal::cli(),
            harness.world(Environment::Test),
            ApiKeyKind::Secret,
            KeyFields::scoped(scopes.clone()),
        )
        .await
        .unwrap();
    let key = made.key.expose().clone();
    let listed = harness
        .service
        .list_api_keys(Principal::cli(), harness.app.id.into())
        .await
        .unwrap();
    assert_eq!(listed.len(), 3);
    let record = listed
        .into_iter()
        .find(|listed| listed.id == made.record.id)
        .unwrap();
    assert_eq!(record, made.record);
    assert_eq!(record.hash, TokenHash::of(&key));
    assert_eq!(record.last_four, key[key.len() - 4..]);
    assert_eq!(
        (record.scopes.clone(), record.created_at, record.revoked_at),
        (scopes, START, None)
    );
    let caller = harness.service.authenticate(&key).await.unwrap();
    for debug in [
        format!("{record:?}"),
        format!("{made:?}"),
        format!("{caller:?}"),
    ] {
        assert!(!debug.contains(&key[8..56 - 4]), "{debug}");
    }
}

/// Starts one long-polling call of each kind at one process and waits until they end.
fn waiting_calls(
    service: &Arc<Service>,
    caller: &Arc<Caller>,
    after: Option<EventId>,
) -> [JoinHandle<Result<usize, Refusal>>; 2] {
    let (reader, by) = (Arc::clone(service), Arc::clone(caller));
    let events = async move {
        let query = ListEvents {
            after,
            wait: Some(30),
            ..ListEvents::default()
        };
        match reader.follow_events(&by, query).await {
            Ok(page) => Ok(page.events.len()),
            Err(ListEventsError::Common(refusal)) => Err(refusal),
            Err(other) => panic!("{other:?}"),
        }
    };
    let (reader, by) = (Arc::clone(service), Arc::clone(caller));
    let messages = async move {
        let query = FindMessages {
            wait: Some(30),
            ..FindMessages::default()
        };
        match reader.captured_messages(&by, query).await {
            Ok(messages) => Ok(messages.len()),
            Err(TestEnvError::Common(refusal)) => Err(refusal),
            Err(other) => panic!("{other:?}"),
        }
    };
    [tokio::spawn(events), tokio::spawn(messages)]
}

/// R12: within a second every process rejects a revoked key, for good. That includes calls that are waiting at the time.
/// Calls that wait for data end with the App.
#[tokio::test]
async fn mg_11_calls_in_flight_end_when_the_app_is_disabled() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let other = harness.other_process();
    harness.service.sequence_all().await.unwrap();
    let newest = harness.service.events_head(&test).await.unwrap();
    let newest = newest.newest.map(|mark| mark.id);
    let mut waiting = Vec::new();
    for service in [&harness.service, &other] {
        waiting.extend(waiting_calls(service, &test, newest));
    }
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert!(waiting.iter().all(|call| !call.is_finished()));
    let disabled = other.switch_app(Principal::cli(), harness.app.id, true);
    disabled.await.unwrap();
    for call in waiting {
        let ended = call.await.unwrap();
        assert!(matches!(ended, Err(Refusal::AppDisabled)), "{ended:?}");
    }
}

#[tokio::test]
async fn r12_a_revoked_key_stops_within_a_second() {
    let harness = Harness::new().await;
    let made = harness
        .service
        .create_api_key(
            Principal::cli(),
            harness.world(Environment::Test),
            ApiKeyKind::Secret,
            KeyFields::default(),
        )
        .await
        .unwrap();
    let key = made.key.expose();
    let other = harness.other_process();
    harness.service.sequence_all().await.unwrap();
    let newest = harness
        .service
        .events_head(&*harness.test().await)
        .await
        .unwrap();
    let newest = newest.newest.map(|mark| mark.id);
    let mut waiting = Vec::new();
    for service in [&harness.service, &other] {
        let caller = service.authenticate(key).await.unwrap();
        waiting.extend(waiting_calls(service, &caller, newest));
    }
    // Each call has been authenticated and is waiting for data.
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert!(waiting.iter().all(|call| !call.is_finished()));
    harness
        .service
        .revoke_api_key(Principal::cli(), harness.app.id.into(), made.record.id)
        .await
        .unwrap();
    for call in waiting {
        let ended = call.await.unwrap();
        assert!(matches!(ended, Err(Refusal::KeyEnded)), "R12: {ended:?}");
    }
    assert!(
        is_unknown(&harness.other_process(), key).await,
        "a process that had not seen the key within the last second"
    );
    for service in [&harness.service, &other] {
        assert!(is_unknown(service, key).await);
    }
    harness.pass(1);
    for service in [&harness.service, &other] {
        assert!(is_unknown(service, key).await);
    }
    harness.live().await;
    let record = harness
        .service
        .list_api_keys(Principal::cli(), harness.app.id.into())
        .await
        .unwrap()
        .into_iter()
        .find(|listed| listed.id == made.record.id)
        .unwrap();
    assert_eq!(record.revoked_at, Some(START));
    let again = harness
        .service
        .revoke_api_key(Principal::cli(), harness.app.id.into(), made.record.id)
        .await;
    assert!(matches!(again, Err(Refusal::NotFound(_))), "{again:?}");
}

/// Rotation: both keys work until the old one is revoked.
#[tokio::test]
async fn rotation_overlaps() {
    let harness = Harness::new().await;
    let world = harness.world(Environment::Live);
    let old = harness
        .service
        .create_api_key(
            Principal::cli(),
            world,
            ApiKeyKind::Secret,
            KeyFields::scoped(vec![Scope::UsersRead]),
        )
        .await
        .unwrap();
    let new = harness
        .service
        .rotate_api_key(Principal::cli(), harness.app.id.into(), old.record.id)
        .await
        .unwrap();
    assert_ne!(old.key.expose(), new.key.expose());
    assert_ne!(old.record.id, new.record.id);
    assert_eq!(
        (new.record.world, new.record.kind, &new.record.scopes),
        (world, ApiKeyKind::Secret, &old.record.scopes)
    );
    for key in [&old, &new] {
        assert_eq!(
            harness
                .service
                .authenticate(key.key.expose())
                .await
                .unwrap()
                .world,
            world
        );
    }
    harness
        .service
        .revoke_api_key(Principal::cli(), harness.app.id.into(), old.record.id)
        .await
        .unwrap();
    harness.pass(1);
    assert!(is_unknown(&harness.service, old.key.expose()).await);
    harness
        .service
        .authenticate(new.key.expose())
        .await
        .unwrap();
    let dead = harness
        .service
        .rotate_api_key(Principal::cli(), harness.app.id.into(), old.record.id)
        .await;
    assert!(matches!(dead, Err(Refusal::NotFound(_))), "{dead:?}");
}

#[tokio::test]
async fn an_app_manages_its_own_keys() {
    let harness = Harness::new().await;
    let stranger = harness.stranger().await;
    let theirs = stranger.key().unwrap().id;
    let nobody = AppId::new(START, [7; 16]);
    let no_key = ApiKeyId::new(START, [7; 16]);
    for (app, key) in [
        (harness.app.id, theirs),
        (harness.app.id, no_key),
        (nobody, theirs),
    ] {
        assert!(matches!(
            harness
                .service
                .revoke_api_key(Principal::cli(), app.into(), key)
                .await,
            Err(Refusal::NotFound(_))
        ));
        assert!(matches!(
            harness
                .service
                .rotate_api_key(Principal::cli(), app.into(), key)
                .await,
            Err(Refusal::NotFound(_))
        ));
    }
    assert!(matches!(
        harness
            .service
            .list_api_keys(Principal::cli(), nobody.into())
            .await,
        Err(Refusal::NotFound("app"))
    ));
    let world = World::new(nobody, Environment::Test);
    let refused = harness
        .service
        .create_api_key(
            Principal::cli(),
            world,
            ApiKeyKind::Secret,
            KeyFields::default(),
        )
        .await;
    assert!(matches!(refused, Err(Refusal::NotFound("app"))));
    let scoped = harness
        .service
        .create_api_key(
            Principal::cli(),
            harness.world(Environment::Test),
            ApiKeyKind::Public,
            KeyFields::scoped(vec![Scope::UsersRead]),
        )
        .await;
    let Err(Refusal::Invalid(invalid)) = scoped else {
        panic!("{scoped:?}");
    };
    assert_eq!((&*invalid.param, invalid.reason), ("scopes", Reason::Value));
    let listed = harness
        .service
        .list_api_keys(Principal::cli(), harness.app.id.into())
        .await
        .unwrap();
    assert_eq!(listed.len(), 2, "nothing was created along the way");
}

/// A busy key costs one query a second.
#[tokio::test]
async fn a_key_is_read_once_a_second() {
    let harness = Harness::new().await;
    let first = harness.test().await;
    harness.pass(1);
    harness.store.count();
    for _ in 0..100 {
        harness.test().await;
    }
    assert_eq!(harness.store.count(), (1, 0));
    harness.pass(1);
    assert!(!Arc::ptr_eq(&first, &harness.test().await));
    assert_eq!(harness.store.count(), (1, 0));
}
