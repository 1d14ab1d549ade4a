//! Failures and settings specific to Postgres.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Barrier;
use tokio::time::Instant;
use vestry_contract::samples::Samples;
use vestry_domain::timestamp::Seconds;
use vestry_domain::user::UserStatus;
use vestry_domain::{Environment, Timestamp, World};
use vestry_ports::store::{Store, StoreError, StoreResult, Tx};
use vestry_store_sql::{Settings, SqlStore};

use crate::places::{self, Place};

const NOW: Timestamp = Timestamp::from_unix(1_800_000_000);

fn a_world() -> World {
    World::new(Samples::fresh().app().id, Environment::Live)
}

async fn fail_once(store: &dyn Store, world: &World, subject: &str) -> StoreResult<i64> {
    let mut tx = store.begin().await?;
    let failures = tx.lockouts().fail(world, subject, NOW).await?;
    tx.commit().await?;
    Ok(failures)
}

/// Terminates every other connection to the database.
async fn terminate_all(place: &Place) {
    place
        .execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
             WHERE datname = current_database() AND pid <> pg_backend_pid()",
        )
        .await;
}

/// K4, K5: every connection of a pool is killed, both idle ones and one in a transaction. The transaction is lost and reports it. The pool
/// serves again within five seconds, and until then reports that the database is unavailable.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_connections_are_replaced() {
    let Some(place) = places::migrated_postgres().await else {
        return;
    };
    let store = place.connect().await;
    let world = a_world();
    for round in 0..5 {
        let mut open = Vec::new();
        for _ in 0..4 {
            open.push(store.read().await.unwrap());
        }
        let mut tx = store.begin().await.unwrap();
        let counted = tx.lockouts().fail(&world, "subject", NOW).await.unwrap();
        assert_eq!(counted, round + 1);
        drop(open);
        terminate_all(&place).await;
        let committed = tx.commit().await;
        assert!(
            matches!(committed, Err(StoreError::Unavailable(_))),
            "{committed:?}"
        );

        let until = Instant::now() + Duration::from_secs(5);
        loop {
            match fail_once(&store, &world, "subject").await {
                Ok(failures) => break assert_eq!(failures, round + 1),
                Err(StoreError::Unavailable(_)) => assert!(Instant::now() < until, "too late"),
                Err(other) => panic!("{other:?}"),
            }
        }
    }
}

/// K4: a statement cancelled by an operator fails as unavailable, inside and outside of a transaction, and the pool serves again at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancelled_statement_is_unavailable() {
    let Some(place) = places::migrated_postgres().await else {
        return;
    };
    let store = Arc::new(place.connect().await);
    let world = a_world();
    let mut first = store.begin().await.unwrap();
    first.lockouts().fail(&world, "subject", NOW).await.unwrap();
    let (waiting, subject) = (Arc::clone(&store), world);
    let waits = tokio::spawn(async move { fail_once(&*waiting, &subject, "subject").await });
    // At first no statement is waiting, and there is nothing to cancel.
    while !waits.is_finished() {
        let cancel = "SELECT pg_cancel_backend(pid) FROM pg_stat_activity \
             WHERE datname = current_database() AND wait_event_type = 'Lock'";
        place.execute(cancel).await;
    }
    let cancelled = waits.await.unwrap();
    assert!(
        matches!(cancelled, Err(StoreError::Unavailable(_))),
        "{cancelled:?}"
    );
    first.commit().await.unwrap();
    let failures = fail_once(&*store, &world, "subject").await.unwrap();
    assert_eq!(failures, 2);
}

/// Slightly more operations than the runtime's budget for one turn of a task.
const TURN: usize = 130;

/// Uses up this much of a task's budget: its next operation may have to wait for another turn.
async fn use_turn(spent: usize) {
    // Earlier operations have used up part of this turn.
    tokio::task::yield_now().await;
    let (send, mut receive) = tokio::sync::mpsc::unbounded_channel();
    for _ in 0..spent {
        send.send(()).unwrap();
        receive.recv().await.unwrap();
    }
}

