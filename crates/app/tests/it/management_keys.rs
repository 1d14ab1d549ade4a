//! Management keys: creation and revocation, and what a principal with one can reach (MG-3, MG-4, MG-5).

use serde_json::json;
use vestry_app::operators::{NewManagementKey, NewManagementKeyFields};
use vestry_app::{AuthenticateError, Principal, Refusal};
use vestry_domain::action::Action;
use vestry_domain::api_key::{ApiKeyKind, KeyFields, Restriction};
use vestry_domain::audit::control::ControlAction;
use vestry_domain::event::Actor;
use vestry_domain::ids::{AppId, Id};
use vestry_domain::management_key::Rights;
use vestry_domain::management_scope::ManagementScope;
use vestry_domain::timestamp::Seconds;
use vestry_domain::{Environment, World};

use crate::changes::written;
use crate::harness::Harness;
use crate::operators::deployment_log;

fn fields(harness: &Harness) -> NewManagementKeyFields {
    limited(harness, None, &Environment::ALL, ManagementScope::ALL)
}

fn limited(
    harness: &Harness,
    apps: Option<Vec<AppId>>,
    environments: &[Environment],
    scopes: &[ManagementScope],
) -> NewManagementKeyFields {
    NewManagementKeyFields {
        name: "terraform".to_owned(),
        rights: Rights::new(apps, environments.to_vec(), scopes.to_vec(), None).unwrap(),
        expires_at: harness.now() + Seconds(86_400),
    }
}

async fn made(harness: &Harness, fields: NewManagementKeyFields) -> NewManagementKey {
    let made = harness
        .service
        .create_management_key(Principal::cli(), fields);
    made.await.unwrap()
}

async fn principal(harness: &Harness, fields: NewManagementKeyFields) -> Principal {
    let key = made(harness, fields).await.key;
    let found = harness.service.authenticate_management_key(key.expose());
    found.await.unwrap()
}

async fn is_refused(harness: &Harness, key: &str) -> bool {
    matches!(
        harness.service.authenticate_management_key(key).await,
        Err(AuthenticateError::Unknown)
    )
}

#[tokio::test]
async fn a_key_works_until_it_expires_or_is_revoked() {
    let harness = Harness::new().await;
    let service = &harness.service;
    let short = NewManagementKeyFields {
        expires_at: harness.now() + Seconds(60),
        ..fields(&harness)
    };
    let lasting = made(&harness, fields(&harness)).await;
    harness.pass(1);
    let short = made(&harness, short).await;
    for key in [&lasting, &short] {
        assert!(!is_refused(&harness, key.key.expose()).await);
    }
    let listed = service.list_management_keys(Principal::cli()).await;
    assert_eq!(listed.unwrap(), [lasting.record.clone(), short.record]);
    harness.pass(59);
    assert!(is_refused(&harness, short.key.expose()).await, "expired");
    let revoke = || service.revoke_management_key(Principal::cli(), lasting.record.id);
    revoke().await.unwrap();
    assert!(is_refused(&harness, lasting.key.expose()).await, "revoked");
    assert!(matches!(revoke().await, Err(Refusal::NotFound(_))));
    // An API key is no management key, and a management key no API key.
    assert!(is_refused(&harness, harness.test_key()).await);
    let as_api_key = service.authenticate(lasting.key.expose()).await;
    assert!(matches!(as_api_key, Err(AuthenticateError::Unknown)));
}

/// E-1: creation and revocation have an audit entry in the deployment's chain, and an event in its log.
#[tokio::test]
async fn keys_are_audited_and_emit_events() {
    let harness = Harness::new().await;
    let apps = Some(vec![harness.app.id]);
    let fields = limited(&harness, apps, &Environment::ALL, ManagementScope::ALL);
    let key = made(&harness, fields).await;
    let revoked = harness
        .service
        .revoke_management_key(Principal::cli(), key.record.id);
    revoked.await.unwrap();
    let entries = written(&harness, World::DEPLOYMENT).await;
    let entries: Vec<_> = entries
        .iter()
        .filter(|entry| entry.event.subject.id == key.record.id.to_string())
        .map(|entry| (entry.event.action, entry.event.actor))
        .collect();
    assert_eq!(
        entries,
        [
            (ControlAction::ManagementKeyCreate, Actor::Cli),
            (ControlAction::ManagementKeyRevoke, Actor::Cli),
        ]
    );
    let id = key.record.id.to_string();
    let apps = [harness.app.id.to_string()];
    assert_eq!(
        deployment_log(&harness).await,
        [
            (
                "management_key.created".to_owned(),
                Actor::Cli,
                json!({"management_key_id": id, "app_ids": apps}),
            ),
            (
                "management_key.revoked".to_owned(),
                Actor::Cli,
                json!({"management_key_id": id}),
            ),
        ]
    );
}

#[tokio::test]
async fn bad_fields_are_named() {
    let harness = Harness::new().await;
    let good = fields(&harness);
    let bad = [
        (
            "name",
            NewManagementKeyFields {
                name: " ".to_owned(),
                ..good.clone()
            },
        ),
        (
            "name",
            NewManagementKeyFields {
                name: "x".repeat(101),
                ..good.clone()
            },
        ),
        (
            "expires_at",
            NewManagementKeyFields {
                expires_at: harness.now(),
                ..good.clone()
            },
        ),
        (
            "expires_at",
            NewManagementKeyFields {
                expires_at: harness.now() + Seconds(366 * 86_400),
                ..good.clone()
            },
        ),
    ];
    for (field, fields) in bad {
        let refused = harness
            .service
            .create_management_key(Principal::cli(), fields);
        match refused.await {
            Err(Refusal::Invalid(invalid)) => assert_eq!(invalid.param, field),
            other => panic!("{field}: {other:?}"),
        }
    }
    for app in [AppId::new(harness.now(), [9; 16]), AppId::BUILT_IN] {
        let apps = Some(vec![harness.app.id, app]);
        let fields = limited(&harness, apps, &Environment::ALL, ManagementScope::ALL);
        let refused = harness
            .service
            .create_management_key(Principal::cli(), fields);
        assert!(matches!(refused.await, Err(Refusal::NotFound("app"))));
    }
    let keys = harness.service.list_management_keys(Principal::cli()).await;
    assert_eq!(keys.unwrap(), []);
}

