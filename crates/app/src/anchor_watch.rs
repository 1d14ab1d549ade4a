//! What this process has found of how far the audit log is known outside of the database.

use std::sync::{Mutex, MutexGuard, PoisonError};

use vestry_domain::Timestamp;
use vestry_domain::timestamp::Seconds;

/// How long one believes what was found: requests that use keys are too many to ask for each.
const BELIEVED: Seconds = Seconds(5);

/// What this process has found.
pub(crate) struct AnchorWatch(Mutex<Found>);

struct Found {
    /// When one looked last.
    at: Option<Timestamp>,
    /// Up to when somebody outside knows the log. At first the start of the process: whatever it does comes later.
    anchored: Timestamp,
    was_told: bool,
}

impl AnchorWatch {
    pub(crate) const fn from(start: Timestamp) -> Self {
        Self(Mutex::new(Found {
            at: None,
            anchored: start,
            was_told: false,
        }))
    }

    fn found(&self) -> MutexGuard<'_, Found> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was found lately.
    pub(crate) fn anchored(&self, now: Timestamp) -> Option<Timestamp> {
        let found = self.found();
        let looked = found.at?;
        (looked <= now && now < looked + BELIEVED).then_some(found.anchored)
    }

    /// Notes what was found; what holds now.
    pub(crate) fn find(&self, anchored: Option<Timestamp>, now: Timestamp) -> Timestamp {
        let mut found = self.found();
        found.at = Some(now);
        found.anchored = anchored.unwrap_or(found.anchored).max(found.anchored);
        found.anchored
    }

    /// Whether it is to be told now that keys are refused.
    pub(crate) fn refuses(&self, refuses: bool) -> bool {
        let mut found = self.found();
        let is_news = refuses && !found.was_told;
        found.was_told = refuses;
        is_news
    }
}