/// Opens a store with one connection.
async fn one_connection(place: &Place) -> SqlStore {
    let mut settings = place.settings.clone();
    settings.connections = 1;
    SqlStore::connect(&settings).await.unwrap()
}

/// The opening of a transaction is sent together with its first statement, and before it, whatever is left of the task's budget.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_statement_precedes_its_transaction() {
    let Some(place) = places::migrated_postgres().await else {
        return;
    };
    let store = one_connection(&place).await;
    let world = a_world();
    for spent in 0..=TURN {
        let mut tx = store.begin().await.unwrap();
        use_turn(spent).await;
        let failures = tx.lockouts().fail(&world, "subject", NOW).await.unwrap();
        assert_eq!(failures, 1, "the rolled-back change exists, {spent}");
        drop(tx);
    }
}

/// Counts a failure, then makes a change that the database refuses together with the commit, whatever is left of the task's budget: the
/// failure must never be stored.
async fn is_undone(store: &SqlStore, what: &str, refused: impl AsyncFn(&mut dyn Tx)) {
    let world = a_world();
    for spent in 0..=TURN {
        let mut tx = store.begin().await.unwrap();
        let failures = tx.lockouts().fail(&world, "subject", NOW).await.unwrap();
        assert_eq!(failures, 1, "{what} exists, {spent}");
        refused(&mut *tx).await;
        use_turn(spent).await;
        let committed = tx.commit().await;
        assert!(
            matches!(committed, Err(StoreError::Other(_))),
            "{committed:?}"
        );
    }
}

/// E-1: events are sent together with the commit, and before it. If they are refused, nothing is committed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn e_1_no_commit_precedes_its_events() {
    let Some(place) = places::migrated_postgres().await else {
        return;
    };
    let store = one_connection(&place).await;
    let mut event = Samples::fresh().event(a_world());
    let mut tx = store.begin().await.unwrap();
    tx.events().append(&[event.clone()]).await.unwrap();
    tx.commit().await.unwrap();
    // Postgres text cannot contain this character.
    event.request_id = Some("\0".to_owned());
    is_undone(&store, "a change without its event", async |tx| {
        tx.events().append(&[event.clone()]).await.unwrap();
    })
    .await;
}

/// Deferred statements are sent with the commit, and before it: the commit fails if one of them did.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_commit_precedes_its_deferred_statements() {
    let Some(place) = places::migrated_postgres().await else {
        return;
    };
    let store = one_connection(&place).await;
    let user = Samples::fresh().user(a_world());
    let mut tx = store.begin().await.unwrap();
    tx.users().insert(&user).await.unwrap();
    tx.commit().await.unwrap();
    is_undone(&store, "half a transaction", async |tx| {
        // This id already exists. A new connection has to prepare the statement first, so it refuses it at once.
        // The commit must fail then too.
        let _refused_at_once = tx.users().insert(&user).await;
    })
    .await;
}

/// Deferred statements are dropped with their abandoned transaction, and do not run in the next one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deferred_statements_are_dropped_with_their_transaction() {
    let Some(place) = places::migrated_postgres().await else {
        return;
    };
    let store = one_connection(&place).await;
    let mut samples = Samples::fresh();
    let world = a_world();
    let first = samples.user(world);
    let mut tx = store.begin().await.unwrap();
    tx.users().insert(&first).await.unwrap();
    tx.commit().await.unwrap();
    let (given_up, kept) = (samples.user(world), samples.user(world));
    let mut tx = store.begin().await.unwrap();
    tx.users().insert(&given_up).await.unwrap();
    drop(tx);
    let mut tx = store.begin().await.unwrap();
    tx.users().insert(&kept).await.unwrap();
    tx.commit().await.unwrap();
    let mut read = store.read().await.unwrap();
    let mut found = read.users().walk(&world, None, 10).await.unwrap();
    found.sort();
    let mut expected = vec![first.id, kept.id];
    expected.sort();
    assert_eq!(found, expected);
}

