//! Properties that hold without advancing the clock.

use std::sync::Arc;
use std::time::Duration;

use vestry_domain::limits::{Limit, LimitVerdict};
use vestry_domain::timestamp::Seconds;
use vestry_domain::{Environment, Timestamp, World};
use vestry_ports::limiter::RateLimiter;

use crate::race::{count, race};
use crate::samples::{Samples, other_environment};

/// Long enough that a window does not close during a test on a clock that cannot be stopped.
const HOUR: Seconds = Seconds(3_600);

pub(super) fn limit(most: u32) -> Limit {
    Limit { most, window: HOUR }
}

/// A world, another world of the same App, and one of another App.
pub(super) fn worlds(samples: &mut Samples) -> [World; 3] {
    let environment = samples.pick(&Environment::ALL);
    let world = World::new(samples.app().id, environment);
    let stranger = World::new(samples.app().id, environment);
    [world, other_environment(world), stranger]
}

pub(super) async fn hit(
    limiter: &dyn RateLimiter,
    world: World,
    limit: Limit,
    now: Timestamp,
) -> LimitVerdict {
    match limiter.hit(&world, limit, now).await {
        Ok(verdict) => verdict,
        Err(error) => panic!("the limiter failed: {error:?}"),
    }
}

/// Exactly `most` hits are admitted. Each learns the remaining count and the reset time, to the second.
pub async fn a_window_admits_exactly_its_limit(limiter: Arc<dyn RateLimiter>) {
    let mut samples = Samples::fresh();
    let ([world, ..], now) = (worlds(&mut samples), samples.tick());
    for used in 1..=15 {
        let verdict = hit(&*limiter, world, limit(10), now).await;
        let expected = LimitVerdict::on(limit(10), used, now);
        assert_eq!(verdict.admitted, used <= 10, "hit {used}");
        let seen = (verdict.admitted, verdict.limit, verdict.remaining);
        assert_eq!(seen, (expected.admitted, 10, expected.remaining));
        let off = verdict.reset - expected.reset;
        assert!(off.0.abs() <= 1, "the reset is {} seconds off", off.0);
    }
}

/// The remaining count never goes below zero, and a full window stays full however many hits follow.
pub async fn a_full_window_has_nothing_remaining(limiter: Arc<dyn RateLimiter>) {
    let mut samples = Samples::fresh();
    let ([world, ..], now) = (worlds(&mut samples), samples.tick());
    assert!(hit(&*limiter, world, limit(1), now).await.admitted);
    for _ in 0..100 {
        let verdict = hit(&*limiter, world, limit(1), now).await;
        assert_eq!((verdict.admitted, verdict.remaining), (false, 0));
    }
}

/// A full window has room again after it closes.
///
/// A limiter that follows the time passed to it reopens at once; one that uses a server's clock, up to a second later. Rejected hits do not
/// keep the window open.
pub async fn a_full_window_reopens(limiter: Arc<dyn RateLimiter>) {
    let mut samples = Samples::fresh();
    let ([world, ..], now) = (worlds(&mut samples), samples.tick());
    let short = Limit {
        most: 2,
        window: Seconds(1),
    };
    for _ in 0..2 {
        hit(&*limiter, world, short, now).await;
    }
    let reopened = async {
        loop {
            let verdict = hit(&*limiter, world, short, now + short.window).await;
            if verdict.admitted && verdict.remaining == 1 {
                return;
            }
            tokio::task::yield_now().await;
        }
    };
    let waited = tokio::time::timeout(Duration::from_secs(10), reopened).await;
    assert!(
        waited.is_ok(),
        "a one-second window is still open after ten seconds"
    );
}

/// Each world has its own window (I11).
pub async fn worlds_are_counted_apart(limiter: Arc<dyn RateLimiter>) {
    let mut samples = Samples::fresh();
    let (worlds, now) = (worlds(&mut samples), samples.tick());
    for world in worlds {
        let admitted = [
            hit(&*limiter, world, limit(2), now).await.admitted,
            hit(&*limiter, world, limit(2), now).await.admitted,
            hit(&*limiter, world, limit(2), now).await.admitted,
        ];
        assert_eq!(admitted, [true, true, false]);
    }
}

/// A disabled limit admits every hit.
pub async fn a_limit_that_is_off_admits_everything(limiter: Arc<dyn RateLimiter>) {
    let mut samples = Samples::fresh();
    let ([world, ..], now) = (worlds(&mut samples), samples.tick());
    for _ in 0..200 {
        assert!(hit(&*limiter, world, limit(0), now).await.admitted);
    }
}

/// Hits under a disabled limit do not count when the limit is enabled.
pub async fn a_limit_that_is_off_counts_nothing(limiter: Arc<dyn RateLimiter>) {
    let mut samples = Samples::fresh();
    let ([world, ..], now) = (worlds(&mut samples), samples.tick());
    for _ in 0..20 {
        hit(&*limiter, world, limit(0), now).await;
    }
    let verdict = hit(&*limiter, world, limit(5), now).await;
    assert_eq!((verdict.admitted, verdict.remaining), (true, 4));
}

/// A changed limit applies from the next hit on, within the same window.
pub async fn a_limit_may_change_within_a_window(limiter: Arc<dyn RateLimiter>) {
    let mut samples = Samples::fresh();
    let ([world, ..], now) = (worlds(&mut samples), samples.tick());
    for (most, admitted, remaining) in [(2, true, 1), (2, true, 0), (10, true, 7), (3, false, 0)] {
        let verdict = hit(&*limiter, world, limit(most), now).await;
        let seen = (verdict.admitted, verdict.limit, verdict.remaining);
        assert_eq!(seen, (admitted, most, remaining));
    }
}

/// Of three times as many parallel hits as the limit allows, exactly the limit is admitted, and each remaining count is returned once
/// (R16).
pub async fn parallel_hits_are_exact(limiter: Arc<dyn RateLimiter>) {
    let mut samples = Samples::fresh();
    let ([world, ..], now) = (worlds(&mut samples), samples.tick());
    let verdicts = race((0..300).map(|_| {
        let limiter = Arc::clone(&limiter);
        async move { hit(&*limiter, world, limit(100), now).await }
    }))
    .await;
    let mut remaining: Vec<_> = verdicts
        .iter()
        .filter(|verdict| verdict.admitted)
        .map(|verdict| verdict.remaining)
        .collect();
    remaining.sort_unstable();
    assert_eq!(remaining, (0..100).collect::<Vec<_>>());
    let off = verdicts
        .iter()
        .map(|verdict| (verdict.reset - (now + HOUR)).0.abs());
    assert!(off.max() <= Some(1), "resets differ");
}

/// Parallel hits of two worlds do not count against each other.
pub async fn parallel_hits_of_two_worlds_are_exact(limiter: Arc<dyn RateLimiter>) {
    let mut samples = Samples::fresh();
    let ([world, other, _], now) = (worlds(&mut samples), samples.tick());
    let verdicts = race((0..120).map(|number| {
        let limiter = Arc::clone(&limiter);
        let (world, most) = if number % 2 == 0 {
            (world, 20)
        } else {
            (other, 30)
        };
        async move { (most, hit(&*limiter, world, limit(most), now).await.admitted) }
    }))
    .await;
    assert_eq!(count(&verdicts, &(20, true)), 20);
    assert_eq!(count(&verdicts, &(30, true)), 30);
}
