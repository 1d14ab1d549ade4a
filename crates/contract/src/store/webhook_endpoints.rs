//! Webhook endpoints, their health, and the secrets that sign requests to them.

use std::pin::Pin;
use std::sync::Arc;

use vestry_domain::timestamp::Seconds;
use vestry_domain::webhook::{DisabledReason, Endpoint, EndpointUrl, EventTypes, SealedSecret};
use vestry_domain::{Environment, Timestamp, World};
use vestry_ports::store::{Changed, Failures, Store};

use super::stage::{Stage, works};
use crate::race::{count, race};
use crate::samples::other_environment;

const MINUTE: Seconds = Seconds(60);

impl Stage {
    /// A stored endpoint without any delivery.
    pub(super) async fn endpoint(&mut self, world: World) -> Endpoint {
        let endpoint = Endpoint {
            last_success_at: None,
            ..self.samples.endpoint(world)
        };
        assert!(add(&self.store, &endpoint).await);
        endpoint
    }

    /// A stored secret.
    async fn webhook_secret(&mut self, endpoint: &Endpoint) -> SealedSecret {
        let secret = self.samples.webhook_secret(endpoint.world, endpoint.id);
        in_tx!(self.store, |tx| tx
            .webhook_endpoints()
            .insert_secret(&secret)
            .await);
        secret
    }

    async fn known_endpoint(&self, endpoint: &Endpoint) -> Option<Endpoint> {
        known(&self.store, endpoint.world, endpoint).await
    }

    /// The secrets of an endpoint, which are the same when all of its App are read.
    async fn webhook_secrets(&self, endpoint: &Endpoint, now: Timestamp) -> Vec<SealedSecret> {
        let secrets = in_view!(self.store, |view| view
            .webhook_endpoints()
            .secrets(&endpoint.world, endpoint.id, now)
            .await);
        let mut all = in_view!(self.store, |view| view
            .webhook_endpoints()
            .all_secrets(endpoint.world.app_id, now)
            .await);
        all.retain(|one| (one.world, one.endpoint_id) == (endpoint.world, endpoint.id));
        assert_eq!(all, secrets);
        secrets
    }

    async fn enabled_endpoints(&self, world: World) -> Vec<Endpoint> {
        in_tx!(self.store, |tx| tx
            .webhook_endpoints()
            .hold_enabled(&world)
            .await)
    }
}

async fn add(store: &Arc<dyn Store>, endpoint: &Endpoint) -> bool {
    in_tx!(store, |tx| tx.webhook_endpoints().insert(endpoint).await)
}

async fn known(store: &Arc<dyn Store>, world: World, endpoint: &Endpoint) -> Option<Endpoint> {
    in_view!(store, |view| view
        .webhook_endpoints()
        .find(&world, endpoint.id)
        .await)
}

async fn update(store: &Arc<dyn Store>, endpoint: &Endpoint, seen: Timestamp) -> Changed {
    in_tx!(store, |tx| tx
        .webhook_endpoints()
        .update(endpoint, seen)
        .await)
}

async fn disable(
    store: &Arc<dyn Store>,
    endpoint: &Endpoint,
    reason: DisabledReason,
    at: Timestamp,
) -> bool {
    in_tx!(store, |tx| tx
        .webhook_endpoints()
        .disable(&endpoint.world, endpoint.id, reason, at)
        .await)
}

async fn enable(store: &Arc<dyn Store>, endpoint: &Endpoint, at: Timestamp) -> bool {
    in_tx!(store, |tx| tx
        .webhook_endpoints()
        .enable(&endpoint.world, endpoint.id, at)
        .await)
}

async fn remove(store: &Arc<dyn Store>, endpoint: &Endpoint) -> bool {
    in_tx!(store, |tx| tx
        .webhook_endpoints()
        .remove(&endpoint.world, endpoint.id)
        .await)
}

async fn succeed(store: &Arc<dyn Store>, endpoint: &Endpoint, at: Timestamp) {
    in_tx!(store, |tx| tx
        .webhook_endpoints()
        .note_success(&endpoint.world, endpoint.id, at)
        .await);
}

async fn fail(
    store: &Arc<dyn Store>,
    endpoint: &Endpoint,
    (attempts, deliveries): (i64, i64),
    is_failing: bool,
    at: Timestamp,
) -> Option<Failures> {
    let (world, id) = (endpoint.world, endpoint.id);
    in_tx!(store, |tx| tx
        .webhook_endpoints()
        .note_failures(&world, id, attempts, deliveries, is_failing, at)
        .await)
}

async fn notify_owner(store: &Arc<dyn Store>, endpoint: &Endpoint) -> bool {
    in_tx!(store, |tx| tx
        .webhook_endpoints()
        .note_owner_notified(&endpoint.world, endpoint.id)
        .await)
}

async fn expire(
    store: &Arc<dyn Store>,
    endpoint: &Endpoint,
    newest: Timestamp,
    earlier: Timestamp,
) {
    in_tx!(store, |tx| tx
        .webhook_endpoints()
        .expire_secrets(&endpoint.world, endpoint.id, newest, earlier)
        .await);
}