/// For each action, a key with its scope is permitted, and a key with every other scope is refused. An action without a scope is
/// refused for every key (MG-4).
#[tokio::test]
async fn an_action_needs_its_scope() {
    let harness = Harness::new().await;
    let world = harness.world(Environment::Live);
    for action in Action::ALL {
        let needed = action.management_scope();
        let (with, without): (Vec<_>, Vec<_>) = ManagementScope::ALL
            .iter()
            .copied()
            .partition(|scope| needed.is_some_and(|needed| scope.covers(needed)));
        for (scopes, is_allowed) in [(with, true), (without, false)] {
            if scopes.is_empty() {
                continue;
            }
            let by = limited(&harness, None, &Environment::ALL, &scopes);
            let by = principal(&harness, by);
            let caller = harness.service.caller(&by.await, world).await.unwrap();
            let outcome = caller.authorize(*action);
            match is_allowed {
                true => assert!(outcome.is_ok(), "{action:?}: {outcome:?}"),
                false => assert!(
                    matches!(
                        outcome,
                        Err(Refusal::Restricted(Restriction::ManagementScope(lacks))) if lacks == needed
                    ),
                    "{action:?}: {outcome:?}"
                ),
            }
        }
    }
}

/// A key reaches its Apps and environments only, and the built-in App with no key at all (MG-5, OPR-2).
#[tokio::test]
async fn a_key_reaches_its_apps_and_environments() {
    let harness = Harness::new().await;
    let service = &harness.service;
    // Ids of one second are in no order.
    harness.pass(1);
    let other = service.create_app(Principal::cli(), "Other").await.unwrap();
    let limited = limited(
        &harness,
        Some(vec![harness.app.id]),
        &[Environment::Test],
        ManagementScope::ALL,
    );
    let limited = principal(&harness, limited).await;
    let all = principal(&harness, fields(&harness)).await;
    let create = async |by: &Principal, world| {
        service
            .create_api_key(by, world, ApiKeyKind::Secret, KeyFields::default())
            .await
            .map(|made| made.record.created_by)
    };
    let (mine, unknown) = (harness.app.id, AppId::new(harness.now(), [9; 16]));
    let test = |app| World::new(app, Environment::Test);
    let made = create(&limited, test(mine)).await.unwrap();
    assert_eq!(made, limited_actor(&limited));
    let live = World::new(mine, Environment::Live);
    assert!(matches!(
        create(&limited, live).await,
        Err(Refusal::Restricted(Restriction::Environment(
            Environment::Live
        )))
    ));
    for app in [other.id, unknown, AppId::BUILT_IN] {
        let refused = create(&limited, test(app)).await;
        assert!(matches!(refused, Err(Refusal::NotFound("app"))), "{app}");
        let shown = service.show_app(&limited, app).await;
        assert!(matches!(shown, Err(Refusal::NotFound("app"))), "{app}");
    }
    assert!(create(&all, live).await.is_ok());
    assert!(create(&all, test(other.id)).await.is_ok());
    for app in [unknown, AppId::BUILT_IN] {
        let refused = create(&all, test(app)).await;
        assert!(matches!(refused, Err(Refusal::NotFound("app"))), "{app}");
    }
    // Settings belong to both environments.
    let change = [("freshness_minutes".to_owned(), "6".to_owned())];
    let set = service.set_app(&limited, mine, &change).await;
    assert!(
        matches!(
            set,
            Err(Refusal::Restricted(Restriction::Environment(
                Environment::Live
            )))
        ),
        "{set:?}"
    );
    let listed = |by| async move {
        let apps = service.list_apps(by).await.unwrap();
        apps.iter().map(|app| app.id).collect::<Vec<_>>()
    };
    assert_eq!(listed(&limited).await, [mine]);
    assert_eq!(listed(&all).await, [mine, other.id]);
    // A new App is the deployment's.
    let refused = service.create_app(&limited, "Mine").await;
    assert!(matches!(
        refused,
        Err(Refusal::Restricted(Restriction::AllApps))
    ));
    harness.pass(1);
    let created = service.create_app(&all, "Third").await.unwrap();
    assert_eq!(listed(&all).await, [mine, other.id, created.id]);
}

fn limited_actor(by: &Principal) -> Actor {
    Actor::ManagementKey(by.as_management_key().unwrap().id)
}

/// An id in the other environment, or in another App, is not found with a key that reaches both.
#[tokio::test]
async fn an_object_is_found_in_its_world_only() {
    let harness = Harness::new().await;
    let service = &harness.service;
    let by = principal(&harness, fields(&harness)).await;
    let (test, live) = (
        harness.world(Environment::Test),
        harness.world(Environment::Live),
    );
    let made = service
        .create_api_key(&by, test, ApiKeyKind::Secret, KeyFields::default())
        .await
        .unwrap();
    let elsewhere = service.revoke_api_key(&by, live.into(), made.record.id);
    assert!(matches!(elsewhere.await, Err(Refusal::NotFound(_))));
    let listed = service.list_api_keys(&by, live.into()).await.unwrap();
    assert!(listed.iter().all(|key| key.world == live));
    let revoked = service.revoke_api_key(&by, test.into(), made.record.id);
    revoked.await.unwrap();
}
