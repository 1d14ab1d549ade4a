//! Registered redirect URLs.

use std::sync::Arc;

use vestry_domain::World;
use vestry_domain::redirect::RedirectKind;
use vestry_ports::store::{RedirectUrl, Store};

use super::stage::Stage;
use crate::samples::other_environment;

impl Stage {
    async fn register(&self, url: &RedirectUrl) -> bool {
        in_tx!(self.store, |tx| tx.redirect_urls().insert(url).await)
    }

    async fn registered(&self, world: World) -> Vec<RedirectUrl> {
        in_view!(self.store, |view| view
            .redirect_urls()
            .list(world.app_id)
            .await)
    }
}

/// Every field of a URL is read back unchanged, above all its text, which is matched exactly (O-1).
pub async fn a_url_comes_back_as_it_was(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let mut urls = Vec::new();
    for _ in 0..8 {
        let kind = stage.samples.pick(&RedirectKind::ALL);
        let url = stage.samples.redirect_url(world, kind);
        assert!(stage.register(&url).await);
        urls.push(url);
    }
    assert_eq!(stage.registered(world).await, urls);
}

/// The URLs of an App are listed oldest first, for both environments and all kinds.
pub async fn urls_of_an_app_are_listed_oldest_first(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let [_, other, _] = stage.strangers(world).await;
    let stranger = stage.samples.redirect_url(other, RedirectKind::Login);
    assert!(stage.register(&stranger).await);
    let mut urls = Vec::new();
    for world in [world, other_environment(world)] {
        for kind in RedirectKind::ALL {
            urls.push(stage.samples.redirect_url(world, kind));
        }
    }
    for url in stage.samples.shuffled(&urls) {
        assert!(stage.register(url).await);
    }
    assert_eq!(stage.registered(world).await, urls);
    assert_eq!(stage.registered(other).await, [stranger]);
}

/// Registering the same URL and kind again is rejected and changes nothing, not even the default.
pub async fn a_url_is_registered_once_per_kind(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let first = stage.samples.redirect_url(world, RedirectKind::Login);
    let default = RedirectUrl {
        is_default: true,
        ..stage.samples.redirect_url(world, RedirectKind::Login)
    };
    assert!(stage.register(&first).await);
    assert!(stage.register(&default).await);
    let again = RedirectUrl {
        target: first.target.clone(),
        is_default: true,
        ..stage.samples.redirect_url(world, RedirectKind::Login)
    };
    assert!(!stage.register(&again).await);
    assert_eq!(stage.registered(world).await, [first, default]);
}

/// The same URL can have several kinds and belong to several worlds.
pub async fn a_url_may_serve_other_kinds_and_worlds(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let first = stage.samples.redirect_url(world, RedirectKind::Login);
    assert!(stage.register(&first).await);
    let mut others = vec![(world, RedirectKind::Registration)];
    others.extend(
        stage
            .strangers(world)
            .await
            .map(|stranger| (stranger, RedirectKind::Login)),
    );
    for (world, kind) in others {
        let url = RedirectUrl {
            target: first.target.clone(),
            ..stage.samples.redirect_url(world, kind)
        };
        assert!(stage.register(&url).await, "{kind}");
    }
}

/// A new default replaces only the previous one of its world and kind.
pub async fn a_new_default_replaces_the_earlier_one(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let mut defaults = Vec::new();
    for (world, kind) in [
        (world, RedirectKind::Login),
        (world, RedirectKind::Invite),
        (other_environment(world), RedirectKind::Login),
        (world, RedirectKind::Login),
    ] {
        let url = RedirectUrl {
            is_default: true,
            ..stage.samples.redirect_url(world, kind)
        };
        assert!(stage.register(&url).await);
        defaults.push(url.id);
    }
    let registered = stage.registered(world).await;
    let now: Vec<_> = registered
        .iter()
        .filter(|url| url.is_default)
        .map(|url| url.id)
        .collect();
    assert_eq!(now, defaults.split_off(1));
}

/// A URL is removed once, and only by its own App (I11).
pub async fn a_url_is_removed_by_its_app(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let stranger = stage.app().await;
    let url = stage.samples.redirect_url(world, RedirectKind::Login);
    let bystander = stage.samples.redirect_url(world, RedirectKind::Login);
    assert!(stage.register(&url).await);
    assert!(stage.register(&bystander).await);
    for (app, expected) in [
        (stranger.id, false),
        (world.app_id, true),
        (world.app_id, false),
    ] {
        let removed = in_tx!(stage.store, |tx| tx
            .redirect_urls()
            .remove(app, url.id)
            .await);
        assert_eq!(removed, expected);
    }
    assert_eq!(stage.registered(world).await, [bystander]);
    // A removed URL can be registered again.
    assert!(stage.register(&url).await);
}