async fn sweep_secrets(store: &Arc<dyn Store>, expired_by: Timestamp) -> u64 {
    in_tx!(store, |tx| tx
        .webhook_endpoints()
        .sweep_secrets(expired_by)
        .await)
}

/// A URL that can exist in every world.
fn url(world: World) -> EndpointUrl {
    match EndpointUrl::parse("https://example.com/events", world.environment) {
        Ok(url) => url,
        Err(refused) => panic!("{refused}"),
    }
}

fn types(names: &[&str]) -> EventTypes {
    match EventTypes::parse(names.iter().copied()) {
        Ok(types) => types,
        Err(refused) => panic!("{names:?}: {refused}"),
    }
}

/// Every field of an endpoint is read back unchanged, optional ones included.
pub async fn an_endpoint_comes_back_as_it_was(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    for environment in Environment::ALL {
        let world = World::new(stage.app().await.id, environment);
        let reasons = [
            DisabledReason::Failing,
            DisabledReason::Gone,
            DisabledReason::Operator,
        ];
        let disabled = reasons.map(Some).into_iter().chain([None; 9]);
        for (number, disabled) in disabled.enumerate() {
            let is_named = number % 2 == 0;
            let endpoint = Endpoint {
                name: is_named.then(|| stage.samples.text()),
                last_success_at: (number % 3 == 0).then(|| stage.samples.moment()),
                disabled,
                ..stage.samples.endpoint(world)
            };
            assert!(add(&stage.store, &endpoint).await);
            let found = stage.known_endpoint(&endpoint).await;
            assert_eq!(found.as_ref(), Some(&endpoint));
        }
        let unknown = stage.samples.endpoint(world);
        assert_eq!(stage.known_endpoint(&unknown).await, None);
    }
}

/// The endpoints of an App are listed by environment, then oldest first, without those of other Apps.
pub async fn endpoints_of_an_app_are_listed(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let [other, foreign, _] = stage.strangers(world).await;
    let mut endpoints = Vec::new();
    for _ in 0..4 {
        for world in [world, other, foreign] {
            endpoints.push(stage.samples.endpoint(world));
        }
    }
    for endpoint in stage.samples.shuffled(&endpoints) {
        assert!(add(&stage.store, endpoint).await);
    }
    let listed = in_view!(stage.store, |view| view
        .webhook_endpoints()
        .list(world.app_id)
        .await);
    endpoints.retain(|endpoint| endpoint.world.app_id == world.app_id);
    endpoints.sort_by_key(|endpoint| (endpoint.world.environment.as_str(), endpoint.id));
    assert_eq!(listed, endpoints);
}

/// Live endpoints that fail are found in every App, the longest failure first, also while they are disabled. Those of test are not.
pub async fn failing_endpoints_are_found_in_every_app(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let mut expected = Vec::new();
    let live = World::new(stage.app().await.id, Environment::Live);
    let foreign = World::new(stage.app().await.id, Environment::Live);
    let test = World::new(live.app_id, Environment::Test);
    for world in [live, foreign, test] {
        for is_failing in [true, false] {
            let mut endpoint = stage.endpoint(world).await;
            let at = stage.samples.tick();
            fail(&stage.store, &endpoint, (3, 1), is_failing, at).await;
            if is_failing && world != test {
                endpoint.failing_since = Some(at);
                expected.push(endpoint);
            }
        }
    }
    let off = stage.samples.tick();
    for endpoint in &mut expected {
        assert!(disable(&stage.store, endpoint, DisabledReason::Failing, off).await);
        endpoint.disabled = Some(DisabledReason::Failing);
        endpoint.updated_at = off;
    }
    let found = in_view!(stage.store, |view| view
        .webhook_endpoints()
        .failing(i64::from(i32::MAX))
        .await);
    let is_own = |endpoint: &&Endpoint| [live, foreign].contains(&endpoint.world);
    let own: Vec<_> = found.iter().filter(is_own).cloned().collect();
    assert_eq!(own, expected);
    assert!(
        found
            .iter()
            .all(|found| found.world.environment == Environment::Live)
    );
    let first = in_view!(stage.store, |view| view
        .webhook_endpoints()
        .failing(1)
        .await);
    assert_eq!(
        first.iter().collect::<Vec<_>>(),
        found.iter().take(1).collect::<Vec<_>>()
    );
    for endpoint in &expected {
        enable(&stage.store, endpoint, off).await;
        succeed(&stage.store, endpoint, off).await;
    }
    let healed = in_view!(stage.store, |view| view
        .webhook_endpoints()
        .failing(i64::from(i32::MAX))
        .await);
    assert!(!healed.iter().any(|endpoint| is_own(&endpoint)));
}

