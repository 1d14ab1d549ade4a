//! Send counters.

use std::sync::Arc;

use vestry_domain::limits::{Limit, LimitVerdict};
use vestry_domain::timestamp::Seconds;
use vestry_domain::{Timestamp, World};
use vestry_ports::store::{SWEEP_STEP, Store};

use super::stage::{Stage, may_run_again, works};
use crate::race::{count, race};

const LIMIT: Limit = Limit {
    most: 3,
    window: Seconds(600),
};
const NAME: &str = "contract_sends";

impl Stage {
    async fn consume_quota(
        &self,
        world: World,
        subject: &str,
        limit: Limit,
        now: Timestamp,
    ) -> LimitVerdict {
        in_tx!(self.store, |tx| tx
            .quotas()
            .consume(&world, NAME, subject, limit, now)
            .await)
    }
}

/// Exactly `most` uses are admitted per window, with the remaining count and one fixed reset time (OTP-10).
pub async fn a_window_admits_exactly_its_limit(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let opened = stage.samples.tick();
    for (used, later) in [(1, 0), (2, 0), (3, 300), (4, 599)] {
        let verdict = stage
            .consume_quota(world, "subject", LIMIT, opened + Seconds(later))
            .await;
        assert_eq!(verdict, LimitVerdict::on(LIMIT, used, opened));
        assert_eq!(verdict.admitted, used <= 3);
    }
}

/// Uses beyond the limit are rejected, however many, and the remaining count never goes below zero.
pub async fn a_full_window_stays_full(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let opened = stage.samples.tick();
    for used in 1..=20 {
        let verdict = stage.consume_quota(world, "subject", LIMIT, opened).await;
        let remaining = [2, 1].get(used - 1).copied().unwrap_or(0);
        assert_eq!(
            (verdict.admitted, verdict.remaining),
            (used <= 3, remaining)
        );
        assert_eq!((verdict.limit, verdict.reset), (3, opened + LIMIT.window));
    }
}

/// The first use at or after the reset opens a new window of full length.
pub async fn a_new_window_opens_at_the_reset(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let mut opened = stage.samples.tick();
    for pause in [0, 600, 601, 100_000] {
        opened = opened + Seconds(pause);
        for used in 1..=4 {
            let verdict = stage.consume_quota(world, "subject", LIMIT, opened).await;
            assert_eq!(
                verdict,
                LimitVerdict::on(LIMIT, used, opened),
                "after {pause}"
            );
        }
    }
}

/// Uses that no limit rejects are added to their window at commit, along with those that return a count. A use whose transaction is dropped
/// does not count.
pub async fn unlimited_uses_are_counted(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let opened = stage.samples.tick();
    let window = LIMIT.window;
    for (used, later) in [(1, 0), (2, 300), (3, 599), (1, 600)] {
        let now = opened + Seconds(later);
        let mut dropped = works(stage.store.begin().await);
        works(
            dropped
                .quotas()
                .count(&world, NAME, "subject", window, now)
                .await,
        );
        drop(dropped);
        in_tx!(stage.store, |tx| tx
            .quotas()
            .count(&world, NAME, "subject", window, now)
            .await);
        let mut read = works(stage.store.read().await);
        let total = works(read.quotas().total(&world, NAME, now).await);
        assert_eq!(total, used, "after {later} seconds");
    }
    let again = stage
        .consume_quota(world, "subject", LIMIT, opened + Seconds(600))
        .await;
    assert_eq!(again, LimitVerdict::on(LIMIT, 2, opened + Seconds(600)));
}

/// A use whose transaction is dropped does not count.
pub async fn a_dropped_use_is_given_back(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let now = stage.samples.tick();
    for _ in 0..5 {
        let mut tx = works(stage.store.begin().await);
        let verdict = works(
            tx.quotas()
                .consume(&world, NAME, "subject", LIMIT, now)
                .await,
        );
        assert_eq!(verdict.remaining, 2);
        drop(tx);
    }
}