/// A statement that is running when its connection is killed fails as unavailable, not as a bug.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_statement_is_unavailable() {
    let Some(place) = places::migrated_postgres().await else {
        return;
    };
    let store = Arc::new(place.connect().await);
    let world = a_world();
    let mut holder = store.begin().await.unwrap();
    holder
        .lockouts()
        .fail(&world, "subject", NOW)
        .await
        .unwrap();
    let waiter = tokio::spawn({
        let store = Arc::clone(&store);
        async move { fail_once(&*store, &world, "subject").await }
    });
    place
        .execute(
            "DO $$ BEGIN LOOP \
                 PERFORM pg_terminate_backend(pid) FROM pg_stat_activity \
                     WHERE datname = current_database() AND wait_event_type = 'Lock'; \
                 EXIT WHEN FOUND; \
                 PERFORM pg_stat_clear_snapshot(); \
             END LOOP; END $$",
        )
        .await;
    let outcome = waiter.await.unwrap();
    assert!(
        matches!(outcome, Err(StoreError::Unavailable(_))),
        "{outcome:?}"
    );
    holder.commit().await.unwrap();
}

/// A transaction that is abandoned while its statement waits for a lock frees its place in the pool at once, and its statement does not
/// take effect later.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_abandoned_lock_wait_frees_its_connection() {
    let Some(place) = places::migrated_postgres().await else {
        return;
    };
    let mut settings = place.settings.clone();
    settings.connections = 2;
    settings.acquire_timeout = Duration::from_secs(1);
    let store = SqlStore::connect(&settings).await.unwrap();
    let world = a_world();
    let mut holder = store.begin().await.unwrap();
    holder
        .lockouts()
        .fail(&world, "subject", NOW)
        .await
        .unwrap();
    let mut waiter = store.begin().await.unwrap();
    {
        let mut waiting = pin!(waiter.lockouts().fail(&world, "subject", NOW));
        let blocked = place.execute(
            "DO $$ BEGIN LOOP \
                 PERFORM 1 FROM pg_stat_activity \
                     WHERE datname = current_database() AND wait_event_type = 'Lock'; \
                 EXIT WHEN FOUND; \
                 PERFORM pg_stat_clear_snapshot(); \
             END LOOP; END $$",
        );
        tokio::select! {
            counted = &mut waiting => panic!("the statement did not wait: {counted:?}"),
            () = blocked => {}
        }
    }
    drop(waiter);
    let elsewhere = fail_once(&store, &world, "another subject").await;
    assert_eq!(elsewhere.unwrap(), 1);
    holder.commit().await.unwrap();
    assert_eq!(fail_once(&store, &world, "subject").await.unwrap(), 2);
}

/// PR-51: a lock wait fails after five seconds with "database busy", also behind a pooler, where no session setting lasts.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lock_waits_time_out() {
    let Some(place) = places::migrated_postgres().await else {
        return;
    };
    let store = place.connect().await;
    let world = a_world();
    let mut holder = store.begin().await.unwrap();
    holder
        .lockouts()
        .fail(&world, "subject", NOW)
        .await
        .unwrap();
    let waited = tokio::time::timeout(
        Duration::from_secs(25),
        fail_once(&store, &world, "subject"),
    );
    let waited = waited.await.expect("the wait has no time limit");
    assert!(matches!(waited, Err(StoreError::Busy)), "{waited:?}");
    holder.commit().await.unwrap();
}