/// URL and types, in any order, identify one endpoint of a world. With other types, or in another world, it is another one.
pub async fn a_url_with_its_types_is_there_once(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let mut first = stage.samples.endpoint(world);
    first.url = url(world);
    first.types = types(&["user.*", "session.ended"]);
    assert!(add(&stage.store, &first).await);
    let mut again = stage.samples.endpoint(world);
    again.url = first.url.clone();
    for (names, is_free) in [
        (&["user.*", "session.ended"][..], false),
        (&["session.ended", "user.*", "user.*"], false),
        (&["user.*"], true),
        (&["*"], true),
    ] {
        let endpoint = Endpoint {
            types: types(names),
            id: stage.samples.id(again.created_at),
            ..again.clone()
        };
        assert_eq!(add(&stage.store, &endpoint).await, is_free, "{names:?}");
        let found = stage.known_endpoint(&endpoint).await;
        assert_eq!(found.is_some(), is_free, "{names:?}");
    }
    let elsewhere = stage.samples.endpoint(world);
    let elsewhere = Endpoint {
        types: first.types.clone(),
        ..elsewhere
    };
    assert!(add(&stage.store, &elsewhere).await);
    for stranger in stage.strangers(world).await {
        let twin = Endpoint {
            world: stranger,
            ..first.clone()
        };
        assert!(add(&stage.store, &twin).await);
        assert_eq!(stage.known_endpoint(&twin).await, Some(twin));
    }
    assert!(remove(&stage.store, &first).await);
    assert!(!remove(&stage.store, &first).await);
    again.types = first.types.clone();
    assert!(add(&stage.store, &again).await);
}

/// Of parallel additions of the same endpoint one succeeds.
pub async fn parallel_additions_of_an_endpoint_go_to_one(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let model = stage.samples.endpoint(world);
    let tasks: Vec<_> = (0..20)
        .map(|_| {
            let (url, types) = (model.url.clone(), model.types.clone());
            let sample = stage.samples.endpoint(world);
            let endpoint = Endpoint {
                url,
                types,
                ..sample
            };
            let store = Arc::clone(&stage.store);
            async move { add(&store, &endpoint).await }
        })
        .collect();
    assert_eq!(count(&race(tasks).await, &true), 1);
    assert_eq!(stage.enabled_endpoints(world).await.len(), 1);
}

/// An update writes URL, name, types and the time; the endpoint's health stays as it is.
pub async fn an_update_writes_only_the_configuration(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let bystander = stage.endpoint(world).await;
    let mut known = stage.endpoint(world).await;
    let at = stage.samples.tick();
    succeed(&stage.store, &known, at).await;
    let failures = fail(&stage.store, &known, (3, 1), true, at).await;
    known.last_success_at = Some(at);
    known.failing_since = Some(at);
    for name in [Some("a name".to_owned()), None, None, Some(String::new())] {
        let fresh = stage.samples.endpoint(world);
        let wanted = Endpoint {
            id: known.id,
            name,
            disabled: Some(DisabledReason::Operator),
            failing_since: Some(fresh.created_at),
            last_success_at: Some(fresh.created_at),
            updated_at: stage.samples.tick(),
            ..fresh
        };
        let seen = known.updated_at;
        assert_eq!(update(&stage.store, &wanted, seen).await, Changed::Yes);
        known = Endpoint {
            url: wanted.url,
            name: wanted.name,
            types: wanted.types,
            updated_at: wanted.updated_at,
            ..known
        };
        assert_eq!(stage.known_endpoint(&known).await.as_ref(), Some(&known));
    }
    let later = fail(&stage.store, &known, (0, 0), true, at + MINUTE).await;
    assert_eq!(later, failures);
    let untouched = stage.known_endpoint(&bystander).await;
    assert_eq!(untouched, Some(bystander));
}

/// An update fails if the endpoint has changed since it was seen, or does not exist.
pub async fn an_update_needs_the_endpoint_as_it_was_seen(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let mut known = stage.endpoint(world).await;
    let mut wanted = stage.samples.endpoint(world);
    wanted.id = known.id;
    let unseen = stage.samples.tick();
    assert_eq!(update(&stage.store, &wanted, unseen).await, Changed::Lost);
    let (off, on) = (stage.samples.tick(), stage.samples.tick());
    let seen = known.updated_at;
    assert!(disable(&stage.store, &known, DisabledReason::Operator, off).await);
    assert_eq!(update(&stage.store, &wanted, seen).await, Changed::Lost);
    assert!(enable(&stage.store, &known, on).await);
    assert_eq!(update(&stage.store, &wanted, off).await, Changed::Lost);
    known.updated_at = on;
    assert_eq!(stage.known_endpoint(&known).await.as_ref(), Some(&known));
    for stranger in stage.strangers(world).await {
        let foreign = Endpoint {
            world: stranger,
            ..wanted.clone()
        };
        assert_eq!(update(&stage.store, &foreign, on).await, Changed::Lost);
    }
    assert_eq!(update(&stage.store, &wanted, on).await, Changed::Yes);
    assert!(remove(&stage.store, &known).await);
    let seen = wanted.updated_at;
    assert_eq!(update(&stage.store, &wanted, seen).await, Changed::Lost);
}

