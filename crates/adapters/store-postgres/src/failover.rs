//! Detection of connections that no longer lead to the primary.
//!
//! After a failover, our connections may lead to a server that is still running but no longer the primary. A standby refuses writes
//! (25006). An isolated old primary waits in vain for a standby to confirm its commits, and holds the locks of waiting transactions. Reads
//! there return stale data. A failed write of this kind therefore closes every older connection. A while later, once the primary's name
//! resolves to the new server, those opened in between are closed as well.

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use tokio::sync::watch;

/// Minimum time between two rounds of closing connections. Otherwise a database that stays read-only would force all connections to be
/// reopened for every refused write.
const AT_MOST_EACH: Duration = Duration::from_millis(500);

/// The same after a lock timeout, which does not always mean a failover. While a migration, for instance, holds a lock for long,
/// connections and their prepared statements are worth keeping.
const AT_MOST_EACH_FOR_LOCKS: Duration = Duration::from_secs(10);

/// How long after the last failed write a new connection is assumed to lead to the new primary. A process that serves requests or delivers
/// messages attempts writes more often than that.
pub(crate) const SETTLED_AFTER: Duration = Duration::from_secs(3);

/// Times of failed writes.
#[derive(Clone, Copy)]
pub(crate) struct Unconfirmed {
    /// The failed write that last caused connections to be closed.
    counted: Instant,
    /// The latest failed write.
    last: Instant,
}

impl Unconfirmed {
    /// Returns the time before which connections must have been opened to be closed at `now`.
    fn opened_before(&self, now: Instant) -> Instant {
        if now.duration_since(self.last) >= SETTLED_AFTER {
            self.last + SETTLED_AFTER
        } else if now.duration_since(self.counted) >= AT_MOST_EACH {
            self.last
        } else {
            self.counted
        }
    }
}

/// One for the process: at worst, the pool of another database reopens its connections.
static UNCONFIRMED: LazyLock<watch::Sender<Option<Unconfirmed>>> =
    LazyLock::new(watch::Sender::default);

/// Records that a write was refused because the server is read-only, or that its commit got no response.
pub(crate) fn write_unconfirmed() {
    let now = Instant::now();
    UNCONFIRMED.send_modify(|unconfirmed| {
        let counted = match *unconfirmed {
            Some(known) if now.duration_since(known.counted) < AT_MOST_EACH => known.counted,
            _ => now,
        };
        *unconfirmed = Some(Unconfirmed { counted, last: now });
    });
}

/// Records a lock timeout. The lock holder may be waiting for a standby, and the server keeps waiting even after its client has gone.
pub(crate) fn lock_timed_out() {
    let is_known = UNCONFIRMED
        .borrow()
        .is_some_and(|known| known.last.elapsed() < AT_MOST_EACH_FOR_LOCKS);
    if !is_known {
        write_unconfirmed();
    }
}

/// Whether a connection opened at that time may lead to an old primary.
pub(crate) fn may_be_stale(opened: Instant) -> bool {
    let unconfirmed = *UNCONFIRMED.borrow();
    unconfirmed.is_some_and(|unconfirmed| opened < unconfirmed.opened_before(Instant::now()))
}

/// Returns a receiver that is notified of failed writes.
pub(crate) fn unconfirmed() -> watch::Receiver<Option<Unconfirmed>> {
    UNCONFIRMED.subscribe()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Which connections are closed when; the first failed write is at 0 s, the last at 0.3 s.
    #[test]
    fn k5_connections_that_may_lead_to_an_old_primary_are_closed() {
        let start = Instant::now();
        let at = |milliseconds| start + Duration::from_millis(milliseconds);
        let unconfirmed = Unconfirmed {
            counted: at(0),
            last: at(300),
        };
        for (asked, ended_before) in [
            (300, 0),
            (499, 0),
            // The last write counts once the first has counted long enough.
            (500, 300),
            (3_299, 300),
            // Writes have succeeded for a while: connections opened before that are reopened once more.
            (3_300, 3_300),
            (60_000, 3_300),
        ] {
            assert_eq!(
                unconfirmed.opened_before(at(asked)),
                at(ended_before),
                "at {asked}"
            );
        }
    }
}
