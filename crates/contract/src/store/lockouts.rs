//! Consecutive failures of an identifier.

use std::sync::Arc;

use vestry_domain::timestamp::Seconds;
use vestry_domain::{Timestamp, World};
use vestry_ports::store::Store;

use super::stage::Stage;
use crate::race::race;

impl Stage {
    async fn fail(&mut self, world: World, subject: &str) -> i64 {
        let at = self.samples.tick();
        in_tx!(self.store, |tx| tx
            .lockouts()
            .fail(&world, subject, at)
            .await)
    }

    async fn blocked_until(&self, world: World, subject: &str) -> Option<Timestamp> {
        in_view!(self.store, |view| view
            .lockouts()
            .blocked_until(&world, subject)
            .await)
    }
}

/// Failures are counted one by one, and an identifier is not locked out until a lockout is set (OTP-5).
pub async fn failures_are_counted(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let subject = stage.email(&user).await.id.to_string();
    assert_eq!(stage.blocked_until(world, &subject).await, None);
    for expected in 1..=25 {
        assert_eq!(stage.fail(world, &subject).await, expected);
    }
    assert_eq!(stage.blocked_until(world, &subject).await, None);
}

/// A lockout is stored, the latest end counts, and failures during it are still counted (OTP-5).
pub async fn a_wait_is_remembered(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let subject = stage.email(&user).await.id.to_string();
    assert_eq!(stage.fail(world, &subject).await, 1);
    let now = stage.samples.tick();
    for until in [now + Seconds(60), now + Seconds(120)] {
        in_tx!(stage.store, |tx| tx
            .lockouts()
            .block(&world, &subject, until)
            .await);
        assert_eq!(stage.blocked_until(world, &subject).await, Some(until));
    }
    assert_eq!(stage.fail(world, &subject).await, 2);
    assert_eq!(
        stage.blocked_until(world, &subject).await,
        Some(now + Seconds(120))
    );
}

/// An identifier that never failed can be locked out.
pub async fn a_wait_needs_no_failure(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let subject = stage.email(&user).await.id.to_string();
    let until = stage.samples.tick();
    in_tx!(stage.store, |tx| tx
        .lockouts()
        .block(&world, &subject, until)
        .await);
    assert_eq!(stage.blocked_until(world, &subject).await, Some(until));
    assert_eq!(stage.fail(world, &subject).await, 1);
}

/// A success clears the failures and the lockout of this identifier only.
pub async fn a_reset_forgets_one_identifier(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let subject = stage.email(&user).await.id.to_string();
    let other = stage.email(&user).await.id.to_string();
    let until = stage.samples.tick();
    for subject in [&subject, &other] {
        stage.fail(world, subject).await;
        in_tx!(stage.store, |tx| tx
            .lockouts()
            .block(&world, subject, until)
            .await);
    }
    for _ in 0..2 {
        in_tx!(stage.store, |tx| tx
            .lockouts()
            .reset(&world, &subject)
            .await);
    }
    assert_eq!(stage.blocked_until(world, &subject).await, None);
    assert_eq!(stage.fail(world, &subject).await, 1);
    assert_eq!(stage.blocked_until(world, &other).await, Some(until));
    assert_eq!(stage.fail(world, &other).await, 2);
}

/// The same identifier has separate failures and lockouts in another world (I11).
pub async fn guards_stay_in_their_world(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let subject = stage.email(&user).await.id.to_string();
    let until = stage.samples.tick();
    stage.fail(world, &subject).await;
    in_tx!(stage.store, |tx| tx
        .lockouts()
        .block(&world, &subject, until)
        .await);
    for stranger in stage.strangers(world).await {
        assert_eq!(stage.blocked_until(stranger, &subject).await, None);
        assert_eq!(stage.fail(stranger, &subject).await, 1);
        in_tx!(stage.store, |tx| tx
            .lockouts()
            .block(&stranger, &subject, until + Seconds(9))
            .await);
        in_tx!(stage.store, |tx| tx
            .lockouts()
            .reset(&stranger, &subject)
            .await);
    }
    assert_eq!(stage.blocked_until(world, &subject).await, Some(until));
    assert_eq!(stage.fail(world, &subject).await, 2);
}

/// Thirty parallel failures count as thirty, each with its own number (OTP-5).
pub async fn parallel_failures_are_exact(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let subject = stage.email(&user).await.id.to_string();
    let at = stage.samples.tick();
    let mut counted = race((0..30).map(|_| {
        let (store, subject) = (Arc::clone(&stage.store), subject.clone());
        async move { in_tx!(store, |tx| tx.lockouts().fail(&world, &subject, at).await) }
    }))
    .await;
    counted.sort_unstable();
    assert_eq!(counted, (1..=30).collect::<Vec<_>>());
}

/// A sweep deletes identifiers of all worlds of an environment that had neither a failure nor a lockout since the given time, and returns
/// how many.
pub async fn a_sweep_deletes_what_is_long_over(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let (world, other, elsewhere) = stage.swept_worlds().await;
    let moment = stage.samples.tick() + Seconds(1_000);
    // Name, world, and how long before the given time the last failure was and the lockout ends.
    let rows = [
        ("old", world, Some(1), None),
        ("old", other, Some(1), None),
        ("waited", world, Some(100), Some(1)),
        ("made to wait", world, None, Some(1)),
        ("young", world, Some(0), None),
        ("young", other, Some(-1), Some(100)),
        ("waits", world, Some(100), Some(0)),
        ("is made to wait", world, None, Some(-1)),
        ("old", elsewhere, Some(1), None),
    ];
    for (subject, world, failed, waits) in rows {
        if let Some(ago) = failed {
            let at = moment - Seconds(ago);
            in_tx!(stage.store, |tx| tx
                .lockouts()
                .fail(&world, subject, at)
                .await);
        }
        if let Some(ago) = waits {
            let until = moment - Seconds(ago);
            in_tx!(stage.store, |tx| tx
                .lockouts()
                .block(&world, subject, until)
                .await);
        }
    }
    for expected in [4, 0] {
        let swept = in_tx!(stage.store, |tx| tx
            .lockouts()
            .sweep(&world.environment.into(), moment)
            .await);
        assert_eq!(swept, expected);
    }
    for (number, (subject, world, failed, _)) in rows.into_iter().enumerate() {
        let kept = number >= 4 && failed.is_some();
        let counted = stage.fail(world, subject).await;
        assert_eq!(counted, if kept { 2 } else { 1 }, "{subject}");
    }
    assert_eq!(
        stage.blocked_until(world, "is made to wait").await,
        Some(moment + Seconds(1))
    );
}
