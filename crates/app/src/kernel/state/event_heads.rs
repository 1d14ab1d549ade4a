//! Event state of one process: environments with unsequenced events, known log ends, and waiting calls.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;
use vestry_domain::World;
use vestry_domain::event::{Actor, EventHead};

use crate::kernel::state::waiting_room::{Place, WaitingRoom};

/// Maximum number of calls of one key that wait at the same time.
const WAITING_PER_KEY: usize = 5;
/// Maximum number of log ends kept in memory. Beyond it, all are forgotten, and a rollback of exactly those logs goes unnoticed.
const MAX_ENDS: usize = 10_000;

/// The event state of one process.
pub(crate) struct EventHeads {
    unsequenced: Arc<Unsequenced>,
    ends: Mutex<HashMap<World, EventHead>>,
    pub(crate) room: WaitingRoom,
    bells: Mutex<Bells>,
    stall: Mutex<Stall>,
}

/// Passes of the sequencer that failed, one after the other.
#[derive(Default)]
struct Stall {
    since: Option<Instant>,
    is_reported: bool,
}

/// Environments with unsequenced events.
#[derive(Default)]
pub(crate) struct Unsequenced {
    worlds: Mutex<BTreeSet<World>>,
    bell: Notify,
}

/// Notifiers of environments with waiting calls, and the number of those calls.
type Bells = HashMap<World, (usize, Arc<Notify>)>;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Unsequenced {
    /// Adds environments and wakes the sequencer.
    pub(crate) fn add(&self, worlds: impl IntoIterator<Item = World>) {
        lock(&self.worlds).extend(worlds);
        self.bell.notify_one();
    }
}

impl EventHeads {
    /// Creates the state of a process that reports its committed events to `unsequenced`.
    pub(crate) fn new(unsequenced: Arc<Unsequenced>) -> Self {
        Self {
            unsequenced,
            ends: Mutex::default(),
            room: WaitingRoom::with_places_per_key(WAITING_PER_KEY),
            bells: Mutex::default(),
            stall: Mutex::default(),
        }
    }

    /// Waits until this process commits events, or until an environment is to be checked again.
    pub(crate) async fn unsequenced(&self) {
        self.unsequenced.bell.notified().await;
    }

    /// Takes the environments that have unsequenced events.
    pub(crate) fn take_unsequenced(&self) -> BTreeSet<World> {
        std::mem::take(&mut *lock(&self.unsequenced.worlds))
    }

    /// Marks environments to be checked again.
    pub(crate) fn look_again(&self, worlds: impl IntoIterator<Item = World>) {
        let mut worlds = worlds.into_iter().peekable();
        if worlds.peek().is_some() {
            self.unsequenced.add(worlds);
        }
    }

    /// Records the result of a pass of the sequencer. Returns whether to raise the alarm, which is once, if passes have failed for this long.
    pub(crate) fn note_pass(&self, is_done: bool, alarm_after: Duration) -> bool {
        let mut stall = lock(&self.stall);
        if is_done {
            *stall = Stall::default();
            return false;
        }
        let since = *stall.since.get_or_insert_with(Instant::now);
        let is_due = !stall.is_reported && since.elapsed() >= alarm_after;
        stall.is_reported |= is_due;
        is_due
    }

    /// Returns for how long every pass has failed; `None` if the last one succeeded.
    pub(crate) fn stalled_for(&self) -> Option<Duration> {
        lock(&self.stall).since.map(|since| since.elapsed())
    }

    /// Returns the end of a log when this process last wrote it.
    pub(crate) fn end_of(&self, world: World) -> Option<EventHead> {
        lock(&self.ends).get(&world).copied()
    }

    /// Remembers the new end of a log and wakes the calls that wait for it.
    pub(crate) fn placed(&self, world: World, head: EventHead) {
        let mut ends = lock(&self.ends);
        if ends.len() >= MAX_ENDS && !ends.contains_key(&world) {
            ends.clear();
        }
        ends.insert(world, head);
        drop(ends);
        if let Some((_, bell)) = lock(&self.bells).get(&world) {
            bell.notify_waiters();
        }
    }

    /// Reserves a place among the waiting calls of an environment; `None` if too many wait.
    pub(crate) fn wait_for(&self, world: World, key: Actor) -> Option<Waiter<'_>> {
        let place = self.room.place_for(world.app_id, key)?;
        let mut bells = lock(&self.bells);
        let (calls, bell) = bells.entry(world).or_default();
        *calls += 1;
        Some(Waiter {
            bell: Arc::clone(bell),
            heads: self,
            world,
            _place: place,
        })
    }
}

/// A waiting call.
pub(crate) struct Waiter<'a> {
    /// Notified when the log grows.
    pub(crate) bell: Arc<Notify>,
    heads: &'a EventHeads,
    world: World,
    _place: Place<'a>,
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        let mut bells = lock(&self.heads.bells);
        if let Some((calls, _)) = bells.get_mut(&self.world) {
            *calls -= 1;
            if *calls == 0 {
                bells.remove(&self.world);
            }
        }
    }
}
