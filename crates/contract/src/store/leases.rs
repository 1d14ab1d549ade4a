//! Leases on tasks that only one process may run at a time.

use std::sync::Arc;

use vestry_domain::Timestamp;
use vestry_domain::timestamp::Seconds;
use vestry_ports::store::{MAX_LEASE, Store};

use super::stage::Stage;
use crate::race::{count, race};

const WORK: &str = "work";

async fn take(store: &Arc<dyn Store>, work: &str, holder: &str, now: Timestamp) -> bool {
    in_tx!(store, |tx| tx
        .leases()
        .take(work, holder, now, now + Seconds(60))
        .await)
}

/// A task belongs to its holder, who can extend the lease, until the lease ends; then the first to take it gets it. Other tasks are free.
pub async fn a_lease_has_one_holder_at_a_time(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let now = stage.samples.tick();
    for (work, holder, later, expected) in [
        (WORK, "one", 0, true),
        (WORK, "other", 1, false),
        ("other work", "other", 1, true),
        (WORK, "one", 30, true),
        (WORK, "other", 89, false),
        (WORK, "other", 90, true),
        (WORK, "one", 91, false),
    ] {
        let taken = take(&stage.store, work, holder, now + Seconds(later)).await;
        assert_eq!(taken, expected, "{holder} takes {work} at {later}");
    }
}

/// Of parallel takers of a free or expired lease one succeeds.
pub async fn parallel_takers_are_one(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let now = stage.samples.tick();
    for later in [0, 60] {
        let takers = (0..20).map(|number| {
            let store = Arc::clone(&stage.store);
            let holder = format!("holder {later} {number}");
            async move { take(&store, WORK, &holder, now + Seconds(later)).await }
        });
        assert_eq!(count(&race(takers).await, &true), 1);
    }
}

/// A lease that ends later than any the service takes was not written by the service, and blocks nobody.
pub async fn an_overlong_lease_blocks_nobody(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let now = stage.samples.tick();
    for (ahead, is_free) in [
        (MAX_LEASE.0, false),
        (MAX_LEASE.0 + 1, true),
        (1 << 40, true),
    ] {
        let work = format!("work {ahead}");
        let planted = in_tx!(stage.store, |tx| tx
            .leases()
            .take(&work, "planted", now, now + Seconds(ahead))
            .await);
        assert!(planted);
        assert_eq!(
            take(&stage.store, &work, "one", now).await,
            is_free,
            "{ahead} s"
        );
    }
}