/// A refunded use can be spent again in the same window, and the count never goes below zero. Other counters and unused ones are left alone
/// (attack 7).
pub async fn uses_are_given_back(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let [other, ..] = stage.strangers(world).await;
    let now = stage.samples.tick();
    let give = async |world: World, subject: &str, uses: u32| {
        in_tx!(stage.store, |tx| tx
            .quotas()
            .refund(&world, NAME, subject, uses)
            .await);
    };
    give(world, "subject", 3).await;
    for (world, subject) in [(world, "subject"), (world, "bystander"), (other, "subject")] {
        for used in 1..=3 {
            let verdict = stage.consume_quota(world, subject, LIMIT, now).await;
            assert_eq!(verdict, LimitVerdict::on(LIMIT, used, now), "{subject}");
        }
    }
    give(world, "subject", 2).await;
    for used in [2, 3, 4] {
        let verdict = stage.consume_quota(world, "subject", LIMIT, now).await;
        assert_eq!(verdict, LimitVerdict::on(LIMIT, used, now));
    }
    give(world, "subject", 1_000).await;
    let verdict = stage.consume_quota(world, "subject", LIMIT, now).await;
    assert_eq!(verdict, LimitVerdict::on(LIMIT, 1, now));
    for (world, subject) in [(world, "bystander"), (other, "subject")] {
        let verdict = stage.consume_quota(world, subject, LIMIT, now).await;
        assert_eq!(verdict, LimitVerdict::on(LIMIT, 4, now), "{subject}");
    }
}

/// Counters that are reset start over, under all the given names and for the given subject, and nowhere else (M-5).
pub async fn forgotten_windows_begin_anew(store: Arc<dyn Store>) {
    const NAMES: [&str; 3] = ["contract_a", "contract_b", "contract_c"];
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let [other, ..] = stage.strangers(world).await;
    let now = stage.samples.tick();
    let places = [(world, "subject"), (world, "bystander"), (other, "subject")];
    let consume = async |world: World, name: &'static str, subject: &str| {
        in_tx!(stage.store, |tx| tx
            .quotas()
            .consume(&world, name, subject, LIMIT, now)
            .await)
        .remaining
    };
    for (world, subject) in places {
        for name in NAMES {
            assert_eq!(consume(world, name, subject).await, 2);
        }
    }
    in_tx!(stage.store, |tx| tx
        .quotas()
        .forget(&world, &NAMES[..2], "subject")
        .await);
    for (place, subject) in places {
        for name in NAMES {
            let forgotten = place == world && subject == "subject" && name != NAMES[2];
            let remaining = consume(place, name, subject).await;
            assert_eq!(remaining, if forgotten { 2 } else { 1 }, "{name} {subject}");
        }
    }
}

/// Uses of all subjects of a name are added up while their windows are open, without other names and worlds (M-6).
pub async fn open_windows_are_added_up(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let [other, ..] = stage.strangers(world).await;
    let opened = stage.samples.tick();
    let total =
        async |now: Timestamp| in_tx!(stage.store, |tx| tx.quotas().total(&world, NAME, now).await);
    assert_eq!(total(opened).await, 0);
    for (world, subject, uses, later) in [
        (world, "one", 5, 0),
        (world, "two", 2, 0),
        (world, "three", 1, 100),
        (other, "one", 9, 0),
    ] {
        for _ in 0..uses {
            stage
                .consume_quota(world, subject, LIMIT, opened + Seconds(later))
                .await;
        }
    }
    in_tx!(stage.store, |tx| tx
        .quotas()
        .consume(&world, "contract_other", "one", LIMIT, opened)
        .await);
    let window = LIMIT.window;
    for (now, expected) in [
        (opened - Seconds(1), 0),
        (opened, 7),
        (opened + Seconds(100), 8),
        (opened + window - Seconds(1), 8),
        (opened + window, 1),
        (opened + window + Seconds(100), 0),
    ] {
        assert_eq!(total(now).await, expected, "{now:?}");
    }
}

/// A disabled limit admits every use.
pub async fn a_limit_that_is_off_admits_everything(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let now = stage.samples.tick();
    let off = Limit { most: 0, ..LIMIT };
    for _ in 0..20 {
        assert!(
            stage
                .consume_quota(world, "subject", off, now)
                .await
                .admitted
        );
    }
}

