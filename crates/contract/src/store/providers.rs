//! Identity providers: connections of Apps, pending sign-ins, and linked users.

use std::sync::Arc;

use vestry_domain::ids::Id;
use vestry_domain::pkce::MAX_TRIES;
use vestry_domain::provider::{Flow, Pending, ProviderLink, ProviderName};
use vestry_domain::search::{Combined, Condition, UserFilter};
use vestry_domain::timestamp::Seconds;
use vestry_domain::user::User;
use vestry_domain::{Timestamp, World};
use vestry_ports::store::{Attached, Store, StoredConnection};

use super::stage::{LONG, Stage};
use crate::race::{count, race};
use crate::samples::other_environment;

impl Stage {
    async fn connect(&self, stored: &StoredConnection) -> bool {
        in_tx!(self.store, |tx| tx
            .provider_connections()
            .insert(stored)
            .await)
    }

    async fn connection_named(
        &self,
        world: World,
        name: &ProviderName,
    ) -> Option<StoredConnection> {
        in_view!(self.store, |view| view
            .provider_connections()
            .find(&world, name)
            .await)
    }

    /// A stored flow.
    async fn flow(&mut self, world: World) -> Flow {
        let flow = self.samples.oauth_flow(world);
        in_tx!(self.store, |tx| tx.oauth_flows().insert_flow(&flow).await);
        flow
    }

    async fn known_flow(&self, world: World, flow: &Flow) -> Option<Flow> {
        in_view!(self.store, |view| view
            .oauth_flows()
            .find_flow(&world, &flow.state)
            .await)
    }

    async fn use_flow(&self, world: World, flow: &Flow, now: Timestamp) -> bool {
        in_tx!(self.store, |tx| tx
            .oauth_flows()
            .consume_flow(&world, &flow.state, now)
            .await)
    }

    /// A stored token.
    async fn pending(&mut self, world: World) -> Pending {
        let pending = self.samples.pending(world);
        in_tx!(self.store, |tx| tx
            .oauth_flows()
            .insert_pending(&pending)
            .await);
        pending
    }

    async fn known_pending(&self, world: World, pending: &Pending) -> Option<Pending> {
        in_view!(self.store, |view| view
            .oauth_flows()
            .find_pending(&world, &pending.token)
            .await)
    }

    async fn use_pending(&self, world: World, pending: &Pending, now: Timestamp) -> bool {
        in_tx!(self.store, |tx| tx
            .oauth_flows()
            .consume_pending(&world, &pending.token, now)
            .await)
    }

    async fn attach_provider(&self, link: &ProviderLink) -> Attached {
        in_tx!(self.store, |tx| tx.provider_links().insert(link).await)
    }

    async fn try_pending(&self, world: World, pending: &Pending, now: Timestamp) -> Option<i64> {
        in_tx!(self.store, |tx| tx
            .oauth_flows()
            .attempt_pending(&world, &pending.token, now)
            .await)
    }

    /// A stored link of a stored user.
    async fn provider_link(&mut self, user: &User, name: &str) -> ProviderLink {
        let link = self.samples.provider_link(user, name);
        assert_eq!(self.attach_provider(&link).await, Attached::Yes);
        link
    }

    async fn provider_links_of(&self, world: World, user: &User) -> Vec<ProviderLink> {
        in_view!(self.store, |view| view
            .provider_links()
            .of_user(&world, user.id)
            .await)
    }
}

/// Every field of a connection is read back unchanged, by its name and by its callback.
pub async fn a_connection_comes_back_as_it_was(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    for name in ["google", "apple", "acme", "acme-2"] {
        let stored = stage.samples.connection(world, name);
        assert!(stage.connect(&stored).await);
        let connection = &stored.connection;
        let by_name = stage.connection_named(world, &connection.name).await;
        assert_eq!(by_name.as_ref(), Some(&stored));
        let by_callback = in_view!(stage.store, |view| view
            .provider_connections()
            .find_by_callback(connection.callback_id)
            .await);
        assert_eq!(by_callback.as_ref(), Some(&stored));
    }
    let unknown = stage.samples.connection(world, "discord").connection;
    assert_eq!(stage.connection_named(world, &unknown.name).await, None);
    let found = in_view!(stage.store, |view| view
        .provider_connections()
        .find_by_callback(unknown.callback_id)
        .await);
    assert_eq!(found, None);
}

