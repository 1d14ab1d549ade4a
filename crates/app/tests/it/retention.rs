//! PR-60: expired records are deleted in small steps, by one process at a time.

use vestry_app::Caller;
use vestry_app::identity::sessions::IssuedSession;
use vestry_domain::ids::{Id, SessionId};
use vestry_domain::session::Session;
use vestry_domain::test_clock::ClockChange;
use vestry_domain::timestamp::Seconds;
use vestry_domain::token::TokenHash;
use vestry_ports::store::{SWEEP_STEP, SessionPage, Store};

use crate::harness::Harness;

const ADA: &str = "ada@example.com";
/// How long a dead session is kept.
const KEPT: i64 = 7 * 86_400;

/// Stores `many` copies of a session that ended long ago.
async fn bury(harness: &Harness, like: &IssuedSession, many: i64) {
    let over = harness.now() - Seconds(KEPT + 1);
    let mut tx = harness.store.begin().await.unwrap();
    for number in 0..many {
        let mut random = [0; 16];
        random[..8].copy_from_slice(&number.to_be_bytes());
        let session = Session {
            id: SessionId::new(over, random),
            expires_at: over,
            ..like.session.clone()
        };
        let token = TokenHash::of(&format!("{over:?} {number}"));
        tx.sessions().insert(&session, &token).await.unwrap();
    }
    tx.commit().await.unwrap();
}

/// The number of stored sessions of the user, live and dead.
async fn stored(harness: &Harness, caller: &Caller, like: &IssuedSession) -> usize {
    let mut read = harness.store.read().await.unwrap();
    let all = SessionPage {
        alive: None,
        after: None,
        limit: i64::MAX,
    };
    let all = read
        .sessions()
        .page_of_user(&caller.world, like.session.user_id, all)
        .await;
    all.unwrap().len()
}

#[tokio::test]
async fn pr_60_a_sweep_uses_as_many_steps_as_it_needs() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let alive = harness.sign_in(&test, ADA, 60).await;
    bury(&harness, &alive, 2 * SWEEP_STEP + 1).await;
    harness.store.count();
    harness.sweep().await;
    assert_eq!(stored(&harness, &test, &alive).await, 1);
    let (_, writes) = harness.store.count();
    // Everything before the sessions is deleted with their first step, and everything after them with their last.
    assert_eq!(writes, 3);
}

#[tokio::test]
async fn pr_60_one_process_sweeps_at_a_time() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let alive = harness.sign_in(&test, ADA, 600).await;
    let other = harness.other_process();
    harness.sweep().await;
    for (later, left) in [(0, 2), (239, 2), (1, 1)] {
        if stored(&harness, &test, &alive).await == 1 {
            bury(&harness, &alive, 1).await;
        }
        harness.pass(later);
        other.sweep("another process").await;
        assert_eq!(
            stored(&harness, &test, &alive).await,
            left,
            "{later} s later"
        );
    }
    // The last sweeper may sweep again at any time.
    bury(&harness, &alive, 1).await;
    other.sweep("another process").await;
    assert_eq!(stored(&harness, &test, &alive).await, 1);
}

/// Whatever fails, the other kinds are swept, and the rest is deleted the next time.
#[tokio::test]
async fn pr_60_a_failure_leaves_the_rest_to_the_next_sweep() {
    for operations in 1.. {
        let harness = Harness::new().await;
        let test = harness.test().await;
        let alive = harness.sign_in(&test, ADA, 60).await;
        bury(&harness, &alive, 1).await;
        harness.fake.fail_after(operations);
        harness.sweep().await;
        let was_reached = !harness.fake.has_yet_to_fail();
        harness.fake.fail_after(None);
        let left = stored(&harness, &test, &alive).await;
        // First the read of the test environments' clocks fails, without which their records cannot be judged. Then beginning a transaction
        // fails, without which there is no database.
        assert_eq!(left, if operations < 3 { 2 } else { 1 }, "{operations}");
        harness.sweep().await;
        assert_eq!(stored(&harness, &test, &alive).await, 1);
        if !was_reached {
            return;
        }
    }
}

/// A sweep stops at an unreachable database instead of trying it once for each kind of record.
#[tokio::test]
async fn pr_60_a_sweep_stops_without_a_database() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let alive = harness.sign_in(&test, ADA, 60).await;
    bury(&harness, &alive, 1).await;
    harness.fake.set_unavailable(true);
    harness.store.count();
    harness.sweep().await;
    let (_, writes) = harness.store.count();
    assert_eq!(writes, 1);
    harness.fake.set_unavailable(false);
    harness.sweep().await;
    assert_eq!(stored(&harness, &test, &alive).await, 1);
}

/// Each test environment is judged by its own clock. One in the past keeps what has not expired there, and nothing of other Apps; one in
/// the future loses what has expired there.
#[tokio::test]
async fn pr_60_a_test_clock_applies_to_its_own_app_only() {
    let harness = Harness::new().await;
    let (past, present, future) = (
        harness.test().await,
        harness.stranger().await,
        harness.stranger().await,
    );
    let mut sessions = Vec::new();
    for caller in [&past, &present, &future] {
        let session = harness.sign_in(caller, ADA, 60).await;
        bury(&harness, &session, 2).await;
        sessions.push((caller, session));
    }
    // Long before the ended sessions expired, and long after the live ones have.
    for (caller, seconds) in [(&past, -30 * 86_400), (&future, 30 * 86_400)] {
        let change = ClockChange {
            now: None,
            advance_seconds: Some(seconds),
            frozen: None,
        };
        let change = match seconds {
            ..0 => ClockChange {
                now: Some(harness.now().unix() + seconds),
                advance_seconds: None,
                frozen: Some(true),
            },
            _ => change,
        };
        harness
            .service
            .set_test_clock(caller, change)
            .await
            .unwrap();
    }
    harness.sweep().await;
    let mut left = Vec::new();
    for (caller, session) in &sessions {
        left.push(stored(&harness, caller, session).await);
    }
    assert_eq!(left, [3, 1, 0]);
}
