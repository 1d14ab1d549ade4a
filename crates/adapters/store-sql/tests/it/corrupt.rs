//! Rows edited by hand.

use vestry_contract::samples::Samples;
use vestry_domain::audit::control::{
    ControlAction, ControlEntry, ControlEvent, ControlHead, Outcome, Subject,
};
use vestry_domain::event::Actor;
use vestry_domain::{Environment, World};
use vestry_ports::store::{ChainLog, DeliveryFilter, Store, StoreError};

use crate::places::{Ground, Place, on_both};

on_both! { migrated_sqlite, migrated_postgres:
    an_edited_value_is_named_and_not_revealed
    an_edited_value_of_a_webhook_is_named_and_not_revealed
    an_edited_value_of_a_control_chain_is_named_and_not_revealed
    rk_10_unreadable_restrictions_disable_a_key
}

/// RK-10: a key with a restriction that this build cannot read is an error, which becomes a 500, never a key without that restriction.
async fn rk_10_unreadable_restrictions_disable_a_key(place: &Place) {
    let store = place.connect().await;
    let mut samples = Samples::fresh();
    let app = samples.app();
    let key = samples.api_key(World::new(app.id, Environment::Test));
    let mut tx = store.begin().await.unwrap();
    tx.apps().insert(&app).await.unwrap();
    tx.api_keys().insert(&key).await.unwrap();
    tx.commit().await.unwrap();
    for unreadable in [
        r#"{"not_before":1}"#,
        r#"{"operations":["signEverything"]}"#,
        r#"{"user_ids":[]}"#,
        r#"{"user_ids":null}"#,
        "[]",
        "null",
        "",
    ] {
        let update = format!("UPDATE api_keys SET restrictions = '{unreadable}'");
        place.execute(&update).await;
        let mut view = store.read().await.unwrap();
        let failed = view.api_keys().find_by_hash(&key.hash).await.err();
        let is_named = matches!(
            failed,
            Some(StoreError::Corrupt {
                table: "api_keys",
                column: "restrictions"
            })
        );
        assert!(is_named, "{unreadable}: {failed:?}");
    }
}

/// An invalid value gives an error that names its column; it is neither used nor repeated.
async fn an_edited_value_is_named_and_not_revealed(place: &Place) {
    let store = place.connect().await;
    let mut samples = Samples::fresh();
    let app = samples.app();
    let world = World::new(app.id, Environment::Test);
    let user = samples.user(world);
    let (email, phone) = (samples.email(&user), samples.phone(&user));
    let (session, token) = (samples.session(&user), samples.token());
    let mut tx = store.begin().await.unwrap();
    tx.apps().insert(&app).await.unwrap();
    tx.users().insert(&user).await.unwrap();
    tx.identifiers().attach_email(&world, &email).await.unwrap();
    tx.identifiers().attach_phone(&world, &phone).await.unwrap();
    tx.sessions().insert(&session, &token).await.unwrap();
    tx.commit().await.unwrap();

    // In reverse order of reading, so that each error comes before those still to be made.
    for (table, column, value) in [
        ("user_phones", "number", "'0800 edited'"),
        ("user_emails", "identity", "'edited@example.com'"),
        ("user_emails", "address", "'edited'"),
        ("users", "metadata", "'edited'"),
        ("users", "status", "'edited'"),
        ("apps", "settings", "'{\"jwt_lifetime_seconds\": \"long\"}'"),
        ("sessions", "factors", "'[\"edited\"]'"),
        ("sessions", "permissions", "'edited'"),
    ] {
        place
            .execute(&format!("UPDATE {table} SET {column} = {value}"))
            .await;
        let mut view = store.read().await.unwrap();
        let failed = match table {
            "apps" => view.apps().find(app.id).await.err(),
            "sessions" => view.sessions().find_by_token(&world, &token).await.err(),
            _ => view.users().profile(&world, user.id).await.err(),
        };
        let Some(StoreError::Corrupt {
            table: t,
            column: c,
        }) = &failed
        else {
            panic!("{table}.{column}: {failed:?}");
        };
        if table != "sessions" || column == "factors" {
            assert_eq!((*t, *c), (table, column));
        }
        assert!(!format!("{failed:?}").contains("edited"));
    }
}

