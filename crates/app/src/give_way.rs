//! Letting others have the processor for a moment.
//!
//! A thread that makes one signature after the other keeps its core for a slice of time, milliseconds on Linux, whatever else waits
//! for that core; and a thread that waits is seldom moved to a core that has become idle meanwhile. What waits there is often
//! what all the others wait for: the thread that commits the log, or Postgres on the same machine.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// How long a thread keeps the processor before it gives way again.
const KEPT: Duration = Duration::from_micros(300);
/// Whoever has the processor for longer has much to do that is none of ours.
const LONG: Duration = Duration::from_millis(2);
/// How long nobody is given way to then: whoever always gives way to those who have much to do has hardly a share left.
const KEPT_FROM_BUSY: Duration = Duration::from_millis(100);

thread_local! {
    /// Until when this thread keeps the processor; none before it gave way for the first time.
    static KEEPS_UNTIL: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// Lets those run who wait for this core, if that is due. Costs less than a microsecond when nobody does.
pub(crate) fn give_way() {
    let begun = Instant::now();
    if KEEPS_UNTIL.get().is_some_and(|until| begun < until) {
        return;
    }
    std::thread::yield_now();
    let now = Instant::now();
    KEEPS_UNTIL.set(Some(now + kept_after(now - begun)));
}

/// How long the processor is kept after others had it for so long.
fn kept_after(others: Duration) -> Duration {
    if others > LONG { KEPT_FROM_BUSY } else { KEPT }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Postgres writes a batch in well under two milliseconds; a thread without an end to its work has its slice, of some three.
    #[test]
    fn who_has_much_to_do_is_not_given_way_to_soon_again() {
        for (others, kept) in [
            (0, KEPT),
            (800, KEPT),
            (2_000, KEPT),
            (2_800, KEPT_FROM_BUSY),
            (1_000_000, KEPT_FROM_BUSY),
        ] {
            assert_eq!(kept_after(Duration::from_micros(others)), kept, "{others}");
        }
    }

    #[test]
    fn a_thread_gives_way_once_and_keeps_the_processor_then() {
        give_way();
        let until = KEEPS_UNTIL.get().expect("it gave way");
        give_way();
        let later = KEEPS_UNTIL.get().unwrap();
        // Unless this thread was held up for so long that it was due again.
        assert!(later == until || later >= until + KEPT);
    }
}