/// An update cannot take URL and types of another endpoint of the world. The endpoint can keep its own, or use those of another world's.
pub async fn an_update_cannot_create_a_duplicate(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let known = stage.endpoint(world).await;
    let mut other = stage.samples.endpoint(world);
    other.url = url(world);
    assert!(add(&stage.store, &other).await);
    let seen = known.updated_at;
    let wanted = Endpoint {
        url: other.url.clone(),
        types: other.types.clone(),
        ..known.clone()
    };
    let unseen = stage.samples.tick();
    for seen in [seen, unseen] {
        assert_eq!(update(&stage.store, &wanted, seen).await, Changed::Taken);
    }
    assert_eq!(stage.known_endpoint(&known).await.as_ref(), Some(&known));
    let renamed = Endpoint {
        name: Some("renamed".to_owned()),
        ..known.clone()
    };
    assert_eq!(update(&stage.store, &renamed, seen).await, Changed::Yes);
    for stranger in stage.strangers(world).await {
        let theirs = stage.endpoint(stranger).await;
        let wanted = Endpoint {
            url: other.url.clone(),
            types: other.types.clone(),
            ..theirs
        };
        let seen = wanted.updated_at;
        assert_eq!(update(&stage.store, &wanted, seen).await, Changed::Yes);
    }
    assert!(remove(&stage.store, &other).await);
    assert_eq!(update(&stage.store, &wanted, seen).await, Changed::Yes);
}

/// Of parallel changes to one endpoint that all saw the same state one succeeds.
pub async fn parallel_updates_of_an_endpoint_succeed_once(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let known = stage.endpoint(world).await;
    let seen = known.updated_at;
    let at = stage.samples.tick();
    let tasks: Vec<_> = (1..=20)
        .map(|number| {
            let wanted = Endpoint {
                id: known.id,
                updated_at: at + Seconds(number),
                ..stage.samples.endpoint(world)
            };
            let store = Arc::clone(&stage.store);
            async move { update(&store, &wanted, seen).await }
        })
        .collect();
    let outcomes = race(tasks).await;
    assert_eq!(count(&outcomes, &Changed::Yes), 1, "{outcomes:?}");
    assert_eq!(count(&outcomes, &Changed::Lost), 19, "{outcomes:?}");
}

/// Of parallel updates and additions of endpoints with the same URL and types one succeeds.
pub async fn parallel_endpoints_of_a_url_are_one(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    for _ in 0..5 {
        let model = stage.samples.endpoint(world);
        let mut tasks: Vec<Pin<Box<dyn Future<Output = bool> + Send>>> = Vec::new();
        for _ in 0..10 {
            let known = stage.endpoint(world).await;
            let wanted = Endpoint {
                url: model.url.clone(),
                types: model.types.clone(),
                ..known
            };
            let new = Endpoint {
                id: stage.samples.id(wanted.created_at),
                ..wanted.clone()
            };
            let store = Arc::clone(&stage.store);
            tasks.push(Box::pin(async move {
                match update(&store, &wanted, wanted.updated_at).await {
                    Changed::Yes => true,
                    Changed::Taken => false,
                    Changed::Lost => panic!("the endpoint has not been changed"),
                }
            }));
            let store = Arc::clone(&stage.store);
            tasks.push(Box::pin(async move { add(&store, &new).await }));
        }
        assert_eq!(count(&race(tasks).await, &true), 1);
    }
}

/// An endpoint is disabled once, keeping the first reason, and enabled once; then it counts as never having failed.
pub async fn an_endpoint_is_disabled_and_enabled_once(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let mut known = stage.endpoint(world).await;
    let bystander = stage.endpoint(world).await;
    let at = stage.samples.tick();
    assert!(!enable(&stage.store, &known, at).await);
    for reason in [
        DisabledReason::Failing,
        DisabledReason::Gone,
        DisabledReason::Operator,
    ] {
        fail(&stage.store, &known, (5, 2), true, at).await;
        assert!(notify_owner(&stage.store, &known).await);
        let off = stage.samples.tick();
        assert!(disable(&stage.store, &known, reason, off).await);
        let later = stage.samples.tick();
        assert!(!disable(&stage.store, &known, DisabledReason::Operator, later).await);
        known.disabled = Some(reason);
        (known.failing_since, known.updated_at) = (Some(at), off);
        assert_eq!(stage.known_endpoint(&known).await.as_ref(), Some(&known));
        let on = stage.samples.tick();
        assert!(enable(&stage.store, &known, on).await);
        assert!(!enable(&stage.store, &known, on + MINUTE).await);
        (known.disabled, known.failing_since) = (None, None);
        known.updated_at = on;
        assert_eq!(stage.known_endpoint(&known).await.as_ref(), Some(&known));
        let failures = fail(&stage.store, &known, (1, 1), false, on).await;
        let expected = Failures {
            attempts: 1,
            deliveries: 1,
            since: on,
            failing_since: None,
        };
        assert_eq!(failures, Some(expected));
        succeed(&stage.store, &known, on).await;
        known.last_success_at = Some(on);
    }
    let untouched = stage.known_endpoint(&bystander).await;
    assert_eq!(untouched.as_ref(), Some(&bystander));
    let unknown = stage.samples.endpoint(world);
    assert!(!disable(&stage.store, &unknown, DisabledReason::Gone, at).await);
    assert!(!enable(&stage.store, &unknown, at).await);
}

