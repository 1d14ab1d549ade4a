//! Whether a connection still leads to the primary.
//!
//! After a failover our connections may lead to a server that lives on and is not the primary any more: a standby, which refuses writes
//! (25006), or one that waits in vain for a standby to have what it commits, and keeps the locks of what waits. Reads find there what was
//! before. So such a write ends every connection that is older than it, and a while later, when the name of the primary leads elsewhere,
//! those that were opened in between.

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use tokio::sync::watch;

/// Connections are ended at most so often: a database that is read-only for long must not have all of them opened anew for each write
/// that it refuses.
const AT_MOST_EACH: Duration = Duration::from_millis(500);

/// The same after a lock that was waited for in vain, which does not always mean a failover: while somebody holds a lock for long, as a
/// migration does, connections and what they have prepared are worth keeping.
const AT_MOST_EACH_FOR_LOCKS: Duration = Duration::from_secs(10);

/// So long after the last such write a new connection is taken to lead to the new primary: a process that is asked for anything, or that
/// delivers messages, tries to write more often than that.
pub(crate) const SETTLED_AFTER: Duration = Duration::from_secs(3);

/// When writes were not done.
#[derive(Clone, Copy)]
pub(crate) struct NotDone {
    /// The one that ended connections last.
    counted: Instant,
    /// The last one.
    last: Instant,
}

impl NotDone {
    /// Which connections are ended at this moment: those that were opened before.
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

/// One for the process: at worst a pool of another database opens its connections anew.
static NOT_DONE: LazyLock<watch::Sender<Option<NotDone>>> = LazyLock::new(watch::Sender::default);

/// A write was refused because the server is read-only, or its commit was not answered.
pub(crate) fn did_not_write() {
    let now = Instant::now();
    NOT_DONE.send_modify(|not_done| {
        let counted = match *not_done {
            Some(known) if now.duration_since(known.counted) < AT_MOST_EACH => known.counted,
            _ => now,
        };
        *not_done = Some(NotDone { counted, last: now });
    });
}

/// A lock was not to be had in time. Whoever holds it may be waiting for a standby, and on the server goes on to when nobody asks any
/// more.
pub(crate) fn waited_in_vain() {
    let is_known = NOT_DONE
        .borrow()
        .is_some_and(|known| known.last.elapsed() < AT_MOST_EACH_FOR_LOCKS);
    if !is_known {
        did_not_write();
    }
}

/// Whether a connection that was opened then may lead to an old primary.
pub(crate) fn may_have_moved(opened: Instant) -> bool {
    let not_done = *NOT_DONE.borrow();
    not_done.is_some_and(|not_done| opened < not_done.opened_before(Instant::now()))
}

/// Tells of each write that was not done, from now on.
pub(crate) fn not_done() -> watch::Receiver<Option<NotDone>> {
    NOT_DONE.subscribe()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Which connections are ended at what moment; the first write that was not done is at 0 s, the last at 0.3 s.
    #[test]
    fn k5_connections_end_that_may_lead_to_an_old_primary() {
        let start = Instant::now();
        let at = |milliseconds| start + Duration::from_millis(milliseconds);
        let not_done = NotDone {
            counted: at(0),
            last: at(300),
        };
        for (asked, ended_before) in [
            (300, 0),
            (499, 0),
            // The last one counts as soon as the first has counted long enough.
            (500, 300),
            (3_299, 300),
            // All was done for a while: whatever was opened before that is opened once more.
            (3_300, 3_300),
            (60_000, 3_300),
        ] {
            assert_eq!(
                not_done.opened_before(at(asked)),
                at(ended_before),
                "at {asked}"
            );
        }
    }
}