/// A name is unique within a world; in another world it is another connection.
pub async fn a_world_has_one_connection_of_a_name(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let first = stage.samples.connection(world, "google");
    assert!(stage.connect(&first).await);
    let second = stage.samples.connection(world, "google");
    assert!(!stage.connect(&second).await);
    for stranger in stage.strangers(world).await {
        let theirs = stage.samples.connection(stranger, "google");
        assert!(stage.connect(&theirs).await);
    }
    let found = stage.connection_named(world, &first.connection.name).await;
    assert_eq!(found, Some(first));
}

/// An update replaces one connection but keeps its callback and creation time.
pub async fn a_connection_is_updated(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let stored = stage.samples.connection(world, "google");
    let other = stage.samples.connection(world, "github");
    assert!(stage.connect(&stored).await && stage.connect(&other).await);
    let update = |stored: StoredConnection| {
        let store = Arc::clone(&stage.store);
        async move { in_tx!(store, |tx| tx.provider_connections().update(&stored).await) }
    };
    let mut foreign = stage.samples.connection(world, "google");
    assert!(
        !update(foreign.clone()).await,
        "a connection with another callback"
    );
    foreign.connection.callback_id = stored.connection.callback_id;
    assert!(update(foreign.clone()).await);
    foreign.connection.created_at = stored.connection.created_at;
    let name = &stored.connection.name;
    assert_eq!(
        stage.connection_named(world, name).await,
        Some(foreign.clone())
    );
    let name = &other.connection.name;
    assert_eq!(
        stage.connection_named(world, name).await,
        Some(other.clone())
    );
    foreign.connection.world = other_environment(world);
    assert!(!update(foreign).await);
}

/// All connections of an App, and only those, are listed by environment and name.
pub async fn connections_of_an_app_are_listed(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let [sister, stranger, _] = stage.strangers(world).await;
    let mut expected = Vec::new();
    for (place, name) in [
        (world, "github"),
        (sister, "google"),
        (world, "apple"),
        (stranger, "apple"),
    ] {
        let stored = stage.samples.connection(place, name);
        assert!(stage.connect(&stored).await);
        if place != stranger {
            expected.push(stored);
        }
    }
    expected.sort_by_key(|stored| {
        let connection = &stored.connection;
        (
            connection.world.environment.as_str(),
            connection.name.clone(),
        )
    });
    let listed = in_view!(stage.store, |view| view
        .provider_connections()
        .list(world.app_id)
        .await);
    assert_eq!(listed, expected);
}

/// A connection is removed once, and only from its own world.
pub async fn a_removed_connection_is_gone(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let stored = stage.samples.connection(world, "google");
    assert!(stage.connect(&stored).await);
    let name = stored.connection.name.clone();
    let [stranger, ..] = stage.strangers(world).await;
    for (place, expected) in [(stranger, false), (world, true), (world, false)] {
        let removed = in_tx!(stage.store, |tx| tx
            .provider_connections()
            .remove(&place, &name)
            .await);
        assert_eq!(removed, expected);
    }
    assert_eq!(stage.connection_named(world, &name).await, None);
}

/// Every field of a flow and of a token is read back unchanged.
pub async fn a_flow_comes_back_as_it_was(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    for _ in 0..12 {
        let mut flow = stage.samples.oauth_flow(world);
        if stage.samples.coin() {
            flow.test_grant = Some(stage.samples.test_grant());
        }
        in_tx!(stage.store, |tx| tx.oauth_flows().insert_flow(&flow).await);
        assert_eq!(stage.known_flow(world, &flow).await, Some(flow));
        let pending = stage.pending(world).await;
        assert_eq!(stage.known_pending(world, &pending).await, Some(pending));
    }
}

/// O-2: a state is used once, and only before it expires.
pub async fn a_flow_is_used_once(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let (flow, other) = (stage.flow(world).await, stage.flow(world).await);
    assert!(!stage.use_flow(world, &flow, flow.expires_at).await);
    let last = flow.expires_at - Seconds(1);
    assert!(stage.use_flow(world, &flow, last).await);
    assert!(!stage.use_flow(world, &flow, last).await);
    assert_eq!(stage.known_flow(world, &flow).await, None);
    assert_eq!(stage.known_flow(world, &other).await, Some(other));
}