/// Of parallel calls that disable an endpoint one succeeds, and then of those that enable it.
pub async fn parallel_switches_of_an_endpoint_succeed_once(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let known = stage.endpoint(world).await;
    let at = stage.samples.tick();
    let disablers = (0..20).map(|_| {
        let (store, known) = (Arc::clone(&stage.store), known.clone());
        async move { disable(&store, &known, DisabledReason::Gone, at).await }
    });
    assert_eq!(count(&race(disablers).await, &true), 1);
    let enablers = (0..20).map(|_| {
        let (store, known) = (Arc::clone(&stage.store), known.clone());
        async move { enable(&store, &known, at).await }
    });
    assert_eq!(count(&race(enablers).await, &true), 1);
}

/// The enabled endpoints of a world are found when events are sequenced.
pub async fn enabled_endpoints_are_found(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let mut enabled = Vec::new();
    for number in 0..6 {
        let endpoint = stage.endpoint(world).await;
        stage.endpoint(other_environment(world)).await;
        if number % 2 == 0 {
            let (reason, at) = (DisabledReason::Operator, stage.samples.tick());
            assert!(disable(&stage.store, &endpoint, reason, at).await);
        } else {
            enabled.push(endpoint);
        }
    }
    assert_eq!(stage.enabled_endpoints(world).await, enabled);
}

/// Locking endpoints one by one, in the order of their ids, does not deadlock with a sequencer that holds all of them.
pub async fn endpoints_are_locked_in_one_order(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let mut endpoints: Vec<_> = (0..6)
        .map(|_| Endpoint {
            last_success_at: None,
            ..stage.samples.endpoint(world)
        })
        .collect();
    endpoints.sort_by_key(|endpoint| endpoint.id);
    for endpoint in endpoints.iter().rev() {
        assert!(add(&stage.store, endpoint).await);
    }
    let ids: Vec<_> = endpoints.iter().map(|endpoint| endpoint.id).collect();
    for _ in 0..20 {
        let tasks = (0..6).map(|number| {
            let (store, ids) = (Arc::clone(&stage.store), ids.clone());
            async move {
                let mut tx = works(store.begin().await);
                if number % 2 == 0 {
                    for id in &ids {
                        assert!(works(tx.webhook_endpoints().lock(&world, *id).await));
                    }
                } else {
                    let held = works(tx.webhook_endpoints().hold_enabled(&world).await);
                    let held: Vec<_> = held.iter().map(|endpoint| endpoint.id).collect();
                    assert_eq!(held, ids);
                }
                works(tx.commit().await);
            }
        });
        race(tasks).await;
    }
}

/// WH-12: no delivery or replay created during the removal of its endpoint is left pending.
pub async fn wh_12_nothing_waits_for_an_endpoint_that_is_removed(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    for _ in 0..10 {
        let endpoint = stage.endpoint(world).await;
        let mut tasks: Vec<Pin<Box<dyn Future<Output = ()> + Send>>> = Vec::new();
        for position in 1..=6 {
            let delivery = stage.samples.delivery(&endpoint, position);
            let (store, endpoint) = (Arc::clone(&stage.store), endpoint.clone());
            tasks.push(Box::pin(async move {
                in_tx!(store, |tx| {
                    let endpoints = tx.webhook_endpoints();
                    let is_there = if delivery.is_replay {
                        endpoints.lock(&world, endpoint.id).await?
                    } else {
                        let enabled = endpoints.hold_enabled(&world).await?;
                        enabled.iter().any(|enabled| enabled.id == endpoint.id)
                    };
                    if is_there {
                        let delivery = std::slice::from_ref(&delivery);
                        tx.deliveries().insert(delivery).await?;
                    }
                    Ok(())
                });
            }));
        }
        let (store, at) = (Arc::clone(&stage.store), stage.samples.tick());
        let id = endpoint.id;
        tasks.push(Box::pin(async move {
            in_tx!(store, |tx| {
                assert!(tx.webhook_endpoints().remove(&world, id).await?);
                tx.deliveries().drop_waiting(&world, id, at).await
            });
        }));
        race(tasks).await;
        let waiting = in_view!(stage.store, |view| view
            .deliveries()
            .first_waiting(&world)
            .await);
        assert_eq!(waiting, None);
    }
}

/// An endpoint can be locked only in its own world.
pub async fn an_endpoint_is_locked_in_its_world(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let endpoint = stage.endpoint(world).await;
    let strangers = stage.strangers(world).await;
    let lock = async |world: World| {
        in_tx!(stage.store, |tx| tx
            .webhook_endpoints()
            .lock(&world, endpoint.id)
            .await)
    };
    assert!(lock(world).await);
    for stranger in strangers {
        assert!(!lock(stranger).await);
    }
    assert!(remove(&stage.store, &endpoint).await);
    assert!(!lock(world).await);
}

