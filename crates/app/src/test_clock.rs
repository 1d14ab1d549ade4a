//! `/v1/test/clock`: the clock that codes, links, sessions, TOTP, JWTs and limits of a test world follow.
//!
//! It is kept with the App and read with every key, so that other processes follow within a second; the process that sets it
//! follows at once. Delivery of messages, leases of workers and keys that sign keep the time of the machine.

use vestry_domain::Timestamp;
use vestry_domain::app::App;
use vestry_domain::test_clock::{ClockChange, Mode, TestClock};

use crate::fault::retried;
use crate::test_env::{TestEnvError, powers};
use crate::{Caller, Fault, Service};

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

    /// The earliest time that any test world has: what expired before it is over in all of them.
    pub(crate) async fn earliest_test_now(&self) -> Result<Timestamp, Fault> {
        let machine = self.ports.clock.machine();
        let apps = self.ports.store.read().await?.apps().list().await?;
        let clocks = apps.iter().map(|app| app.test_clock.now(machine));
        Ok(clocks.fold(machine, Timestamp::min))
    }
}