/// The built-in provider completes one of its own unexpired flows once.
pub async fn the_built_in_provider_answers_once(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let flow = stage.flow(world).await;
    let mut foreign = stage.samples.oauth_flow(world);
    foreign.provider = stage.samples.pending(world).provider;
    in_tx!(stage.store, |tx| tx
        .oauth_flows()
        .insert_flow(&foreign)
        .await);
    let (first, second) = (stage.samples.test_grant(), stage.samples.test_grant());
    let now = flow.expires_at - Seconds(1);
    for (state, grant, at, expected) in [
        (&foreign.state, &first, now, false),
        (&flow.state, &first, flow.expires_at, false),
        (&flow.state, &first, now, true),
        (&flow.state, &second, now, false),
    ] {
        let granted = in_tx!(stage.store, |tx| tx
            .oauth_flows()
            .grant_test(&world, state, grant, at)
            .await);
        assert_eq!(granted, expected);
    }
    let found = stage.known_flow(world, &flow).await;
    assert_eq!(found.and_then(|flow| flow.test_grant), Some(first));
}

/// O-11: a token is used once, and only before it expires.
pub async fn a_token_is_used_once(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let (pending, other) = (stage.pending(world).await, stage.pending(world).await);
    assert!(!stage.use_pending(world, &pending, pending.expires_at).await);
    let last = pending.expires_at - Seconds(1);
    assert!(stage.use_pending(world, &pending, last).await);
    assert!(!stage.use_pending(world, &pending, last).await);
    assert_eq!(stage.known_pending(world, &pending).await, None);
    assert_eq!(stage.known_pending(world, &other).await, Some(other));
}

/// Nothing in a world can be seen or used from another (I11).
pub async fn sign_ins_stay_in_their_world(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let (flow, pending) = (stage.flow(world).await, stage.pending(world).await);
    let grant = stage.samples.test_grant();
    let now = flow.expires_at - Seconds(1);
    for stranger in stage.strangers(world).await {
        assert_eq!(stage.known_flow(stranger, &flow).await, None);
        assert_eq!(stage.known_pending(stranger, &pending).await, None);
        assert!(!stage.use_flow(stranger, &flow, now).await);
        assert!(!stage.use_pending(stranger, &pending, now).await);
        let granted = in_tx!(stage.store, |tx| tx
            .oauth_flows()
            .grant_test(&stranger, &flow.state, &grant, now)
            .await);
        assert!(!granted);
    }
    assert!(stage.use_flow(world, &flow, now).await);
    assert!(stage.use_pending(world, &pending, now).await);
}

/// Of a hundred parallel uses of one state one succeeds (R6).
pub async fn parallel_uses_of_a_state_succeed_once(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    for _ in 0..3 {
        let flow = stage.flow(world).await;
        let now = flow.expires_at - Seconds(1);
        let used = race((0..100).map(|_| {
            let (store, state) = (Arc::clone(&stage.store), flow.state);
            async move {
                in_tx!(store, |tx| tx
                    .oauth_flows()
                    .consume_flow(&world, &state, now)
                    .await)
            }
        }))
        .await;
        assert_eq!(count(&used, &true), 1);
    }
}

/// M-2: attempts on a valid token are counted in its world, and do not consume it.
pub async fn tries_of_a_token_are_counted_while_it_lives(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let (pending, other) = (stage.pending(world).await, stage.pending(world).await);
    let last = pending.expires_at - Seconds(1);
    for stranger in stage.strangers(world).await {
        assert_eq!(stage.try_pending(stranger, &pending, last).await, None);
    }
    for expected in 1..=3 {
        let tries = stage.try_pending(world, &pending, last).await;
        assert_eq!(tries, Some(expected));
    }
    assert_eq!(stage.try_pending(world, &other, last).await, Some(1));
    let late = stage.try_pending(world, &pending, pending.expires_at).await;
    assert_eq!(late, None);
    let found = stage.known_pending(world, &pending).await;
    assert_eq!(found.as_ref(), Some(&pending));
    assert!(stage.use_pending(world, &pending, last).await);
    assert_eq!(stage.try_pending(world, &pending, last).await, None);
}

