//! What holds without the time moving on.

use std::sync::Arc;
use std::time::Duration;

use vestry_domain::limits::{Limit, Verdict};
use vestry_domain::timestamp::Seconds;
use vestry_domain::{Environment, Timestamp, World};
use vestry_ports::limiter::RateLimiter;

use crate::race::{count, race};
use crate::samples::{Samples, other_environment};

/// So long that it does not close while a test runs on a clock that nobody can stop.
const HOUR: Seconds = Seconds(3_600);

pub(super) fn limit(most: u32) -> Limit {
    Limit { most, window: HOUR }
}

/// A world, and another of the same App, and one of another App.
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
) -> Verdict {
    match limiter.hit(&world, limit, now).await {
        Ok(verdict) => verdict,
        Err(error) => panic!("the limiter failed: {error:?}"),
    }
}

/// Exactly `most` hits are admitted, each told what remains and when the window closes, to the second.
pub async fn a_window_admits_exactly_its_limit(limiter: Arc<dyn RateLimiter>) {
    let mut samples = Samples::fresh();
    let ([world, ..], now) = (worlds(&mut samples), samples.tick());
    for used in 1..=15 {
        let verdict = hit(&*limiter, world, limit(10), now).await;
        let expected = Verdict::on(limit(10), used, now);
        assert_eq!(verdict.admitted, used <= 10, "hit {used}");
        let seen = (verdict.admitted, verdict.limit, verdict.remaining);
        assert_eq!(seen, (expected.admitted, 10, expected.remaining));
        let off = verdict.reset - expected.reset;
        assert!(off.0.abs() <= 1, "the reset is {} seconds off", off.0);
    }
}

/// What remains is never less than nothing, and a full window stays full however often it is asked.
pub async fn nothing_remains_of_a_full_window(limiter: Arc<dyn RateLimiter>) {
    let mut samples = Samples::fresh();
    let ([world, ..], now) = (worlds(&mut samples), samples.tick());
    assert!(hit(&*limiter, world, limit(1), now).await.admitted);
    for _ in 0..100 {
        let verdict = hit(&*limiter, world, limit(1), now).await;
        assert_eq!((verdict.admitted, verdict.remaining), (false, 0));
    }
}

/// A window that is full makes room when it has closed. A limiter that follows the time it is given does so at once, one
/// that counts on a server's clock a second later; hits that are refused do not keep the window open.
pub async fn a_new_window_opens_in_the_end(limiter: Arc<dyn RateLimiter>) {
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
    assert!(waited.is_ok(), "a window of one second is open for ten");
}

/// Each world has a window of its own (I11).
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

/// A limit that is off admits every hit.
pub async fn a_limit_that_is_off_admits_everything(limiter: Arc<dyn RateLimiter>) {
    let mut samples = Samples::fresh();
    let ([world, ..], now) = (worlds(&mut samples), samples.tick());
    for _ in 0..200 {
        assert!(hit(&*limiter, world, limit(0), now).await.admitted);
    }
}

/// Hits under a limit that is off do not count when the limit is switched on.
pub async fn a_limit_that_is_off_counts_nothing(limiter: Arc<dyn RateLimiter>) {
    let mut samples = Samples::fresh();
    let ([world, ..], now) = (worlds(&mut samples), samples.tick());
    for _ in 0..20 {
        hit(&*limiter, world, limit(0), now).await;
    }
    let verdict = hit(&*limiter, world, limit(5), now).await;
    assert_eq!((verdict.admitted, verdict.remaining), (true, 4));
}

/// A limit that an operator raises or lowers counts from the next hit on, over the same window.
pub async fn a_limit_may_change_within_a_window(limiter: Arc<dyn RateLimiter>) {
    let mut samples = Samples::fresh();
    let ([world, ..], now) = (worlds(&mut samples), samples.tick());
    for (most, admitted, remaining) in [(2, true, 1), (2, true, 0), (10, true, 7), (3, false, 0)] {
        let verdict = hit(&*limiter, world, limit(most), now).await;
        let seen = (verdict.admitted, verdict.limit, verdict.remaining);
        assert_eq!(seen, (admitted, most, remaining));
    }
}

/// Three times as many parallel hits as the limit allows: exactly the limit is admitted, and what remains was told to each
/// of them once (R16).
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

/// The same for two worlds at once: neither takes from the other.
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