/// The same for endpoints and their secrets, deliveries and attempts.
async fn an_edited_value_of_a_webhook_is_named_and_not_revealed(place: &Place) {
    let store = place.connect().await;
    let mut samples = Samples::fresh();
    let world = World::new(samples.app().id, Environment::Test);
    let endpoint = samples.endpoint(world);
    let secret = samples.webhook_secret(world, endpoint.id);
    let delivery = samples.delivery(&endpoint, 1);
    let attempt = samples.attempt(&delivery, 1);
    let mut tx = store.begin().await.unwrap();
    let endpoints = tx.webhook_endpoints();
    assert!(endpoints.insert(&endpoint).await.unwrap());
    endpoints.insert_secret(&secret).await.unwrap();
    let deliveries = tx.deliveries();
    let (one, its) = (std::slice::from_ref(&delivery), [attempt]);
    deliveries.insert(one).await.unwrap();
    deliveries.note_attempts(&its).await.unwrap();
    tx.commit().await.unwrap();

    let open = DeliveryFilter::default();
    // In reverse order of reading, in each table.
    for (table, column, value) in [
        ("webhook_endpoints", "disabled_reason", "'edited'"),
        ("webhook_endpoints", "types", "'[\"edited\"]'"),
        ("webhook_endpoints", "url", "'edited'"),
        ("webhook_endpoints", "types", "'edited'"),
        ("webhook_secrets", "key_version", "-1"),
        ("webhook_secrets", "id", "'edited'"),
        ("webhook_deliveries", "attempts", "-1"),
        ("webhook_deliveries", "ended_as", "'edited'"),
        ("webhook_deliveries", "kind", "'edited'"),
        ("webhook_deliveries", "event_id", "'edited'"),
        ("webhook_attempts", "status", "70000"),
        ("webhook_attempts", "duration_ms", "-1"),
        ("webhook_attempts", "number", "-1"),
        ("webhook_attempts", "endpoint_id", "'edited'"),
    ] {
        place
            .execute(&format!("UPDATE {table} SET {column} = {value}"))
            .await;
        let mut view = store.read().await.unwrap();
        let id = endpoint.id;
        let failed = match table {
            "webhook_endpoints" => view.webhook_endpoints().find(&world, id).await.err(),
            "webhook_secrets" => {
                let endpoints = view.webhook_endpoints();
                let secrets = endpoints.secrets(&world, id, secret.created_at).await;
                secrets.err()
            }
            "webhook_deliveries" => view.deliveries().list(&world, id, &open, 1).await.err(),
            _ => view.deliveries().attempts(&world, delivery.id).await.err(),
        };
        let Some(StoreError::Corrupt {
            table: t,
            column: c,
        }) = &failed
        else {
            panic!("{table}.{column}: {failed:?}");
        };
        assert_eq!((*t, *c), (table, column));
        assert!(!format!("{failed:?}").contains("edited"));
    }
}

/// The same for the control chains of the audit log.
async fn an_edited_value_of_a_control_chain_is_named_and_not_revealed(place: &Place) {
    let store = place.connect().await;
    let mut samples = Samples::fresh();
    let app = samples.app();
    let world = World::new(app.id, Environment::Test);
    let entry = ControlEntry {
        id: samples.id(app.created_at),
        chain: samples.id(app.created_at),
        sequence: 1,
        event: ControlEvent {
            world,
            actor: Actor::Cli,
            action: ControlAction::AppCreate,
            subject: Subject::from(app.id),
            detail: "{}".to_owned(),
            outcome: Outcome::Done,
            request_id: None,
            at: app.created_at,
        },
        previous: [0; 32],
        hash: samples.key(),
        mac: samples.mac(),
    };
    let head = ControlHead {
        world,
        number: 1,
        chain: entry.chain,
        sequence: 1,
        hash: entry.hash,
        mac: samples.mac(),
    };
    let mut tx = store.begin().await.unwrap();
    let log = tx.control_log();
    let one = std::slice::from_ref(&entry);
    assert!(log.append(None, one, &head).await.unwrap());
    tx.commit().await.unwrap();

    let bytes = match place.ground {
        Ground::Directory(_) => "X'656469746564'",
        Ground::Server(_) => "'edited'",
    };
    // In reverse order of reading, in each table.
    for (table, column, value) in [
        ("control_chains", "mac_key_version", "-1"),
        ("control_chains", "hash", bytes),
        ("control_chains", "chain", "'edited'"),
        ("control_entries", "mac_key_version", "-1"),
        ("control_entries", "hash", bytes),
        ("control_entries", "previous", bytes),
        ("control_entries", "id", "'edited'"),
        ("control_entries", "outcome", "'edited'"),
        ("control_entries", "subject_kind", "'edited'"),
        ("control_entries", "action", "'edited'"),
        ("control_entries", "actor_kind", "'edited'"),
    ] {
        place
            .execute(&format!("UPDATE {table} SET {column} = {value}"))
            .await;
        let mut view = store.read().await.unwrap();
        let failed = match table {
            "control_chains" => view.control_log().heads(&world).await.err(),
            _ => {
                let chains = view.audit_chains();
                let entries = chains.entries(&world, ChainLog::Control, entry.chain, 0, 1);
                entries.await.err()
            }
        };
        let Some(StoreError::Corrupt {
            table: t,
            column: c,
        }) = &failed
        else {
            panic!("{table}.{column}: {failed:?}");
        };
        assert_eq!((*t, *c), (table, column));
        assert!(!format!("{failed:?}").contains("edited"));
    }
    let mut view = store.read().await.unwrap();
    let failed = view.control_log().mark_at(&world, entry.chain, 1).await;
    let failed = failed.unwrap_err();
    assert!(matches!(
        failed,
        StoreError::Corrupt {
            table: "control_entries",
            column: "id"
        }
    ));
}
