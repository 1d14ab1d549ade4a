//! Cached time up to which the audit log is anchored outside the database.

use std::sync::{Mutex, MutexGuard, PoisonError};

use vestry_domain::Timestamp;
use vestry_domain::timestamp::Seconds;

/// How long the cached time is used. Requests that use keys are too frequent for a query each.
const BELIEVED: Seconds = Seconds(5);

/// The cache of one process.
pub(crate) struct AnchorWatch(Mutex<Found>);

struct Found {
    /// Time of the last look-up.
    at: Option<Timestamp>,
    /// Time up to which a sink outside the database has the log. It starts as the start of the process, since everything this process does
    /// comes later.
    anchored: Timestamp,
    is_reported: bool,
}

impl AnchorWatch {
    pub(crate) const fn from(start: Timestamp) -> Self {
        Self(Mutex::new(Found {
            at: None,
            anchored: start,
            is_reported: false,
        }))
    }

    fn found(&self) -> MutexGuard<'_, Found> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the cached time if it is fresh.
    pub(crate) fn anchored(&self, now: Timestamp) -> Option<Timestamp> {
        let found = self.found();
        let looked = found.at?;
        (looked <= now && now < looked + BELIEVED).then_some(found.anchored)
    }

    /// Stores the result of a look-up and returns the latest known time.
    pub(crate) fn find(&self, anchored: Option<Timestamp>, now: Timestamp) -> Timestamp {
        let mut found = self.found();
        found.at = Some(now);
        found.anchored = anchored.unwrap_or(found.anchored).max(found.anchored);
        found.anchored
    }

    /// Records whether keys are blocked; returns whether to raise the alarm, which is only on a change.
    pub(crate) fn refuses(&self, refuses: bool) -> bool {
        let mut found = self.found();
        let is_news = refuses && !found.is_reported;
        found.is_reported = refuses;
        is_news
    }
}