/// M-2: of fifty parallel attempts, the fifth of which consumes the token as in the service, five are counted, each with its own number.
pub async fn parallel_tries_of_a_token_are_exact(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let pending = stage.pending(world).await;
    let (token, now) = (pending.token, pending.expires_at - Seconds(1));
    let tries = race((0..50).map(|_| {
        let store = Arc::clone(&stage.store);
        async move {
            in_tx!(store, |tx| {
                let flows = tx.oauth_flows();
                let tries = flows.attempt_pending(&world, &token, now).await?;
                if tries == Some(MAX_TRIES) {
                    flows.consume_pending(&world, &token, now).await?;
                }
                Ok(tries)
            })
        }
    }))
    .await;
    let mut counted: Vec<_> = tries.into_iter().flatten().collect();
    counted.sort_unstable();
    assert_eq!(counted, [1, 2, 3, 4, 5]);
    assert_eq!(stage.known_pending(world, &pending).await, None);
}

/// Of a hundred parallel uses of one token one succeeds (R6).
pub async fn parallel_uses_of_a_token_succeed_once(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    for _ in 0..3 {
        let pending = stage.pending(world).await;
        let now = pending.expires_at - Seconds(1);
        let used = race((0..100).map(|_| {
            let (store, token) = (Arc::clone(&stage.store), pending.token);
            async move {
                in_tx!(store, |tx| tx
                    .oauth_flows()
                    .consume_pending(&world, &token, now)
                    .await)
            }
        }))
        .await;
        assert_eq!(count(&used, &true), 1);
    }
}

/// A sweep deletes what had expired by the given time, in one environment.
pub async fn a_sweep_deletes_expired_sign_ins(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let (world, alike, other) = stage.swept_worlds().await;
    let (first, second) = (stage.flow(world).await, stage.flow(alike).await);
    let pending = stage.pending(world).await;
    let elsewhere = stage.flow(other).await;
    let sweep = |by: Timestamp| {
        let store = Arc::clone(&stage.store);
        async move {
            in_tx!(store, |tx| tx
                .oauth_flows()
                .sweep(&world.environment.into(), by)
                .await)
        }
    };
    assert_eq!(sweep(first.expires_at - Seconds(1)).await, 0);
    assert_eq!(sweep(first.expires_at).await, 1);
    assert_eq!(stage.known_flow(world, &first).await, None);
    assert_eq!(stage.known_flow(alike, &second).await, Some(second));
    assert_eq!(sweep(pending.expires_at).await, 2);
    assert_eq!(stage.known_pending(world, &pending).await, None);
    assert_eq!(stage.known_flow(other, &elsewhere).await, Some(elsewhere));
}

/// Every field of a link is read back unchanged, by its id, by the provider's account and by its user; a new sign-in updates its time.
pub async fn a_link_with_a_provider_comes_back_as_it_was(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    for _ in 0..12 {
        let user = stage.user(world).await;
        let mut link = stage.provider_link(&user, "google").await;
        let at = stage.samples.tick();
        in_tx!(stage.store, |tx| tx
            .provider_links()
            .touch(&world, link.id, at)
            .await);
        link.updated_at = at;
        let second = stage.provider_link(&user, "github").await;
        let (by_id, by_person) = in_view!(stage.store, |view| {
            let links = view.provider_links();
            let by_id = links.find(&world, link.id).await?;
            let by_person = links
                .find_by_subject(&world, &link.provider, &link.issuer, &link.subject)
                .await?;
            Ok((by_id, by_person))
        });
        assert_eq!(by_id.as_ref(), Some(&link));
        assert_eq!(by_person.as_ref(), Some(&link));
        assert_eq!(stage.provider_links_of(world, &user).await, [link, second]);
    }
}

/// O-8: an account is identified by provider, issuer and subject together, never by one alone.
pub async fn a_person_of_a_provider_is_linked_once(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let (user, other) = (stage.user(world).await, stage.user(world).await);
    let link = stage.provider_link(&user, "google").await;
    for owner in [&user, &other] {
        let again = ProviderLink {
            issuer: link.issuer.clone(),
            subject: link.subject.clone(),
            ..stage.samples.provider_link(owner, "google")
        };
        assert_eq!(stage.attach_provider(&again).await, Attached::Taken);
    }
    let other_issuer = ProviderLink {
        subject: link.subject.clone(),
        ..stage.samples.provider_link(&other, "google")
    };
    let other_provider = ProviderLink {
        issuer: link.issuer.clone(),
        subject: link.subject.clone(),
        ..stage.samples.provider_link(&other, "acme")
    };
    let other_case = ProviderLink {
        issuer: link.issuer.clone(),
        subject: link.subject.to_uppercase(),
        ..stage.samples.provider_link(&other, "google")
    };
    let expected = [other_issuer, other_provider, other_case];
    for different in &expected {
        assert_eq!(stage.attach_provider(different).await, Attached::Yes);
    }
    assert_eq!(stage.provider_links_of(world, &user).await, [link]);
    assert_eq!(stage.provider_links_of(world, &other).await, expected);
}

