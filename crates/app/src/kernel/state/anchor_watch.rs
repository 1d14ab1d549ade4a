//! Cached time up to which the audit log is anchored outside the database.

use std::sync::{Mutex, MutexGuard, PoisonError};

use vestry_domain::Timestamp;
use vestry_domain::timestamp::Seconds;

/// How long the cached time is used. Requests that use keys are too frequent for a query each.
const BELIEVED: Seconds = Seconds(5);

/// The cache of one process.
pub(crate) struct AnchorWatch(Mutex<Cached>);

struct Cached {
    /// Time of the last look-up.
    at: Option<Timestamp>,
    /// Time up to which a sink outside the database has the log. It starts as the start of the process, since everything this process does
    /// comes later.
    anchored: Timestamp,
    is_reported: bool,
}

impl AnchorWatch {
    pub(crate) const fn from(start: Timestamp) -> Self {
        Self(Mutex::new(Cached {
            at: None,
            anchored: start,
            is_reported: false,
        }))
    }

    fn cached(&self) -> MutexGuard<'_, Cached> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the cached time if it is fresh.
    pub(crate) fn anchored(&self, now: Timestamp) -> Option<Timestamp> {
        let cached = self.cached();
        let looked = cached.at?;
        (looked <= now && now < looked + BELIEVED).then_some(cached.anchored)
    }

    /// Stores the result of a look-up and returns the latest known time.
    pub(crate) fn find(&self, anchored: Option<Timestamp>, now: Timestamp) -> Timestamp {
        let mut cached = self.cached();
        cached.at = Some(now);
        cached.anchored = anchored.unwrap_or(cached.anchored).max(cached.anchored);
        cached.anchored
    }

    /// Records whether keys are blocked; returns whether to raise the alarm, which is only on a change.
    pub(crate) fn refuses(&self, refuses: bool) -> bool {
        let mut cached = self.cached();
        let is_news = refuses && !cached.is_reported;
        cached.is_reported = refuses;
        is_news
    }
}