/// A removed endpoint takes only its own secrets with it.
pub async fn a_removed_endpoint_takes_its_secrets_along(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let (endpoint, bystander) = (stage.endpoint(world).await, stage.endpoint(world).await);
    for _ in 0..3 {
        stage.webhook_secret(&endpoint).await;
    }
    let kept = stage.webhook_secret(&bystander).await;
    let now = stage.samples.tick();
    assert!(remove(&stage.store, &endpoint).await);
    assert_eq!(stage.known_endpoint(&endpoint).await, None);
    assert_eq!(stage.webhook_secrets(&endpoint, now).await, []);
    assert_eq!(stage.webhook_secrets(&bystander, now).await, [kept]);
}

/// A success is recorded once a minute, or at once after a failure, which it clears.
pub async fn successes_are_noted_once_a_minute(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let (endpoint, bystander) = (stage.endpoint(world).await, stage.endpoint(world).await);
    let at = stage.samples.tick();
    let last = async || stage.known_endpoint(&endpoint).await?.last_success_at;
    for (later, noted) in [(0, 0), (1, 0), (59, 0), (60, 60), (119, 60), (500, 500)] {
        succeed(&stage.store, &endpoint, at + Seconds(later)).await;
        let noted = Some(at + Seconds(noted));
        assert_eq!(last().await, noted, "after {later} seconds");
    }
    for (later, is_failing) in [(501, false), (502, true)] {
        let failed = at + Seconds(later);
        fail(&stage.store, &endpoint, (1, 1), is_failing, failed).await;
        let failing_since = stage.known_endpoint(&endpoint).await;
        let failing_since = failing_since.and_then(|endpoint| endpoint.failing_since);
        assert_eq!(failing_since, is_failing.then_some(failed));
        succeed(&stage.store, &endpoint, failed).await;
        let sound = Endpoint {
            last_success_at: Some(failed),
            ..endpoint.clone()
        };
        assert_eq!(stage.known_endpoint(&endpoint).await, Some(sound));
        succeed(&stage.store, &endpoint, failed + Seconds(1)).await;
        assert_eq!(last().await, Some(failed));
    }
    let first = fail(&stage.store, &endpoint, (1, 0), false, at).await;
    let expected = Failures {
        attempts: 1,
        deliveries: 0,
        since: at,
        failing_since: None,
    };
    assert_eq!(first, Some(expected));
    let untouched = stage.known_endpoint(&bystander).await;
    assert_eq!(untouched, Some(bystander));
    // An endpoint that does not exist.
    let unknown = stage.samples.endpoint(world);
    succeed(&stage.store, &unknown, at).await;
}

/// Failures are added up from the first one. The time since then, and the time since the endpoint counts as failing, are set once.
pub async fn failures_are_counted_since_the_first(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let (endpoint, bystander) = (stage.endpoint(world).await, stage.endpoint(world).await);
    let at = stage.samples.tick();
    let (mut attempts, mut deliveries) = (0, 0);
    for (later, counts, is_failing, failing_since) in [
        (0, (1, 1), false, None),
        (10, (7, 3), false, None),
        (20, (0, 0), false, None),
        (30, (1, 0), true, Some(30)),
        (40, (1, 0), true, Some(30)),
        (50, (100, 9), false, Some(30)),
    ] {
        attempts += counts.0;
        deliveries += counts.1;
        let moment = at + Seconds(later);
        let failures = fail(&stage.store, &endpoint, counts, is_failing, moment).await;
        let failing_since = failing_since.map(|since| at + Seconds(since));
        let expected = Failures {
            attempts,
            deliveries,
            since: at,
            failing_since,
        };
        assert_eq!(failures, Some(expected), "after {later} seconds");
        let known = Endpoint {
            failing_since,
            ..endpoint.clone()
        };
        assert_eq!(stage.known_endpoint(&endpoint).await, Some(known));
    }
    let untouched = stage.known_endpoint(&bystander).await;
    assert_eq!(untouched, Some(bystander));
    let unknown = stage.samples.endpoint(world);
    let failures = fail(&stage.store, &unknown, (1, 1), true, at).await;
    assert_eq!(failures, None);
}

/// Parallel failures are all counted.
pub async fn parallel_failures_are_exact(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let endpoint = stage.endpoint(world).await;
    let at = stage.samples.tick();
    let tasks = (0..20).map(|_| {
        let (store, endpoint) = (Arc::clone(&stage.store), endpoint.clone());
        async move {
            for _ in 0..5 {
                fail(&store, &endpoint, (2, 1), true, at).await;
            }
        }
    });
    race(tasks).await;
    let expected = Failures {
        attempts: 200,
        deliveries: 100,
        since: at,
        failing_since: Some(at),
    };
    let failures = fail(&stage.store, &endpoint, (0, 0), false, at + MINUTE).await;
    assert_eq!(failures, Some(expected));
}

