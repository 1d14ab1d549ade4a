//! Waiting for something that nothing announces.

use std::time::Duration;

use tokio::time::{Interval, MissedTickBehavior, interval};

/// The pause between two looks. A loop without one would take a core from the tests that run at the same time.
const PAUSE: Duration = Duration::from_millis(20);

/// Ticks at once, and then after each pause.
pub(crate) fn looks() -> Interval {
    let mut looks = interval(PAUSE);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    looks
}

/// Polls until a condition holds.
pub(crate) async fn until(mut is_so: impl AsyncFnMut() -> bool) {
    let mut looks = looks();
    loop {
        looks.tick().await;
        if is_so().await {
            return;
        }
    }
}
