//! `/v1/test/clock`: the clock of a test environment, which codes, links, sessions, TOTP, JWTs and limits follow.
//!
//! It is stored with the App and read with every key, so other processes follow within a second. The process that sets it follows at once.
//! Message delivery, worker leases and signing keys follow the machine's time.

use vestry_domain::app::App;
use vestry_domain::audit::control::{ControlAction, Detail, Subject};
use vestry_domain::ids::AppId;
use vestry_domain::test_clock::{ClockChange, Mode, TestClock};
use vestry_domain::{Environment, Timestamp, World};
use vestry_ports::store::SweptApps;

use crate::delivery::test_messages::{TestEnvError, powers};
use crate::kernel::fault::retried;
use crate::{Caller, Fault, Service};

/// Maximum number of Apps that a sweep treats by their own test clock.
const MAX_CLOCKS: usize = 10_000;

/// Reading of a test clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockReading {
    /// The time of the test environment.
    pub now: Timestamp,
    /// Whether the clock is frozen.
    pub frozen: bool,
    /// Whether the clock is set, rather than following the machine's time.
    pub is_set: bool,
}

impl Service {
    /// BatchedReads the clock of the environment.
    ///
    /// # Errors
    /// [`TestEnvError`].
    pub async fn read_test_clock(&self, caller: &Caller) -> Result<ClockReading, TestEnvError> {
        let app = self.app_of_test(caller).await?;
        self.test_clocks.follow(app.id, app.test_clock);
        Ok(self.reading(&app.test_clock))
    }

    /// Sets the clock of the environment.
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

    /// Sets the clock if nothing has changed it since a revision. A form that is sent twice thus moves it once.
    ///
    /// Returns `None` if something has.
    ///
    /// # Errors
    /// [`TestEnvError`].
    pub async fn set_test_clock_from(
        &self,
        caller: &Caller,
        revision: i64,
        change: ClockChange,
    ) -> Result<Option<ClockReading>, TestEnvError> {
        let app = self.app_of_test(caller).await?;
        if app.test_clock.revision != revision {
            return Ok(None);
        }
        let changed = app.test_clock.changed(change, self.ports.clock.machine())?;
        if !retried(|| self.store_test_clock(caller, &app, &changed)).await? {
            return Ok(None);
        }
        self.test_clocks.follow(app.id, changed);
        Ok(Some(self.reading(&changed)))
    }

    /// Resets the environment to the machine's time.
    ///
    /// # Errors
    /// [`TestEnvError`].
    pub async fn reset_test_clock(&self, caller: &Caller) -> Result<ClockReading, TestEnvError> {
        self.swap_test_clock(caller, |known, machine| Ok(known.reset(machine)))
            .await
    }

    /// Applies a change to the clock. Concurrent changes are serialised, each applied to the result of the previous one.
    async fn swap_test_clock(
        &self,
        caller: &Caller,
        change: impl Fn(&TestClock, Timestamp) -> Result<TestClock, TestEnvError>,
    ) -> Result<ClockReading, TestEnvError> {
        loop {
            let app = self.app_of_test(caller).await?;
            let changed = change(&app.test_clock, self.ports.clock.machine())?;
            if retried(|| self.store_test_clock(caller, &app, &changed)).await? {
                self.test_clocks.follow(app.id, changed);
                return Ok(self.reading(&changed));
            }
        }
    }

    async fn store_test_clock(
        &self,
        caller: &Caller,
        app: &App,
        clock: &TestClock,
    ) -> Result<bool, Fault> {
        // The App's own tests move the clock often, and with their key.
        let is_recorded = caller.key().is_none();
        let world = caller.world;
        let mut tx = self.begin_change_if(is_recorded, world).await?;
        let apps = tx.apps();
        if !apps.swap_test_clock(app.id, &app.test_clock, clock).await? {
            return Ok(false);
        }
        if is_recorded {
            let reading = self.reading(clock);
            let detail = Detail::default()
                .with("now", reading.now.unix())
                .with("frozen", reading.frozen)
                .with("set", reading.is_set);
            let (action, subject) = (ControlAction::TestClockSet, Subject::world(&world));
            tx.note(self.done(&caller.into(), action, subject, &detail));
        }
        tx.commit_with_any().await?;
        Ok(true)
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

    /// Returns the times of the test environments: one for those that follow the machine, and one for each with its own clock.
    ///
    /// Data shared by all Apps has no clock: it expires once it has expired for every App.
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
        // A statement cannot list arbitrarily many Apps. The excess is swept with the rest, by the earliest of their times.
        let beyond = own.split_off(own.len().min(MAX_CLOCKS));
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
