//! Behaviour of the fakes beyond the suites.

use vestry_contract::fakes::{FakeClock, FakeLimiter, FakeMailer, FakeStore, SeededEntropy};
use vestry_contract::samples::{Samples, other_environment};
use vestry_domain::ids::JobId;
use vestry_domain::limits::Limit;
use vestry_domain::message::Message;
use vestry_domain::timestamp::Seconds;
use vestry_domain::{Environment, Timestamp, World};
use vestry_ports::clock::Clock;
use vestry_ports::entropy::Entropy;
use vestry_ports::limiter::RateLimiter;
use vestry_ports::mailer::{Mailer, SendError};
use vestry_ports::store::{Store, StoreError};

fn world(samples: &mut Samples) -> World {
    World::new(samples.app().id, Environment::Test)
}

#[test]
fn a_clock_moves_when_it_is_moved_and_a_world_may_have_its_own() {
    let mut samples = Samples::fresh();
    let world = world(&mut samples);
    let other = other_environment(world);
    let start = Timestamp::from_unix(1_000);
    let clock = FakeClock::at(start);
    clock.set_world(world, Timestamp::from_unix(5_000));
    clock.advance(Seconds(7));
    assert_eq!(clock.machine(), start + Seconds(7));
    assert_eq!(clock.now(&other), start + Seconds(7));
    assert_eq!(clock.now(&world), Timestamp::from_unix(5_007));
    clock.set(Timestamp::from_unix(9_000));
    assert_eq!(clock.now(&other), Timestamp::from_unix(9_000));
    assert_eq!(clock.now(&world), Timestamp::from_unix(5_007));
}

#[test]
fn seeded_entropy_repeats_itself_for_a_seed_and_never_within_one() {
    let draw = |entropy: &SeededEntropy| {
        let mut bytes = [0; 29];
        entropy.fill(&mut bytes);
        bytes
    };
    let (one, again, other) = (
        SeededEntropy::from_seed(1),
        SeededEntropy::from_seed(1),
        SeededEntropy::from_seed(2),
    );
    let first = draw(&one);
    assert_eq!(first, draw(&again));
    assert_ne!(first, draw(&one));
    assert_ne!(first, draw(&other));
}

fn mail(samples: &mut Samples) -> (JobId, Message) {
    let world = world(samples);
    let message = samples.captured(world, "ada@example.com").message;
    (samples.id(samples.now()), message)
}

#[tokio::test]
async fn a_mailer_keeps_what_it_took() {
    let mut samples = Samples::fresh();
    let mailer = FakeMailer::default();
    let mails = [mail(&mut samples), mail(&mut samples)];
    for (id, message) in &mails {
        mailer.send(*id, message).await.unwrap();
    }
    assert_eq!(mailer.sent(), mails);
}

#[tokio::test]
async fn a_mailer_fails_the_requested_number_of_times() {
    let mut samples = Samples::fresh();
    let mailer = FakeMailer::default();
    let (id, message) = mail(&mut samples);
    mailer.fail_for_now(2);
    for _ in 0..2 {
        assert!(mailer.probe().await.is_err());
        let sent = mailer.send(id, &message).await;
        assert!(matches!(sent, Err(SendError::Transient(_))));
    }
    assert!(mailer.probe().await.is_ok());
    assert!(mailer.send(id, &message).await.is_ok());
    assert_eq!((mailer.sent().len(), mailer.tries()), (1, 3));
}

#[tokio::test]
async fn a_mailer_refuses_until_told_to_accept() {
    let mut samples = Samples::fresh();
    let mailer = FakeMailer::default();
    let (id, message) = mail(&mut samples);
    mailer.refuse();
    for _ in 0..2 {
        let sent = mailer.send(id, &message).await;
        assert!(matches!(sent, Err(SendError::Permanent(_))));
    }
    mailer.take();
    assert!(mailer.send(id, &message).await.is_ok());
    assert_eq!((mailer.sent().len(), mailer.tries()), (1, 3));
}

#[tokio::test]
async fn a_limiter_can_be_unreachable() {
    let mut samples = Samples::fresh();
    let (world, now) = (world(&mut samples), samples.tick());
    let limiter = FakeLimiter::default();
    for unavailable in [true, false] {
        limiter.set_unavailable(unavailable);
        let verdict = limiter.hit(&world, Limit::per_minute(1), now).await;
        assert_eq!(verdict.is_err(), unavailable);
    }
}

#[tokio::test]
async fn a_store_can_be_unreachable() {
    let store = FakeStore::default();
    store.set_unavailable(true);
    assert!(matches!(
        store.begin().await,
        Err(StoreError::Unavailable(_))
    ));
    assert!(matches!(
        store.read().await,
        Err(StoreError::Unavailable(_))
    ));
    assert!(matches!(
        store.ready().await,
        Err(StoreError::Unavailable(_))
    ));
    store.set_unavailable(false);
    assert!(store.ready().await.is_ok());
}

/// R14: a use case must start over.
#[tokio::test]
async fn a_store_can_lose_commits() {
    let mut samples = Samples::fresh();
    let store = FakeStore::default();
    let app = samples.app();
    store.lose_commits(1);
    for lost in [true, false] {
        let mut tx = store.begin().await.unwrap();
        tx.apps().insert(&app).await.unwrap();
        let outcome = tx.commit().await;
        assert_eq!(matches!(outcome, Err(StoreError::Retry)), lost);
        let found = store
            .read()
            .await
            .unwrap()
            .apps()
            .find(app.id)
            .await
            .unwrap();
        assert_eq!(found.is_none(), lost);
    }
}

#[tokio::test]
async fn a_transaction_is_dead_after_an_error() {
    let mut samples = Samples::fresh();
    let store = FakeStore::default();
    let (app, other) = (samples.app(), samples.app());
    let mut tx = store.begin().await.unwrap();
    tx.apps().insert(&app).await.unwrap();
    assert!(tx.apps().insert(&app).await.is_err());
    assert!(tx.apps().insert(&other).await.is_err());
    assert!(tx.apps().find(app.id).await.is_err());
    assert!(tx.commit().await.is_err());
    let apps = store.read().await.unwrap().apps().list().await.unwrap();
    assert_eq!(apps, []);
}

#[tokio::test]
async fn nothing_can_be_stored_for_an_unknown_user() {
    let mut samples = Samples::fresh();
    let store = FakeStore::default();
    let world = world(&mut samples);
    let user = samples.user(world);
    let (session, token) = (samples.session(&user), samples.token());
    let mut tx = store.begin().await.unwrap();
    assert!(tx.sessions().insert(&session, &token).await.is_err());
}