/// WH-11: the owner of an endpoint is notified of its failing once, and again only after it has recovered in between.
pub async fn wh_11_an_owner_is_notified_once(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let endpoint = stage.endpoint(world).await;
    let bystander = stage.endpoint(world).await;
    let at = stage.samples.tick();
    assert!(
        !notify_owner(&stage.store, &endpoint).await,
        "it is not failing"
    );
    fail(&stage.store, &endpoint, (1, 1), false, at).await;
    assert!(
        !notify_owner(&stage.store, &endpoint).await,
        "it has barely failed"
    );
    for round in 0..3 {
        fail(&stage.store, &endpoint, (1, 1), true, at).await;
        assert!(
            notify_owner(&stage.store, &endpoint).await,
            "in round {round}"
        );
        fail(&stage.store, &endpoint, (1, 1), true, at + MINUTE).await;
        assert!(
            !notify_owner(&stage.store, &endpoint).await,
            "in round {round}"
        );
        if round == 1 {
            disable(&stage.store, &endpoint, DisabledReason::Failing, at).await;
            assert!(
                !notify_owner(&stage.store, &endpoint).await,
                "it is disabled"
            );
            enable(&stage.store, &endpoint, at).await;
        } else {
            succeed(&stage.store, &endpoint, at).await;
        }
        assert!(
            !notify_owner(&stage.store, &endpoint).await,
            "it is healthy"
        );
    }
    fail(&stage.store, &bystander, (1, 1), true, at).await;
    let tellers = (0..20).map(|_| {
        let (store, bystander) = (Arc::clone(&stage.store), bystander.clone());
        async move { notify_owner(&store, &bystander).await }
    });
    assert_eq!(count(&race(tellers).await, &true), 1);
}

/// Every field of a secret is read back unchanged.
///
/// Secrets are listed for one endpoint, those without an expiry first, then newest first, also within one second.
pub async fn secrets_come_back_newest_first(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let endpoint = stage.endpoint(world).await;
    let bystander = stage.endpoint(world).await;
    stage.webhook_secret(&bystander).await;
    let mut secrets = Vec::new();
    for number in 0..6 {
        if number == 3 {
            stage.samples.stop_clock();
        }
        let secret = stage.samples.webhook_secret(world, endpoint.id);
        let expires_at = (number % 2 == 0).then_some(secret.created_at + MINUTE);
        secrets.push(SealedSecret {
            expires_at,
            ..secret
        });
    }
    for secret in stage.samples.shuffled(&secrets) {
        in_tx!(stage.store, |tx| tx
            .webhook_endpoints()
            .insert_secret(secret)
            .await);
    }
    secrets.sort_by_key(|secret| (secret.expires_at.is_none(), secret.created_at, secret.id));
    secrets.reverse();
    let now = stage.samples.now();
    assert_eq!(stage.webhook_secrets(&endpoint, now).await, secrets);
    let late = now + Seconds(1_000);
    secrets.retain(|secret| secret.expires_at.is_none());
    assert_eq!(stage.webhook_secrets(&endpoint, late).await, secrets);
}

/// A secret is valid until the second in which it expires.
pub async fn wh_3_an_expired_secret_is_not_found(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let endpoint = stage.endpoint(world).await;
    let now = stage.samples.tick();
    let secret = SealedSecret {
        expires_at: Some(now),
        ..stage.samples.webhook_secret(world, endpoint.id)
    };
    in_tx!(stage.store, |tx| tx
        .webhook_endpoints()
        .insert_secret(&secret)
        .await);
    let before = now - Seconds(1);
    assert_eq!(stage.webhook_secrets(&endpoint, before).await, [secret]);
    assert_eq!(stage.webhook_secrets(&endpoint, now).await, []);
}

/// WH-3: a rotation sets the expiry of the newest secret and ends earlier ones at once, never later than they would have ended.
pub async fn wh_3_a_rotation_leaves_the_secret_before_it(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let endpoint = stage.endpoint(world).await;
    let bystander = stage.endpoint(world).await;
    let untouched = stage.webhook_secret(&bystander).await;
    let first = stage.webhook_secret(&endpoint).await;
    let now = stage.samples.now();
    let (soon, late) = (now + Seconds(100), now + Seconds(1_000));

    expire(&stage.store, &endpoint, late, now).await;
    let second = stage.webhook_secret(&endpoint).await;
    let ending = |secret: &SealedSecret, end: Timestamp| SealedSecret {
        expires_at: Some(end),
        ..secret.clone()
    };
    let expected = [second.clone(), ending(&first, late)];
    let now = stage.samples.now();
    assert_eq!(stage.webhook_secrets(&endpoint, now).await, expected);

    // An expiry that is already set is not extended.
    expire(&stage.store, &endpoint, soon, late + MINUTE).await;
    let third = stage.webhook_secret(&endpoint).await;
    let expected = [third.clone(), ending(&second, soon), ending(&first, late)];
    let now = stage.samples.now();
    assert_eq!(stage.webhook_secrets(&endpoint, now).await, expected);

    // The first would have lasted longer, the second would not.
    let between = soon + MINUTE;
    expire(&stage.store, &endpoint, late, between).await;
    let expected = [
        ending(&third, late),
        ending(&second, soon),
        ending(&first, between),
    ];
    assert_eq!(stage.webhook_secrets(&endpoint, now).await, expected);

    expire(&stage.store, &endpoint, late, now).await;
    assert_eq!(stage.webhook_secrets(&endpoint, now).await, []);
    assert_eq!(stage.webhook_secrets(&bystander, now).await, [untouched]);
}

