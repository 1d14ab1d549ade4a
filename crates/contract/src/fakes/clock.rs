//! A clock that only a test can move.

use std::collections::HashMap;
use std::sync::Mutex;

use vestry_domain::timestamp::Seconds;
use vestry_domain::{Timestamp, World};
use vestry_ports::clock::Clock;

use super::lock;

/// A clock that only a test can move.
#[derive(Debug)]
pub struct FakeClock(Mutex<Times>);

#[derive(Debug)]
struct Times {
    machine: Timestamp,
    worlds: HashMap<World, Timestamp>,
}

impl FakeClock {
    /// A clock set to this moment.
    pub fn at(moment: Timestamp) -> Self {
        Self(Mutex::new(Times {
            machine: moment,
            worlds: HashMap::new(),
        }))
    }

    /// Sets the machine, and every world without its own clock, to this moment.
    pub fn set(&self, moment: Timestamp) {
        lock(&self.0).machine = moment;
    }

    /// Advances the machine and every world.
    pub fn advance(&self, length: Seconds) {
        let mut times = lock(&self.0);
        times.machine = times.machine + length;
        for moment in times.worlds.values_mut() {
            *moment = *moment + length;
        }
    }

    /// Gives a world its own clock, set to this moment.
    pub fn set_world(&self, world: World, moment: Timestamp) {
        lock(&self.0).worlds.insert(world, moment);
    }
}

impl Clock for FakeClock {
    fn now(&self, world: &World) -> Timestamp {
        let times = lock(&self.0);
        times.worlds.get(world).copied().unwrap_or(times.machine)
    }

    fn machine(&self) -> Timestamp {
        lock(&self.0).machine
    }
}