/// A link is removed once, alone or with all links of its user, and is deleted with the user (S-5).
pub async fn links_with_providers_are_removed(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let (user, other) = (stage.user(world).await, stage.user(world).await);
    let kept = stage.provider_link(&other, "google").await;
    let first = stage.provider_link(&user, "google").await;
    for _ in 0..2 {
        stage.provider_link(&user, "github").await;
    }
    for expected in [true, false] {
        let removed = in_tx!(stage.store, |tx| tx
            .provider_links()
            .remove(&world, first.id)
            .await);
        assert_eq!(removed, expected);
    }
    let removed = in_tx!(stage.store, |tx| tx
        .provider_links()
        .remove_all(&world, user.id)
        .await);
    assert_eq!(removed, 2);
    assert_eq!(stage.provider_links_of(world, &user).await, []);
    let last = stage.provider_link(&user, "google").await;
    let deleted = in_tx!(stage.store, |tx| tx.users().delete(&world, user.id).await);
    assert!(deleted.is_some());
    let found = in_view!(stage.store, |view| view
        .provider_links()
        .find(&world, last.id)
        .await);
    assert_eq!(found, None);
    assert_eq!(stage.provider_links_of(world, &other).await, [kept]);
}

/// Nothing in a world can be seen or changed from another (I11).
pub async fn links_with_providers_stay_in_their_world(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let link = stage.provider_link(&user, "google").await;
    for stranger in stage.strangers(world).await {
        let at = stage.samples.tick();
        let (removed, all) = in_tx!(stage.store, |tx| {
            let links = tx.provider_links();
            links.touch(&stranger, link.id, at).await?;
            let removed = links.remove(&stranger, link.id).await?;
            Ok((removed, links.remove_all(&stranger, user.id).await?))
        });
        assert_eq!((removed, all), (false, 0));
        let found = in_view!(stage.store, |view| view
            .provider_links()
            .find_by_subject(&stranger, &link.provider, &link.issuer, &link.subject)
            .await);
        assert_eq!(found, None);
        let owner = stage.user(stranger).await;
        let theirs = ProviderLink {
            issuer: link.issuer.clone(),
            subject: link.subject.clone(),
            ..stage.samples.provider_link(&owner, "google")
        };
        assert_eq!(stage.attach_provider(&theirs).await, Attached::Yes);
    }
    assert_eq!(stage.provider_links_of(world, &user).await, [link]);
}

/// A hundred parallel first sign-ins of one account make one link (R6).
pub async fn parallel_links_of_a_person_are_one(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let link = stage.samples.provider_link(&user, "google");
    let outcomes = race((0..100).map(|number: u64| {
        let store = Arc::clone(&stage.store);
        let id = link.id.following(number);
        let link = ProviderLink {
            id: id.unwrap_or(link.id),
            ..link.clone()
        };
        async move { in_tx!(store, |tx| tx.provider_links().insert(&link).await) }
    }))
    .await;
    assert_eq!(count(&outcomes, &Attached::Yes), 1);
    assert_eq!(stage.provider_links_of(world, &user).await.len(), 1);
}

/// `idp_provider` finds the users that are linked to one of the providers.
pub async fn users_are_found_by_their_providers(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let (both, one) = (stage.user(world).await, stage.user(world).await);
    stage.user(world).await;
    stage.provider_link(&both, "google").await;
    stage.provider_link(&both, "github").await;
    stage.provider_link(&one, "github").await;
    for (names, expected) in [
        (vec!["google"], vec![both.id]),
        (vec!["github"], vec![one.id, both.id]),
        (vec!["google", "github"], vec![one.id, both.id]),
        (vec!["Google", "discord"], vec![]),
    ] {
        let names = names.into_iter().map(str::to_owned).collect();
        let filter = UserFilter {
            combined: Combined::All,
            conditions: vec![Condition::IdpProvider(names)],
        };
        let now = stage.samples.moment();
        let page = in_view!(stage.store, |view| view
            .users()
            .search(&world, Some(&filter), None, 10, now, LONG)
            .await);
        assert_eq!(page.users, expected);
    }
}