/// WH-3: parallel rotations are serialized: one secret without an expiry is left.
pub async fn wh_3_parallel_rotations_leave_one_newest_secret(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let endpoint = stage.endpoint(world).await;
    stage.webhook_secret(&endpoint).await;
    let now = stage.samples.now();
    let tasks: Vec<_> = (0..10)
        .map(|_| {
            let secret = stage.samples.webhook_secret(world, endpoint.id);
            let (store, id) = (Arc::clone(&stage.store), endpoint.id);
            async move {
                in_tx!(store, |tx| {
                    let endpoints = tx.webhook_endpoints();
                    assert!(endpoints.lock(&world, id).await?);
                    let until = now + Seconds(1_000);
                    endpoints.expire_secrets(&world, id, until, now).await?;
                    endpoints.insert_secret(&secret).await
                });
            }
        })
        .collect();
    race(tasks).await;
    let secrets = stage.webhook_secrets(&endpoint, now).await;
    let ends: Vec<_> = secrets.iter().map(|secret| secret.expires_at).collect();
    assert_eq!(ends.len(), 2, "{ends:?}");
    assert_eq!(count(&ends, &None), 1, "{ends:?}");
}

/// A sweep deletes only expired secrets, in all worlds.
pub async fn a_sweep_deletes_expired_secrets(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let now = stage.samples.tick();
    let mut worlds = vec![world];
    worlds.extend(stage.strangers(world).await);
    let mut endpoints = Vec::new();
    for world in &worlds {
        let endpoint = stage.endpoint(*world).await;
        for later in [Some(-1), Some(0), Some(1), None] {
            let secret = SealedSecret {
                expires_at: later.map(|later| now + Seconds(later)),
                ..stage.samples.webhook_secret(*world, endpoint.id)
            };
            in_tx!(stage.store, |tx| tx
                .webhook_endpoints()
                .insert_secret(&secret)
                .await);
        }
        endpoints.push(endpoint);
    }
    let early = now - Seconds(10);
    assert_eq!(sweep_secrets(&stage.store, early).await, 0);
    assert_eq!(sweep_secrets(&stage.store, now).await, 8);
    assert_eq!(sweep_secrets(&stage.store, now).await, 0);
    for endpoint in endpoints {
        let left = stage.webhook_secrets(&endpoint, early).await;
        let ends: Vec<_> = left.iter().map(|secret| secret.expires_at).collect();
        assert_eq!(ends, [None, Some(now + Seconds(1))]);
        assert!(stage.known_endpoint(&endpoint).await.is_some());
    }
}

/// An endpoint and its secrets cannot be seen or changed from another world; the same id may exist in several.
pub async fn endpoints_stay_in_their_world(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let mut endpoint = stage.samples.endpoint(world);
    (endpoint.url, endpoint.last_success_at) = (url(world), None);
    assert!(add(&stage.store, &endpoint).await);
    let secret = stage.webhook_secret(&endpoint).await;
    let at = stage.samples.tick();
    let strangers = stage.strangers(world).await;
    let foreign = strangers.map(|world| Endpoint {
        world,
        ..endpoint.clone()
    });
    for foreign in &foreign {
        let store = &stage.store;
        assert_eq!(stage.known_endpoint(foreign).await, None);
        assert_eq!(stage.webhook_secrets(foreign, at).await, []);
        assert!(!disable(store, foreign, DisabledReason::Gone, at).await);
        assert!(!enable(store, foreign, at).await);
        assert!(!remove(store, foreign).await);
        succeed(store, foreign, at).await;
        assert_eq!(fail(store, foreign, (1, 1), true, at).await, None);
        expire(store, foreign, at, at).await;
    }
    let unchanged = stage.known_endpoint(&endpoint).await;
    assert_eq!(unchanged.as_ref(), Some(&endpoint));
    fail(&stage.store, &endpoint, (1, 1), true, at).await;
    for foreign in &foreign {
        assert!(!notify_owner(&stage.store, foreign).await);
    }
    for twin in foreign {
        assert!(add(&stage.store, &twin).await);
        let found = stage.known_endpoint(&twin).await;
        assert_eq!(found.as_ref(), Some(&twin));
        assert!(remove(&stage.store, &twin).await);
    }
    let failing = Endpoint {
        failing_since: Some(at),
        ..endpoint.clone()
    };
    assert_eq!(stage.known_endpoint(&endpoint).await, Some(failing));
    assert_eq!(stage.webhook_secrets(&endpoint, at).await, [secret]);
}
