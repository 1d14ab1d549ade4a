//! A single rate-limit window.

use vestry_domain::Timestamp;
use vestry_domain::limits::{Limit, LimitVerdict};

/// The uses since the window opened. The script of the shared limiter follows the same rules.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Window {
    opened: Timestamp,
    closes: Timestamp,
    used: u32,
}

impl Window {
    /// Creates a window without uses.
    pub(crate) fn open(limit: Limit, now: Timestamp) -> Self {
        Self {
            opened: now,
            closes: now + limit.window,
            used: 0,
        }
    }

    /// Counts a use, in a new window if this one is over.
    pub(crate) fn hit(&mut self, limit: Limit, now: Timestamp) -> LimitVerdict {
        if self.is_over(limit, now) {
            *self = Self::open(limit, now);
        }
        self.closes = self.opened + limit.window;
        self.used = self.used.saturating_add(1);
        LimitVerdict::on(limit, self.used, self.opened)
    }

    /// Uses the current limit, which a restart may have changed. A clock set back by more than a window also ends it: otherwise nothing
    /// would be admitted until the clock has caught up.
    fn is_over(&self, limit: Limit, now: Timestamp) -> bool {
        now >= self.opened + limit.window || self.opened > now + limit.window
    }

    /// Whether the window can be removed.
    pub(crate) fn is_forgotten(&self, now: Timestamp) -> bool {
        now >= self.closes
    }
}

#[cfg(test)]
mod tests;
