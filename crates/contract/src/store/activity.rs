//! Counts of what happened.

use std::sync::{Arc, Mutex, PoisonError};

use vestry_domain::activity::{ActivityCount, Latency, Measure, Period, SignInMethod};
use vestry_domain::event::Via;
use vestry_domain::timestamp::Seconds;
use vestry_domain::{Timestamp, World};
use vestry_ports::store::{CommitEffect, SWEEP_STEP, Store};

use super::stage::{Stage, works};
use crate::race::race;

const SIGN_IN: Measure = Measure::SignIn(SignInMethod::Passkey);
const START: Timestamp = Timestamp::from_unix(1_800_000_000);

const fn hour(world: World, measure: Measure, count: u64) -> ActivityCount {
    ActivityCount {
        world,
        period: Period::Hour,
        starts_at: START,
        measure,
        count,
    }
}

impl Stage {
    async fn add_counts(&self, counts: &[ActivityCount]) {
        in_tx!(self.store, |tx| tx.activity().add(counts).await);
    }

    async fn counts(&self, world: World, period: Period) -> Vec<ActivityCount> {
        let until = START + Seconds(100 * 86_400);
        in_view!(self.store, |view| view
            .activity()
            .read(&world, period, START, until)
            .await)
    }
}

/// Counts are added to those that exist, apart by world, period, start and measure.
pub async fn counts_are_added(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let others = stage.strangers(world).await;
    let once = hour(world, SIGN_IN, 1);
    let day = ActivityCount {
        period: Period::Day,
        count: 9,
        ..once
    };
    let created = hour(world, Measure::UserCreated(Via::Invite), 5);
    // More rows than one statement has.
    let later = (1..=100).map(|hour| ActivityCount {
        starts_at: START + Seconds(hour * 3_600),
        measure: Measure::WebhookMs(Latency::Longer),
        ..once
    });
    let later: Vec<_> = later.collect();
    stage.add_counts(&[once]).await;
    stage.add_counts(&[once, created, day]).await;
    stage.add_counts(&later).await;
    stage.add_counts(&[]).await;
    let mut expected = vec![hour(world, SIGN_IN, 2), created];
    expected.extend(&later);
    assert_eq!(stage.counts(world, Period::Hour).await, expected);
    assert_eq!(stage.counts(world, Period::Day).await, [day]);
    for other in others {
        assert_eq!(stage.counts(other, Period::Hour).await, []);
    }
    let part = in_view!(stage.store, |view| {
        let (from, until) = (START + Seconds(3_600), START + Seconds(7_200));
        let activity = view.activity();
        activity.read(&world, Period::Hour, from, until).await
    });
    assert_eq!(part, later.get(..1).unwrap_or_default());
}

/// Parallel additions to one count lose nothing.
pub async fn parallel_additions_are_exact(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let counts = [SIGN_IN, Measure::UserCreated(Via::Create)].map(|one| hour(world, one, 3));
    race((0..16).map(|_| {
        let store = Arc::clone(&stage.store);
        async move { in_tx!(store, |tx| tx.activity().add(&counts).await) }
    }))
    .await;
    let expected = counts.map(|one| ActivityCount { count: 48, ..one });
    assert_eq!(stage.counts(world, Period::Hour).await, expected);
}

/// A sweep deletes the counts of one period that start before a time, a thousand at most.
pub async fn a_sweep_deletes_old_counts(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let [other, ..] = stage.strangers(world).await;
    let step = u64::try_from(SWEEP_STEP).unwrap_or_default();
    let hours = (0..SWEEP_STEP).map(|hour| ActivityCount {
        starts_at: START + Seconds(hour),
        ..self::hour(world, SIGN_IN, 1)
    });
    let hours: Vec<_> = hours.collect();
    let last = START + Seconds(SWEEP_STEP);
    let kept = ActivityCount {
        starts_at: last,
        ..hour(world, SIGN_IN, 1)
    };
    let day = ActivityCount {
        period: Period::Day,
        ..hour(world, SIGN_IN, 1)
    };
    stage.add_counts(&hours).await;
    stage.add_counts(&[kept, day]).await;
    stage.add_counts(&[hour(other, SIGN_IN, 1)]).await;
    for expected in [step, 1, 0] {
        let swept = in_tx!(stage.store, |tx| tx
            .activity()
            .sweep(Period::Hour, last)
            .await);
        assert_eq!(swept, expected);
    }
    assert_eq!(stage.counts(world, Period::Hour).await, [kept]);
    assert_eq!(stage.counts(world, Period::Day).await, [day]);
}

/// Facts that are noted in a transaction reach the hook after its commit, each of them, and never without it (CON-20).
pub async fn facts_are_reported_after_the_commit(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let reported: Arc<Mutex<Vec<CommitEffect>>> = Arc::default();
    let heard = Arc::clone(&reported);
    stage.store.on_commit(Box::new(move |committed| {
        heard
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(committed);
    }));
    let take = || std::mem::take(&mut *reported.lock().unwrap_or_else(PoisonError::into_inner));
    let mut tx = works(stage.store.begin().await);
    tx.activity().note(&world, SIGN_IN, 1);
    drop(tx);
    let mut tx = works(stage.store.begin().await);
    tx.activity().note(&world, SIGN_IN, 1);
    tx.activity().note(&world, SIGN_IN, 1);
    assert_eq!(take(), []);
    works(tx.commit().await);
    let counted = || CommitEffect::Counted(world, SIGN_IN, 1);
    assert_eq!(take(), [counted(), counted()]);
}
