//! Rate limiting in this process.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Mutex, PoisonError};

use vestry_domain::limits::{Limit, LimitVerdict};
use vestry_domain::{Timestamp, World};
use vestry_ports::limiter::{LimiterUnavailable, RateLimiter};
use vestry_ports::port;

use crate::window::Window;

/// Up to this number of windows, closed ones are not removed.
const SMALL: usize = 64;

/// Counts in the memory of this process.
///
/// A use costs one look-up under a single lock that is held for nanoseconds. Closed windows are removed whenever the number of windows has
/// doubled. Memory therefore follows the number of active worlds, at constant amortised cost per use.
#[derive(Debug, Default)]
pub struct MemoryLimiter {
    windows: Mutex<Windows>,
}

#[derive(Debug, Default)]
struct Windows {
    by_world: HashMap<World, Window>,
    /// The number of windows at which closed ones are removed.
    sweep_at: usize,
}

impl MemoryLimiter {
    /// Creates an empty limiter.
    pub fn new() -> Self {
        Self::default()
    }

    /// Counts one use, like [`RateLimiter::hit`], but cannot fail.
    pub fn count(&self, world: &World, limit: Limit, now: Timestamp) -> LimitVerdict {
        if limit.is_off() {
            return LimitVerdict::on(limit, 0, now);
        }
        // A panic cannot leave a window in an inconsistent state.
        let mut windows = self.windows.lock().unwrap_or_else(PoisonError::into_inner);
        windows.hit(*world, limit, now)
    }
}

impl Windows {
    fn hit(&mut self, world: World, limit: Limit, now: Timestamp) -> LimitVerdict {
        let full = self.by_world.len() >= self.sweep_at.max(SMALL);
        match self.by_world.entry(world) {
            Entry::Occupied(mut window) => window.get_mut().hit(limit, now),
            Entry::Vacant(place) => {
                let verdict = place.insert(Window::open(limit, now)).hit(limit, now);
                if full {
                    self.sweep(now);
                }
                verdict
            }
        }
    }

    fn sweep(&mut self, now: Timestamp) {
        self.by_world.retain(|_, window| !window.is_forgotten(now));
        self.sweep_at = self.by_world.len().saturating_mul(2);
    }
}

#[port]
impl RateLimiter for MemoryLimiter {
    async fn hit(
        &self,
        world: &World,
        limit: Limit,
        now: Timestamp,
    ) -> Result<LimitVerdict, LimiterUnavailable> {
        Ok(self.count(world, limit, now))
    }

    fn hit_at_once(&self, world: &World, limit: Limit, now: Timestamp) -> Option<LimitVerdict> {
        Some(self.count(world, limit, now))
    }
}

#[cfg(test)]
mod tests;
