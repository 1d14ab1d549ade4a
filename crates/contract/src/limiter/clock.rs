//! Windows of a limiter that follows the time passed to it.

use std::sync::Arc;

use vestry_domain::limits::{Limit, LimitVerdict};
use vestry_domain::timestamp::Seconds;
use vestry_ports::limiter::RateLimiter;

use super::hits::{hit, worlds};
use crate::samples::Samples;

/// The window opens with its first hit; its reset does not move until it closes.
pub async fn the_reset_is_fixed_in_the_window(limiter: Arc<dyn RateLimiter>) {
    let mut samples = Samples::fresh();
    let ([world, ..], opened) = (worlds(&mut samples), samples.tick());
    let limit = Limit::per_minute(3);
    for (used, later) in [(1, 0), (2, 1), (3, 30), (4, 58), (5, 59)] {
        let verdict = hit(&*limiter, world, limit, opened + Seconds(later)).await;
        assert_eq!(
            verdict,
            LimitVerdict::on(limit, used, opened),
            "after {later}"
        );
    }
}

/// The first hit at or after the reset opens a new window of full length, with the full limit.
pub async fn a_new_window_opens_at_the_reset(limiter: Arc<dyn RateLimiter>) {
    let mut samples = Samples::fresh();
    let ([world, ..], mut opened) = (worlds(&mut samples), samples.tick());
    let limit = Limit::per_minute(2);
    for pause in [0, 60, 61, 1_000_000] {
        opened = opened + Seconds(pause);
        for used in 1..=3 {
            let verdict = hit(&*limiter, world, limit, opened).await;
            assert_eq!(
                verdict,
                LimitVerdict::on(limit, used, opened),
                "after {pause}"
            );
        }
    }
}

/// Windows of different worlds open and close independently.
pub async fn windows_of_two_worlds_open_apart(limiter: Arc<dyn RateLimiter>) {
    let mut samples = Samples::fresh();
    let ([world, other, _], opened) = (worlds(&mut samples), samples.tick());
    let limit = Limit::per_minute(1);
    let late = opened + Seconds(59);
    hit(&*limiter, world, limit, opened).await;
    hit(&*limiter, other, limit, late).await;
    let now = opened + limit.window;
    let first = hit(&*limiter, world, limit, now).await;
    assert_eq!(first, LimitVerdict::on(limit, 1, now));
    let second = hit(&*limiter, other, limit, now).await;
    assert_eq!(second, LimitVerdict::on(limit, 2, late));
}