/// Two transactions that update the same counters do not block each other before their commits. There they lock the counters in a fixed
/// order, whichever each updated first. The updates of an abandoned transaction do not leak into the next one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn counters_are_locked_only_during_the_commit() {
    let Some(place) = places::migrated_postgres().await else {
        return;
    };
    let store = place.connect().await;
    let mut samples = Samples::fresh();
    let world = a_world();
    // In every shard of the counter, and of both statuses.
    let mut users: Vec<_> = (0..64).map(|_| samples.user(world)).collect();
    for (user, status) in users.iter_mut().zip(
        [UserStatus::Pending, UserStatus::Active]
            .into_iter()
            .cycle(),
    ) {
        user.status = status;
    }
    for round in 1..=60 {
        let [mut one, mut other, mut given_up] = [
            store.begin().await.unwrap(),
            store.begin().await.unwrap(),
            store.begin().await.unwrap(),
        ];
        for tx in [&mut one, &mut other, &mut given_up] {
            users.reverse();
            for user in &mut users {
                user.id = samples.id(NOW);
                tx.users().insert(user).await.unwrap();
                let window = Seconds(60);
                let counted = tx.quotas().count(&world, "contract", "all", window, NOW);
                counted.await.unwrap();
            }
        }
        drop(given_up);
        let (one, other) = tokio::join!(one.commit(), other.commit());
        assert_eq!((one.unwrap(), other.unwrap()), ((), ()));
        let mut read = store.read().await.unwrap();
        let used = read.quotas().total(&world, "contract", NOW).await.unwrap();
        assert_eq!(used, round * 128);
        let is_wrong = format!(
            "DO $$ BEGIN IF (SELECT sum(users) FROM user_counts WHERE app_id = '{}') <> {} \
             THEN RAISE 'unexpected rows exist'; END IF; END $$",
            world.app_id,
            round * 128
        );
        place.execute(&is_wrong).await;
    }
}

/// R14: of two deadlocked transactions one continues, and the other gets a retryable error.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deadlock_ends_with_a_retry() {
    let Some(place) = places::migrated_postgres().await else {
        return;
    };
    let store = Arc::new(place.connect().await);
    let world = a_world();
    let both_hold_one = Arc::new(Barrier::new(2));
    let cross = |first: &'static str, second: &'static str| {
        let (store, barrier) = (Arc::clone(&store), Arc::clone(&both_hold_one));
        tokio::spawn(async move {
            let mut tx = store.begin().await?;
            tx.lockouts().fail(&world, first, NOW).await?;
            barrier.wait().await;
            tx.lockouts().fail(&world, second, NOW).await?;
            tx.commit().await
        })
    };
    let (one, other) = (cross("a", "b"), cross("b", "a"));
    let outcomes = [one.await.unwrap(), other.await.unwrap()];
    let (good, lost): (Vec<_>, Vec<_>) = outcomes.iter().partition(|outcome| outcome.is_ok());
    assert_eq!(good.len(), 1, "{outcomes:?}");
    assert!(matches!(lost[0], Err(StoreError::Retry)), "{lost:?}");
}

/// R14: the default SERIALIZABLE of a database is not inherited: the same row is counted without a failure (DB-7).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_default_isolation_level_is_not_inherited() {
    let Some(place) = places::migrated_postgres().await else {
        return;
    };
    place
        .execute(
            "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_isolation = serializable', \
             current_database()); END $$",
        )
        .await;
    let store = place.connect().await;
    let world = a_world();
    let mut one = store.begin().await.unwrap();
    // Takes the snapshot that SERIALIZABLE would keep.
    one.lockouts()
        .blocked_until(&world, "subject")
        .await
        .unwrap();
    assert_eq!(fail_once(&store, &world, "subject").await.unwrap(), 1);
    assert_eq!(
        one.lockouts().fail(&world, "subject", NOW).await.unwrap(),
        2
    );
    one.commit().await.unwrap();
}

/// A read-only default is not inherited either.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_is_read_only_by_default_can_be_written() {
    let Some(place) = places::migrated_postgres().await else {
        return;
    };
    place
        .execute(
            "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = on', current_database()); END $$",
        )
        .await;
    // A pooler keeps using its existing sessions.
    terminate_all(&place).await;
    let store = place.connect().await;
    let world = a_world();
    assert_eq!(fail_once(&store, &world, "subject").await.unwrap(), 1);
    assert_eq!(fail_once(&store, &world, "subject").await.unwrap(), 2);
}

