//! Apps.

use std::sync::Arc;

use vestry_domain::app::{App, AppSettings};
use vestry_domain::ids::AppId;
use vestry_ports::store::Store;

use super::stage::{Stage, works};
use crate::race::{count, race};

/// Every field of an App is read back unchanged, including the defaults of its settings.
pub async fn an_app_comes_back_as_it_was(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    for number in 0..20 {
        let mut app = stage.samples.app();
        if number == 0 {
            app.settings = AppSettings::default();
        }
        in_tx!(stage.store, |tx| tx.apps().insert(&app).await);
        let found = in_view!(stage.store, |view| view.apps().find(app.id).await);
        assert_eq!(found, Some(app));
    }
}

/// An unknown id finds nothing.
pub async fn an_unknown_app_is_not_there(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    stage.app().await;
    let stranger = stage.samples.app();
    let found = in_view!(stage.store, |view| view.apps().find(stranger.id).await);
    assert_eq!(found, None);
}

/// The same id twice is an error.
pub async fn an_app_is_added_once(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let app = stage.app().await;
    let mut tx = works(stage.store.begin().await);
    assert!(tx.apps().insert(&app).await.is_err(), "added twice");
}

/// All Apps are listed, oldest first, in whatever order they were added.
pub async fn apps_are_listed_oldest_first(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let apps: Vec<_> = (0..12).map(|_| stage.samples.app()).collect();
    for app in stage.samples.shuffled(&apps) {
        in_tx!(stage.store, |tx| tx.apps().insert(app).await);
    }
    let listed = in_view!(stage.store, |view| view.apps().list().await);
    assert_eq!(listed, apps);
}

/// The built-in App is not a customer's: it can be added if it is missing, and appears in no list.
pub async fn the_built_in_app_is_not_listed(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let app = stage.app().await;
    let built_in = App {
        id: AppId::BUILT_IN,
        ..stage.samples.app()
    };
    let find = async |store: &Arc<dyn Store>| {
        in_view!(store, |view| view.apps().find(AppId::BUILT_IN).await)
    };
    if find(&stage.store).await.is_none() {
        in_tx!(stage.store, |tx| tx.apps().insert(&built_in).await);
    }
    assert!(find(&stage.store).await.is_some());
    let listed = in_view!(stage.store, |view| view.apps().list().await);
    assert_eq!(listed, [app]);
}

/// An update writes name, settings, `disabled_at` and `updated_at` of one App; `created_at` stays.
pub async fn an_update_writes_one_app(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let (app, bystander) = (stage.app().await, stage.app().await);
    let changed = App {
        id: app.id,
        ..stage.samples.app()
    };
    let updated = in_tx!(stage.store, |tx| tx.apps().update(&changed).await);
    assert!(updated);
    let listed = in_view!(stage.store, |view| view.apps().list().await);
    let expected = App {
        created_at: app.created_at,
        test_clock: app.test_clock,
        named_events: app.named_events,
        ..changed
    };
    assert_eq!(listed, [expected, bystander]);
}

/// An update of an App that does not exist returns so and adds nothing.
pub async fn an_update_of_an_unknown_app_does_nothing(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let app = stage.app().await;
    let stranger = stage.samples.app();
    let updated = in_tx!(stage.store, |tx| tx.apps().update(&stranger).await);
    assert!(!updated);
    let listed = in_view!(stage.store, |view| view.apps().list().await);
    assert_eq!(listed, [app]);
}

/// A test clock is swapped only for the one that the caller saw, in one App. An update of the App leaves it alone.
pub async fn a_test_clock_is_swapped_once(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let (app, bystander) = (stage.app().await, stage.app().await);
    let (first, second) = (stage.samples.test_clock(), stage.samples.test_clock());
    for (from, to, expected) in [
        (app.test_clock, first, true),
        (app.test_clock, second, false),
        (first, second, true),
    ] {
        let swapped = in_tx!(stage.store, |tx| tx
            .apps()
            .swap_test_clock(app.id, &from, &to)
            .await);
        assert_eq!(swapped, expected);
    }
    in_tx!(stage.store, |tx| tx.apps().update(&app).await);
    let listed = in_view!(stage.store, |view| view.apps().list().await);
    let expected = App {
        test_clock: second,
        ..app
    };
    assert_eq!(listed, [expected, bystander]);
}

/// The addresses named by endpoints are written for one App, and an update of the App leaves them alone.
pub async fn endpoint_addresses_are_kept(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let (app, bystander) = (stage.app().await, stage.app().await);
    let named = stage.samples.app().named_events;
    let locked = in_tx!(stage.store, |tx| {
        let locked = tx.apps().lock(app.id).await?;
        tx.apps().name_events(app.id, &named).await?;
        Ok(locked)
    });
    assert_eq!(locked.as_ref(), Some(&app));
    in_tx!(stage.store, |tx| tx.apps().update(&app).await);
    let listed = in_view!(stage.store, |view| view.apps().list().await);
    let expected = App {
        named_events: named,
        ..app
    };
    assert_eq!(listed, [expected, bystander]);
}

/// Of parallel swaps of one clock one succeeds.
pub async fn parallel_swaps_of_a_test_clock_succeed_once(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let app = stage.app().await;
    let clocks: Vec<_> = (0..20).map(|_| stage.samples.test_clock()).collect();
    let (id, known) = (app.id, app.test_clock);
    let swapped = race(clocks.into_iter().map(|clock| {
        let store = Arc::clone(&stage.store);
        async move {
            in_tx!(store, |tx| tx
                .apps()
                .swap_test_clock(id, &known, &clock)
                .await)
        }
    }))
    .await;
    assert_eq!(count(&swapped, &true), 1);
}
