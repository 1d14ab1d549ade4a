//! Rows that somebody edited by hand.

use vestry_contract::samples::Samples;
use vestry_domain::{Environment, World};
use vestry_ports::store::{Store, StoreError};

use crate::places::{Place, on_both};

on_both! { migrated_sqlite, migrated_postgres:
    an_edited_value_is_named_and_not_shown
}

/// A value that is not what it must be is an error that names its place; it is neither believed nor repeated.
async fn an_edited_value_is_named_and_not_shown(place: &Place) {
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
    tx.users().attach_email(&world, &email).await.unwrap();
    tx.users().attach_phone(&world, &phone).await.unwrap();
    tx.sessions().insert(&session, &token).await.unwrap();
    tx.commit().await.unwrap();

    // From the last one read to the first: each error comes before those that are still to be made.
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
