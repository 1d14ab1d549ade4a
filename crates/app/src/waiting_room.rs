//! Places for calls that wait, and the end of all waiting when the process stops.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;
use vestry_domain::ids::{ApiKeyId, AppId};

use crate::Caller;

/// Places of one kind of call in one process.
const PLACES: usize = 100;
/// Places that one App can hold at the same time, in both of its environments together.
const PLACES_PER_APP: usize = PLACES / 2;
/// How long a call without a place is held before its answer. Otherwise a client that calls again at once would keep the service busy.
const TURNED_AWAY_AFTER: Duration = Duration::from_secs(1);

/// The places for one kind of call.
pub(crate) struct WaitingRoom {
    per_key: usize,
    taken: Mutex<Taken>,
    is_closed: watch::Sender<bool>,
}

#[derive(Default)]
struct Taken {
    whole: usize,
    of_apps: HashMap<AppId, usize>,
    of_keys: HashMap<ApiKeyId, usize>,
}

impl WaitingRoom {
    /// A room in which one key can hold this number of places.
    pub(crate) fn with_places_per_key(per_key: usize) -> Self {
        Self {
            per_key,
            taken: Mutex::default(),
            is_closed: watch::Sender::default(),
        }
    }

    /// A room in which one key can hold every place of its App.
    pub(crate) fn without_limit_per_key() -> Self {
        Self::with_places_per_key(PLACES_PER_APP)
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for this call; `None` when its key, its App or all Apps together hold as many as they can.
    pub(crate) fn place_for(&self, caller: &Caller) -> Option<Place<'_>> {
        let (app, key) = (caller.world.app_id, caller.key.id);
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

    /// Holds a call that has no place for a second, but no longer than it wants to wait.
    pub(crate) async fn turn_away(&self, until: Instant) {
        let end = until.min(Instant::now() + TURNED_AWAY_AFTER);
        // Either the time is over, or the room is closed.
        let _elapsed = tokio::time::timeout_at(end, self.closed()).await;
    }

    /// Ends all waiting, now and later.
    pub(crate) fn close(&self) {
        self.is_closed.send_replace(true);
    }

    /// Returns once the room is closed.
    pub(crate) async fn closed(&self) {
        let mut is_closed = self.is_closed.subscribe();
        // The sender lives as long as the room.
        let _closed = is_closed.wait_for(|is_closed| *is_closed).await;
    }
}

/// A place that a call holds until this is dropped.
pub(crate) struct Place<'a> {
    room: &'a WaitingRoom,
    app: AppId,
    key: ApiKeyId,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut taken = self.room.taken();
        taken.whole = taken.whole.saturating_sub(1);
        give_back(&mut taken.of_apps, &self.app);
        give_back(&mut taken.of_keys, &self.key);
    }
}

/// Counts one less, and forgets a holder that has none left.
fn give_back<K: Eq + Hash>(held: &mut HashMap<K, usize>, holder: &K) {
    if let Some(count) = held.get_mut(holder) {
        *count -= 1;
        if *count == 0 {
            held.remove(holder);
        }
    }
}
