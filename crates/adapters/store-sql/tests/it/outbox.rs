//! The outbox while one App fills it.

use std::time::{Duration, Instant};

use vestry_contract::rng::rounds;
use vestry_contract::samples::Samples;
use vestry_domain::message::{LEASE, OutboxJob, OutboxQueue, Priority, lane_of};
use vestry_domain::{Environment, World};
use vestry_ports::store::Store;
use vestry_store_sql::SqlStore;

use crate::places::{Place, on_both};

on_both! { migrated_sqlite, migrated_postgres:
    pr_72_a_code_passes_the_invitations_of_another_app
}

/// Jobs added in one transaction.
const AT_ONCE: usize = 1_000;
/// The number of invitations from which the time of a claim is measured too.
const MANY: usize = 100_000;

async fn push(store: &SqlStore, jobs: &[OutboxJob]) {
    for some in jobs.chunks(AT_ONCE) {
        let mut tx = store.begin().await.unwrap();
        for job in some {
            tx.outbox().push(job).await.unwrap();
        }
        tx.commit().await.unwrap();
    }
}

/// PR-72. The number of invitations is `VESTRY_TEST_ROUNDS`, or 500. With 100,000 or more, the claim must also take less than a second.
///
/// The code is claimed first, in its own lane and in the one of the invitations, and an invitation of a third App shares the first claim.
async fn pr_72_a_code_passes_the_invitations_of_another_app(place: &Place) {
    let store = place.connect().await;
    let mut samples = Samples::fresh();
    let many = rounds(500);
    let mut world = || World::new(samples.app().id, Environment::Live);
    let busy = world();
    let other = std::iter::repeat_with(&mut world)
        .find(|other| lane_of(other.app_id) != lane_of(busy.app_id))
        .unwrap();
    let alike = std::iter::repeat_with(&mut world)
        .find(|alike| lane_of(alike.app_id) == lane_of(busy.app_id))
        .unwrap();
    let mut job = |world, priority| OutboxJob {
        priority,
        ..samples.job(world)
    };
    let flood: Vec<_> = (0..many).map(|_| job(busy, Priority::Invite)).collect();
    push(&store, &flood).await;
    for world in [other, alike] {
        let code = job(world, Priority::SignIn);
        let invitation = job(other, Priority::Invite);
        push(&store, &[code.clone(), invitation.clone()]).await;
        let now = invitation.not_before;
        let queue = OutboxQueue::new(code.world.environment, code.channel);
        let begun = Instant::now();
        let mut tx = store.begin().await.unwrap();
        let outbox = tx.outbox();
        let claim = outbox.claim(queue, "worker", now, now + LEASE, 16);
        let claimed = claim.await.unwrap();
        tx.commit().await.unwrap();
        let took = begun.elapsed();
        println!("{many} invitations of another App: claimed in {took:?}");
        assert!(many < MANY || took < Duration::from_secs(1), "{took:?}");
        assert_eq!(claimed.len(), 16);
        assert_eq!(claimed[0].id, code.id);
        assert!(claimed.iter().any(|job| job.id == invitation.id));
    }
}
