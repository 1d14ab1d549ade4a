//! What a process knows of events: whose it has just committed, where the logs ended when it last looked, and who waits for more.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use vestry_domain::World;
use vestry_domain::event::EventHead;
use vestry_domain::ids::ApiKeyId;
use vestry_ports::store::Store;

/// Calls of one key that may wait at the same time.
const WAITING_PER_KEY: usize = 5;
/// Calls that may wait at the same time.
const WAITING: usize = 100;
/// Ends of logs that are remembered at most. Beyond it all are forgotten: then nobody notices if exactly those are set back.
const MOST_ENDS: usize = 10_000;

/// Of one process.
#[derive(Default)]
pub(crate) struct Desk {
    /// Worlds with events that have no place yet.
    told: Arc<Told>,
    ends: Mutex<HashMap<World, EventHead>>,
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Told {
    worlds: Mutex<BTreeSet<World>>,
    bell: Notify,
}

#[derive(Default)]
struct Waiting {
    /// By the world whose events they wait for.
    calls: HashMap<World, (usize, Arc<Notify>)>,
    of_keys: HashMap<ApiKeyId, usize>,
    whole: usize,
    is_over: bool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Told {
    fn add(&self, worlds: impl IntoIterator<Item = World>) {
        lock(&self.worlds).extend(worlds);
        self.bell.notify_one();
    }
}

impl Desk {
    /// A desk that hears of every commit of events of this process.
    pub(crate) fn of(store: &dyn Store) -> Self {
        let desk = Self::default();
        let told = Arc::clone(&desk.told);
        store.when_told(Box::new(move |world| told.add([world])));
        desk
    }

    /// Waits until events of this process were committed, or are to be looked at again.
    pub(crate) async fn told(&self) {
        self.told.bell.notified().await;
    }

    /// The worlds of which that holds.
    pub(crate) fn take_told(&self) -> BTreeSet<World> {
        std::mem::take(&mut *lock(&self.told.worlds))
    }

    /// Worlds that are to be looked at again.
    pub(crate) fn look_again(&self, worlds: impl IntoIterator<Item = World>) {
        let mut worlds = worlds.into_iter().peekable();
        if worlds.peek().is_some() {
            self.told.add(worlds);
        }
    }

    /// Where the log of a world ended when this process last wrote it.
    pub(crate) fn end_of(&self, world: World) -> Option<EventHead> {
        lock(&self.ends).get(&world).copied()
    }

    /// Remembers where a log ends by now, and wakes those who wait for more of it.
    pub(crate) fn placed(&self, world: World, head: EventHead) {
        let mut ends = lock(&self.ends);
        if ends.len() >= MOST_ENDS && !ends.contains_key(&world) {
            ends.clear();
        }
        ends.insert(world, head);
        drop(ends);
        if let Some((_, bell)) = lock(&self.waiting).calls.get(&world) {
            bell.notify_waiters();
        }
    }

    /// A place among those who wait for events of a world; `None` when too many do.
    pub(crate) fn wait_for(&self, world: World, key: ApiKeyId) -> Option<Waiter<'_>> {
        let mut waiting = lock(&self.waiting);
        let of_key = waiting.of_keys.get(&key).copied().unwrap_or_default();
        if waiting.is_over || waiting.whole >= WAITING || of_key >= WAITING_PER_KEY {
            return None;
        }
        waiting.whole += 1;
        waiting.of_keys.insert(key, of_key + 1);
        let (calls, bell) = waiting.calls.entry(world).or_default();
        *calls += 1;
        Some(Waiter {
            bell: Arc::clone(bell),
            desk: self,
            world,
            key,
        })
    }

    /// Sends all who wait away, and lets nobody wait any more: the service stops.
    pub(crate) fn stop_waiting(&self) {
        let mut waiting = lock(&self.waiting);
        waiting.is_over = true;
        for (_, bell) in waiting.calls.values() {
            bell.notify_waiters();
        }
    }

    pub(crate) fn is_over(&self) -> bool {
        lock(&self.waiting).is_over
    }
}

/// A call that waits.
pub(crate) struct Waiter<'a> {
    /// Rings when the log went on.
    pub(crate) bell: Arc<Notify>,
    desk: &'a Desk,
    world: World,
    key: ApiKeyId,
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        let mut waiting = lock(&self.desk.waiting);
        waiting.whole = waiting.whole.saturating_sub(1);
        if let Some(calls) = waiting.of_keys.get_mut(&self.key) {
            *calls -= 1;
            if *calls == 0 {
                waiting.of_keys.remove(&self.key);
            }
        }
        if let Some((calls, _)) = waiting.calls.get_mut(&self.world) {
            *calls -= 1;
            if *calls == 0 {
                waiting.calls.remove(&self.world);
            }
        }
    }
}
