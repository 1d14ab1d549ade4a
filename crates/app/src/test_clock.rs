//! `/v1/test/clock`: the clock that codes, links, sessions, TOTP, JWTs and limits of a test world follow.
//!
//! It is kept with the App and read with every key, so that other processes follow within a second; the process that sets it
//! follows at once. Delivery of messages, leases of workers and keys that sign keep the time of the machine.

use vestry_domain::app::App;
use vestry_domain::ids::AppId;
use vestry_domain::test_clock::{ClockChange, Mode, TestClock};
use vestry_domain::{Environment, Timestamp, World};
use vestry_ports::store::SweptApps;

use crate::fault::retried;
use crate::test_env::{TestEnvError, powers};
use crate::{Caller, Fault, Service};

/// Test clocks by which a sweep judges single Apps.
const MOST_CLOCKS: usize = 10_000;

/// What a test clock shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockReading {
    /// The time of the test world.
    pub now: Timestamp,
    /// Whether it stands still.
    pub frozen: bool,
    /// Whether it is a clock of its own, and not the machine's.
    pub is_set: bool,
}

impl Service {
    /// What the clock of the world shows.
    ///
    /// # Errors
    /// [`TestEnvError`].
    pub async fn read_test_clock(&self, caller: &Caller) -> Result<ClockReading, TestEnvError> {
        let app = self.app_of_test(caller).await?;
        self.test_clocks.follow(app.id, app.test_clock);
        Ok(self.reading(&app.test_clock))
    }

    /// Sets the clock of the world.
    ///
    /// # Errors
    /// [`TestEnvError`].
    pub async fn set_test_clock(
        &self,
        caller: &Caller,
        change: ClockChange,
    ) -> Result<ClockReading, TestEnvError> {
        self.swap_test_clock(caller, |known, machine| Ok(known.changed(change, machine)?))
            .await
    }

    /// Gives the world the machine's time back.
    ///
    /// # Errors
    /// [`TestEnvError`].
    pub async fn reset_test_clock(&self, caller: &Caller) -> Result<ClockReading, TestEnvError> {
        self.swap_test_clock(caller, |known, machine| Ok(known.reset(machine)))
            .await
    }

    /// Two changes at once are made one after the other: each is worked out on what the other left.
    async fn swap_test_clock(
        &self,
        caller: &Caller,
        change: impl Fn(&TestClock, Timestamp) -> Result<TestClock, TestEnvError>,
    ) -> Result<ClockReading, TestEnvError> {
        loop {
            let app = self.app_of_test(caller).await?;
            let changed = change(&app.test_clock, self.ports.clock.machine())?;
            if retried(|| self.store_test_clock(&app, &changed)).await? {
                self.test_clocks.follow(app.id, changed);
                return Ok(self.reading(&changed));
            }
        }
    }

    async fn store_test_clock(&self, app: &App, clock: &TestClock) -> Result<bool, Fault> {
        let mut tx = self.ports.store.begin().await?;
        let apps = tx.apps();
        let swapped = apps.swap_test_clock(app.id, &app.test_clock, clock).await?;
        tx.commit().await?;
        Ok(swapped)
    }

    async fn app_of_test(&self, caller: &Caller) -> Result<App, TestEnvError> {
        powers(caller)?;
        let mut read = self.ports.store.read().await?;
        let app = read.apps().find(caller.app.id).await?;
        app.ok_or(TestEnvError::NotFound)
    }

    fn reading(&self, clock: &TestClock) -> ClockReading {
        let machine = self.ports.clock.machine();
        ClockReading {
            now: clock.now(machine),
            frozen: clock.is_frozen(machine),
            is_set: clock.mode != Mode::Machine,
        }
    }

    /// What time it is in the test worlds: for those with the machine's time, and for each with a clock of its own.
    ///
    /// What all Apps share has no clock: it is over once it is over for every App.
    pub(crate) async fn test_times(&self) -> Result<Vec<(SweptApps, Timestamp)>, Fault> {
        let machine = self.ports.clock.machine();
        let apps = self.ports.store.read().await?.apps().list().await?;
        let clocks = apps.iter().map(|app| (app.id, app.test_clock.now(machine)));
        let mut own: Vec<_> = clocks.filter(|(_, now)| *now != machine).collect();
        let earliest = |times: &[(AppId, Timestamp)]| {
            let times = times.iter().map(|(_, now)| *now);
            times.fold(machine, Timestamp::min)
        };
        let shared = World::of_all_apps(Environment::Test).app_id;
        let shared_now = earliest(&own);
        if shared_now != machine {
            own.insert(0, (shared, shared_now));
        }
        // A statement cannot name any number of Apps. Those beyond are judged with the rest, by the earliest of their times.
        let beyond = own.split_off(own.len().min(MOST_CLOCKS));
        let named = own.iter().map(|(app, _)| *app).collect();
        let mut times = vec![(SweptApps::AllBut(named), earliest(&beyond))];
        let apart = own.into_iter().map(|(app, now)| match now < machine {
            true => (SweptApps::Behind(app), now),
            false => (SweptApps::Ahead(app), now),
        });
        times.extend(apart);
        Ok(times)
    }
}
