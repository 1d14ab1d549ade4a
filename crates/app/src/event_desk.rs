//! What a process knows of events: whose it has just committed, where the logs ended when it last looked, and who waits for more.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use vestry_domain::World;
use vestry_domain::event::EventHead;
use vestry_ports::store::Store;

use crate::Caller;
use crate::waiting_room::{Place, WaitingRoom};

/// Calls of one key that may wait at the same time.
const WAITING_PER_KEY: usize = 5;
/// Ends of logs that are remembered at most. Beyond it all are forgotten: then nobody notices if exactly those are set back.
const MOST_ENDS: usize = 10_000;

/// Of one process.
pub(crate) struct Desk {
    /// Worlds with events that have no place yet.
    told: Arc<Told>,
    ends: Mutex<HashMap<World, EventHead>>,
    pub(crate) room: WaitingRoom,
    bells: Mutex<Bells>,
}

#[derive(Default)]
struct Told {
    worlds: Mutex<BTreeSet<World>>,
    bell: Notify,
}

/// The bells of worlds for whose events calls wait, each with the number of those calls.
type Bells = HashMap<World, (usize, Arc<Notify>)>;

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
        let desk = Self {
            told: Arc::default(),
            ends: Mutex::default(),
            room: WaitingRoom::with_places_per_key(WAITING_PER_KEY),
            bells: Mutex::default(),
        };
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
        if let Some((_, bell)) = lock(&self.bells).get(&world) {
            bell.notify_waiters();
        }
    }

    /// A place among the calls that wait for events of the caller's world; `None` when too many do.
    pub(crate) fn wait_for(&self, caller: &Caller) -> Option<Waiter<'_>> {
        let place = self.room.place_for(caller)?;
        let mut bells = lock(&self.bells);
        let (calls, bell) = bells.entry(caller.world).or_default();
        *calls += 1;
        Some(Waiter {
            bell: Arc::clone(bell),
            desk: self,
            world: caller.world,
            _place: place,
        })
    }
}

/// A call that waits.
pub(crate) struct Waiter<'a> {
    /// Rings when the log went on.
    pub(crate) bell: Arc<Notify>,
    desk: &'a Desk,
    world: World,
    _place: Place<'a>,
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        let mut bells = lock(&self.desk.bells);
        if let Some((calls, _)) = bells.get_mut(&self.world) {
            *calls -= 1;
            if *calls == 0 {
                bells.remove(&self.world);
            }
        }
    }
}