/// K8, PR-56: settings that could lose an acknowledged change are found.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn settings_that_lose_changes_are_found() {
    let Some(place) = places::postgres().await else {
        return;
    };
    let about = |store: &SqlStore, setting: &str| {
        let findings = store.durability_findings();
        findings.iter().any(|finding| finding.contains(setting))
    };
    let before = place.connect().await;
    assert!(
        !about(&before, "synchronous_commit"),
        "{:?}",
        before.durability_findings()
    );
    place
        .execute(
            "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET synchronous_commit = off', current_database()); \
             END $$",
        )
        .await;
    // A pooler keeps using its existing sessions.
    terminate_all(&place).await;
    let after = place.connect().await;
    assert!(
        about(&after, "synchronous_commit"),
        "{:?}",
        after.durability_findings()
    );
}

/// The setting for poolers that cannot keep statements: everything works without them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn prepared_statements_are_optional() {
    let Some(place) = places::migrated_postgres().await else {
        return;
    };
    let mut settings = place.settings.clone();
    settings.keep_statements = false;
    settings.connections = 1;
    let store = SqlStore::connect(&settings).await.unwrap();
    let world = a_world();
    for failures in 1..=3 {
        assert_eq!(
            fail_once(&store, &world, "subject").await.unwrap(),
            failures
        );
    }
}

/// An absent server is reported as unavailable at once, and the error does not repeat the password.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_absent_server_is_unavailable() {
    // Bound and dropped: nothing listens there.
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let url = format!("postgres://someone:hunter2@127.0.0.1:{port}/vestry");
    let outcome = SqlStore::connect(&Settings::new(url.parse().unwrap())).await;
    match outcome.err() {
        Some(StoreError::Unavailable(cause)) => {
            assert!(!format!("{cause:?} {cause}").contains("hunter2"));
        }
        other => panic!("{other:?}"),
    }
}

/// A growing table is analysed well before autovacuum does it: without statistics, statements scan whole Apps.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn grown_tables_are_analysed_within_seconds() {
    let Some(place) = places::migrated_postgres().await else {
        return;
    };
    // Otherwise autovacuum, which runs once a minute, could be faster.
    place
        .execute("ALTER TABLE users SET (autovacuum_enabled = false)")
        .await;
    let store = place.connect().await;
    let (world, mut samples) = (a_world(), Samples::fresh());
    let until = Instant::now() + Duration::from_secs(60);
    let mut looks = tokio::time::interval(Duration::from_millis(250));
    loop {
        // One transaction after the other: their changes are reported with a later one of the same connection.
        let mut tx = store.begin().await.unwrap();
        for _ in 0..40 {
            tx.users().insert(&samples.user(world)).await.unwrap();
        }
        tx.commit().await.unwrap();
        if are_users_known(&place).await {
            break;
        }
        assert!(Instant::now() < until, "the users were not analysed");
        looks.tick().await;
    }
}

/// The same for a table without statistics and growth counters, as `pg_upgrade` leaves it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tables_without_growth_counters_are_analysed_within_seconds() {
    let Some(place) = places::migrated_postgres().await else {
        return;
    };
    place
        .execute("ALTER TABLE users SET (autovacuum_enabled = false)")
        .await;
    let store = place.connect().await;
    let (world, mut samples) = (a_world(), Samples::fresh());
    let mut tx = store.begin().await.unwrap();
    tx.users().insert(&samples.user(world)).await.unwrap();
    tx.commit().await.unwrap();
    place
        .execute(
            "SET track_counts = off; \
             INSERT INTO users SELECT (jsonb_populate_record(one, jsonb_build_object('id', 'user_' || lpad(n::text, 27, '0')))).* \
             FROM users AS one, generate_series(1, 5000) AS n",
        )
        .await;
    let until = Instant::now() + Duration::from_secs(60);
    let mut looks = tokio::time::interval(Duration::from_millis(250));
    while !are_users_known(&place).await {
        assert!(Instant::now() < until, "the users were not analysed");
        looks.tick().await;
    }
}

async fn are_users_known(place: &Place) -> bool {
    let ask = "DO $$ BEGIN IF NOT EXISTS (SELECT FROM pg_stats WHERE tablename = 'users') \
               THEN RAISE 'there are no statistics'; END IF; END $$";
    place.try_execute(ask).await.is_ok()
}
