//! Limits on waiting calls (long polling), and their end at shutdown.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;
use vestry_domain::event::Actor;
use vestry_domain::ids::AppId;

/// Places per kind of call and process.
const PLACES: usize = 100;
/// Maximum places held by one App, in both of its environments together.
const PLACES_PER_APP: usize = PLACES / 2;
/// Delay before a call without a place gets its response. Without it, a client that retries at once would keep the service busy.
const TURNED_AWAY_AFTER: Duration = Duration::from_secs(1);

/// The places for one kind of waiting call.
pub(crate) struct WaitingRoom {
    per_key: usize,
    taken: Mutex<Taken>,
    is_closed: watch::Sender<bool>,
}

#[derive(Default)]
struct Taken {
    whole: usize,
    of_apps: HashMap<AppId, usize>,
    of_keys: HashMap<Actor, usize>,
}

impl WaitingRoom {
    /// Creates a room in which one key can hold this number of places.
    pub(crate) fn with_places_per_key(per_key: usize) -> Self {
        Self {
            per_key,
            taken: Mutex::default(),
            is_closed: watch::Sender::default(),
        }
    }

    /// Creates a room in which one key can hold every place of its App.
    pub(crate) fn without_limit_per_key() -> Self {
        Self::with_places_per_key(PLACES_PER_APP)
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reserves a place for a call; `None` if its key, its App or all Apps together have reached their limit.
    pub(crate) fn place_for(&self, app: AppId, key: Actor) -> Option<Place<'_>> {
        let mut taken = self.taken();
        let of_app = taken.of_apps.get(&app).copied().unwrap_or_default();
        let of_key = taken.of_keys.get(&key).copied().unwrap_or_default();
        if taken.whole >= PLACES || of_app >= PLACES_PER_APP || of_key >= self.per_key {
            return None;
        }
        taken.whole += 1;
        taken.of_apps.insert(app, of_app + 1);
        taken.of_keys.insert(key, of_key + 1);
        drop(taken);
        Some(Place {
            room: self,
            app,
            key,
        })
    }

    /// Delays a call without a place by a second, but not beyond its own deadline.
    pub(crate) async fn turn_away(&self, until: Instant) {
        let end = until.min(Instant::now() + TURNED_AWAY_AFTER);
        // Returns on timeout or when the room is closed.
        let _elapsed = tokio::time::timeout_at(end, self.closed()).await;
    }

    /// Ends all waiting, current and future.
    pub(crate) fn close(&self) {
        self.is_closed.send_replace(true);
    }

    /// Returns once the room is closed.
    pub(crate) async fn closed(&self) {
        let mut is_closed = self.is_closed.subscribe();
        // Cannot fail: the sender lives as long as the room.
        let _closed = is_closed.wait_for(|is_closed| *is_closed).await;
    }
}

/// A place held by a call until dropped.
pub(crate) struct Place<'a> {
    room: &'a WaitingRoom,
    app: AppId,
    key: Actor,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut taken = self.room.taken();
        taken.whole = taken.whole.saturating_sub(1);
        refund(&mut taken.of_apps, &self.app);
        refund(&mut taken.of_keys, &self.key);
    }
}

/// Decrements the count of a holder, and removes it at zero.
fn refund<K: Eq + Hash>(held: &mut HashMap<K, usize>, holder: &K) {
    if let Some(count) = held.get_mut(holder) {
        *count -= 1;
        if *count == 0 {
            held.remove(holder);
        }
    }
}