/// Names, subjects and worlds are counted separately (I11), odd subjects included.
pub async fn counters_are_apart(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let now = stage.samples.tick();
    let one = Limit { most: 1, ..LIMIT };
    let mut worlds = vec![world];
    worlds.extend(stage.strangers(world).await);
    for world in worlds {
        for name in ["contract_a", "contract_b"] {
            for subject in crate::samples::ODD_TEXTS {
                for admitted in [true, false] {
                    let verdict = in_tx!(stage.store, |tx| tx
                        .quotas()
                        .consume(&world, name, subject, one, now)
                        .await);
                    assert_eq!(verdict.admitted, admitted, "{name} {subject:?}");
                }
            }
        }
    }
}

/// Of thirty parallel uses in a window of ten exactly ten are admitted, whether or not the others drop their transactions, as the service
/// does (R5, OTP-10).
pub async fn parallel_uses_are_exact(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let now = stage.samples.tick();
    let ten = Limit { most: 10, ..LIMIT };
    for (subject, drops) in [("dropping", true), ("committing", false)] {
        let admitted = race((0..30).map(|_| {
            let store = Arc::clone(&stage.store);
            async move { spend_or_drop(&*store, world, subject, ten, now, drops).await }
        }))
        .await;
        assert_eq!(count(&admitted, &true), 10, "{subject}");
    }
}

async fn spend_or_drop(
    store: &dyn Store,
    world: World,
    subject: &str,
    limit: Limit,
    now: Timestamp,
    drops: bool,
) -> bool {
    let mut tries = 0;
    loop {
        let mut tx = works(store.begin().await);
        let spent = tx.quotas().consume(&world, NAME, subject, limit, now).await;
        let lost = match spent {
            Ok(verdict) if drops && !verdict.admitted => return false,
            Ok(verdict) => match tx.commit().await {
                Ok(()) => return verdict.admitted,
                Err(lost) => lost,
            },
            Err(lost) => lost,
        };
        tries += 1;
        may_run_again(&lost, tries);
    }
}

/// A sweep deletes the windows of all worlds of an environment that closed before the given time, and returns how many; the others
/// continue.
pub async fn a_sweep_deletes_closed_windows(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let (world, alike, other) = stage.swept_worlds().await;
    let environment = world.environment;
    let opened = stage.samples.tick();
    let closes = opened + LIMIT.window;
    for (world, subject, later) in [
        (world, "old", 0),
        (alike, "old", 0),
        (other, "old", 0),
        (world, "young", 1),
    ] {
        stage
            .consume_quota(world, subject, LIMIT, opened + Seconds(later))
            .await;
    }
    for (moment, expected) in [
        (closes, 0),
        (closes + Seconds(1), 2),
        (closes + Seconds(1), 0),
    ] {
        let swept = in_tx!(stage.store, |tx| tx
            .quotas()
            .sweep(&environment.into(), moment)
            .await);
        assert_eq!(swept, expected);
    }
    let swept = in_tx!(stage.store, |tx| tx
        .quotas()
        .sweep(&other.environment.into(), closes + Seconds(1))
        .await);
    assert_eq!(swept, 1, "the other environment must be left alone");
    let verdict = stage.consume_quota(world, "young", LIMIT, closes).await;
    assert_eq!(verdict, LimitVerdict::on(LIMIT, 2, opened + Seconds(1)));
}

/// A sweep deletes a thousand rows at most; after a full batch there may be more (PR-60).
pub async fn a_sweep_goes_in_steps(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let (opened, step) = (stage.samples.tick(), u64::try_from(SWEEP_STEP).unwrap_or(0));
    let closes = opened + LIMIT.window;
    in_tx!(stage.store, |tx| {
        for number in 0..step + 2 {
            let subject = number.to_string();
            let spent = tx.quotas().consume(&world, NAME, &subject, LIMIT, opened);
            spent.await?;
        }
        Ok(())
    });
    for (expected, left) in [(step, 2), (2, 0), (0, 0)] {
        let moment = closes + Seconds(1);
        let swept = in_tx!(stage.store, |tx| tx
            .quotas()
            .sweep(&world.environment.into(), moment)
            .await);
        let total = in_tx!(stage.store, |tx| tx
            .quotas()
            .total(&world, NAME, opened)
            .await);
        assert_eq!((swept, total), (expected, left));
    }
}
