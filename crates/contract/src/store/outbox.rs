//! Messages pending delivery.

use std::sync::Arc;

use vestry_domain::ids::{AppId, JobId};
use vestry_domain::message::{
    Channel, DeadJob, JobEnd, JobFault, LEASE, OutboxJob, OutboxQueue, Priority, lane_of,
};
use vestry_domain::timestamp::Seconds;
use vestry_domain::{Environment, Timestamp, World};
use vestry_ports::store::{Backlog, Store};

use super::stage::{Stage, committed, works};
use crate::race::{count, race};

impl Stage {
    /// Claims from one queue after the other.
    pub(crate) async fn claim(&self, owner: &str, now: Timestamp, limit: usize) -> Vec<OutboxJob> {
        let mut claimed = Vec::new();
        for queue in OutboxQueue::ALL {
            let left = i64::try_from(limit - claimed.len()).unwrap_or(i64::MAX);
            if left > 0 {
                claimed.extend(self.claim_from(queue, owner, now, left).await);
            }
        }
        claimed
    }

    async fn claim_from(
        &self,
        queue: OutboxQueue,
        owner: &str,
        now: Timestamp,
        limit: i64,
    ) -> Vec<OutboxJob> {
        let until = now + LEASE;
        in_tx!(self.store, |tx| tx
            .outbox()
            .claim(queue, owner, now, until, limit)
            .await)
    }

    /// Claims from the queue of an App's mail in both environments, for that App only.
    async fn claim_of(
        &self,
        app: AppId,
        owner: &str,
        now: Timestamp,
        limit: i64,
    ) -> Vec<OutboxJob> {
        let mut claimed = Vec::new();
        for environment in Environment::ALL {
            let queue = OutboxQueue::new(environment, Channel::Email);
            let until = now + LEASE;
            let jobs = in_tx!(self.store, |tx| tx
                .outbox()
                .claim_of(app, queue, owner, now, until, limit)
                .await);
            claimed.extend(jobs);
        }
        claimed
    }

    /// A stored job with this priority.
    async fn urgent(&mut self, world: World, priority: Priority) -> OutboxJob {
        let job = OutboxJob {
            priority,
            ..self.samples.job(world)
        };
        in_tx!(self.store, |tx| tx.outbox().push(&job).await);
        job
    }

    /// A world of this environment whose App has another lane than those of `others`.
    async fn world_in_another_lane(&mut self, environment: Environment, others: &[World]) -> World {
        loop {
            let world = World::new(self.app().await.id, environment);
            let lane = |world: &World| lane_of(world.app_id);
            if others.iter().all(|other| lane(other) != lane(&world)) {
                return world;
            }
        }
    }

    async fn finish(&self, job: &OutboxJob, owner: &str, at: Timestamp) -> bool {
        let (world, id) = (job.world, job.id);
        in_tx!(self.store, |tx| tx
            .outbox()
            .finish(&world, id, owner, JobEnd::Delivered, at)
            .await)
    }

    async fn refund(&self, job: &OutboxJob, owner: &str, at: Timestamp) -> bool {
        let (world, id) = (job.world, job.id);
        in_tx!(self.store, |tx| tx
            .outbox()
            .retry(&world, id, owner, at)
            .await)
    }

    async fn waiting(&self) -> i64 {
        in_view!(self.store, |view| view.outbox().waiting().await)
    }
}

fn ids(jobs: &[OutboxJob]) -> Vec<JobId> {
    jobs.iter().map(|job| job.id).collect()
}

/// Every field of a job is read back unchanged when it is claimed, and the attempt is counted.
pub async fn a_job_comes_back_as_it_was(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let mut jobs = Vec::new();
    for (attempts, channel, priority) in [
        (0, Channel::Email, Priority::SignIn),
        (7, Channel::Email, Priority::Notice),
        (u32::MAX - 1, Channel::Email, Priority::Invite),
        (0, Channel::Sms, Priority::SignIn),
        (0, Channel::Sms, Priority::Invite),
    ] {
        let job = OutboxJob {
            attempts,
            failures: attempts.min(2),
            channel,
            priority,
            ..stage.samples.job(world)
        };
        in_tx!(stage.store, |tx| tx.outbox().push(&job).await);
        jobs.push(OutboxJob {
            attempts: attempts + 1,
            ..job
        });
    }
    let claimed = stage.claim("one", stage.samples.now(), 10).await;
    assert_eq!(claimed, jobs);
}

/// An id identifies one job of a world; a second one is an error.
pub async fn a_job_is_added_once(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let job = stage.job(world).await;
    let mut tx = works(stage.store.begin().await);
    let added = tx.outbox().push(&job).await;
    assert!(committed(tx, added).await.is_err(), "added twice");
}

/// Jobs of all worlds are claimed oldest first, up to the limit.
pub async fn jobs_are_claimed_oldest_first(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let [_, other, _] = stage.strangers(world).await;
    let jobs = (0..9).map(|number| {
        stage
            .samples
            .job(if number % 2 == 0 { world } else { other })
    });
    let jobs: Vec<_> = jobs.collect();
    for job in stage.samples.shuffled(&jobs) {
        in_tx!(stage.store, |tx| tx.outbox().push(job).await);
    }
    let now = stage.samples.tick();
    let mut claimed = Vec::new();
    for expected in [4, 4, 1, 0] {
        let some = stage.claim("one", now, 4).await;
        assert_eq!(some.len(), expected);
        claimed.extend(some);
    }
    assert_eq!(ids(&claimed), ids(&jobs));
}

/// Claiming for one App returns free jobs of both its environments and no other's, oldest first, up to the limit. No other worker gets
/// them.
pub async fn jobs_of_one_app_are_claimed(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let [alike, other, another] = stage.strangers(world).await;
    let mut jobs = Vec::new();
    for _ in 0..3 {
        for world in [world, alike, other, another] {
            jobs.push(stage.job(world).await);
        }
    }
    // Queue by queue.
    let place = |job: &OutboxJob| {
        Environment::ALL
            .iter()
            .position(|one| *one == job.world.environment)
    };
    jobs.sort_by_key(|job| (place(job), job.id));
    let now = stage.samples.tick();
    let held = stage.claim("zero", now, 1).await;
    let (of_app, mut others): (Vec<_>, Vec<_>) = jobs
        .into_iter()
        .filter(|job| !ids(&held).contains(&job.id))
        .partition(|job| job.world.app_id == world.app_id);
    let queue = OutboxQueue::new(world.environment, Channel::Email);
    let due = async |limit| {
        in_view!(stage.store, |view| view
            .outbox()
            .apps_due(queue, now, limit)
            .await)
    };
    let mut apps = due(10).await;
    apps.sort_unstable();
    let mut expected = [world.app_id, other.app_id];
    expected.sort_unstable();
    assert_eq!(apps, expected);
    assert_eq!(due(1).await.len(), 1);
    let mut claimed = Vec::new();
    for _ in 0..of_app.len() {
        let some = stage.claim_of(world.app_id, "one", now, 1).await;
        assert!(some.len() <= 2);
        assert!(some.iter().all(|job| job.attempts == 1));
        claimed.extend(some);
    }
    claimed.sort_by_key(|job| (place(job), job.id));
    assert_eq!(ids(&claimed), ids(&of_app));
    let mut rest = stage.claim("two", now, 100).await;
    rest.sort_by_key(|job| job.id);
    others.sort_by_key(|job| job.id);
    assert_eq!(ids(&rest), ids(&others));
}

/// PR-72: urgent jobs come first, and among equally urgent ones old ones, whatever the order in which they were added.
pub async fn pr_72_urgent_jobs_come_first(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let mut jobs = Vec::new();
    for priority in [Priority::Invite, Priority::Notice, Priority::SignIn] {
        for _ in 0..3 {
            jobs.push(stage.urgent(world, priority).await);
        }
    }
    jobs.sort_by_key(|job| (job.priority, job.id));
    let now = stage.samples.tick();
    let mut claimed = Vec::new();
    for _ in 0..3 {
        let queue = OutboxQueue::new(world.environment, Channel::Email);
        claimed.extend(stage.claim_from(queue, "one", now, 3).await);
    }
    assert_eq!(ids(&claimed), ids(&jobs));
    let queue = OutboxQueue::new(world.environment, Channel::Email);
    let other = stage
        .world_in_another_lane(world.environment, &[world])
        .await;
    stage.urgent(world, Priority::Invite).await;
    stage.urgent(other, Priority::SignIn).await;
    let now = stage.samples.tick();
    let due = in_view!(stage.store, |view| view
        .outbox()
        .apps_due(queue, now, 9)
        .await);
    assert_eq!(due, [other.app_id, world.app_id]);
}

/// PR-72: of sixteen jobs, at most four come from one lane while others have due ones. Otherwise they all may.
pub async fn pr_72_a_lane_gets_a_quarter_while_others_wait(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let queue = OutboxQueue::new(world.environment, Channel::Email);
    let mut others = Vec::new();
    let mut taken = vec![world];
    for _ in 0..3 {
        let other = stage.world_in_another_lane(world.environment, &taken).await;
        taken.push(other);
        others.push(other);
    }
    let worlds = taken;
    for _ in 0..70 {
        stage.urgent(world, Priority::Invite).await;
    }
    // Added last, and less of them than of the first.
    let mut last = world;
    for other in &others {
        last = *other;
        for _ in 0..5 {
            stage.urgent(*other, Priority::Invite).await;
        }
    }
    let code = stage.urgent(last, Priority::SignIn).await;
    let now = stage.samples.tick();
    let mut shares = Vec::new();
    for limit in [16, 16, 16, 4] {
        let claimed = stage.claim_from(queue, "one", now, limit).await;
        assert_eq!(claimed.len(), usize::try_from(limit).unwrap_or_default());
        if shares.is_empty() {
            assert_eq!(claimed.first().map(|job| job.id), Some(code.id));
        }
        let of = |world: &World| claimed.iter().filter(|job| job.world == *world).count();
        shares.push(worlds.iter().map(of).collect::<Vec<_>>());
    }
    // The others have sixteen in all.
    let expected = [[4, 4, 4, 4], [12, 1, 1, 2], [16, 0, 0, 0], [4, 0, 0, 0]];
    assert_eq!(shares, expected);
    stage.urgent(last, Priority::Invite).await;
    let now = stage.samples.tick();
    let claimed = stage.claim_from(queue, "one", now, 4).await;
    assert_eq!(claimed.last().map(|job| job.world), Some(last));
}

/// A job is available from its due second on, and not before.
pub async fn a_job_waits_for_its_time(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let mut job = stage.samples.job(world);
    job.not_before = job.created_at + Seconds(10);
    in_tx!(stage.store, |tx| tx.outbox().push(&job).await);
    assert_eq!(
        stage.claim("one", job.not_before - Seconds(1), 10).await,
        []
    );
    let claimed = stage.claim("one", job.not_before, 10).await;
    assert_eq!(ids(&claimed), [job.id]);
}

/// An expired job is still claimed, so that it can be ended as expired and counted (I7).
pub async fn a_late_job_is_handed_out(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let job = stage.job(world).await;
    let late = job.deliver_before + Seconds(1_000);
    let claimed = stage.claim("one", late, 10).await;
    assert_eq!(ids(&claimed), [job.id]);
    let ended = in_tx!(stage.store, |tx| tx
        .outbox()
        .finish(&world, job.id, "one", JobEnd::Expired, late)
        .await);
    assert!(ended);
}

/// A claimed job is unavailable to every worker until its lease ends. Then the next worker gets it, and the attempt is counted (R15).
pub async fn a_lease_keeps_others_away_until_it_ends(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let job = stage.job(world).await;
    let now = stage.samples.tick();
    assert_eq!(ids(&stage.claim("one", now, 10).await), [job.id]);
    for owner in ["one", "two"] {
        assert_eq!(stage.claim(owner, now, 10).await, []);
        assert_eq!(stage.claim(owner, now + LEASE - Seconds(1), 10).await, []);
    }
    let again = stage.claim("two", now + LEASE + Seconds(1), 10).await;
    let expected = OutboxJob { attempts: 2, ..job };
    assert_eq!(again, [expected]);
}

/// A worker that lost its lease to another one can neither end the job nor return it (R15).
pub async fn a_lost_lease_ends_nothing(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let job = stage.job(world).await;
    let now = stage.samples.tick();
    let later = now + LEASE + Seconds(1);
    assert_eq!(stage.claim("one", now, 10).await.len(), 1);
    assert_eq!(stage.claim("two", later, 10).await.len(), 1);
    assert!(!stage.finish(&job, "one", later).await);
    assert!(!stage.refund(&job, "one", later).await);
    assert_eq!(stage.waiting().await, 1);
    assert_eq!(stage.claim("one", later, 10).await, []);
    assert!(stage.finish(&job, "two", later).await);
    assert_eq!(stage.waiting().await, 0);
}

/// A worker that never claimed a job can neither end nor return it.
pub async fn an_unclaimed_job_cannot_be_ended(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let job = stage.job(world).await;
    let now = stage.samples.tick();
    for owner in ["one", ""] {
        assert!(!stage.finish(&job, owner, now).await);
        assert!(!stage.refund(&job, owner, now + Seconds(500)).await);
    }
    assert_eq!(ids(&stage.claim("one", now, 10).await), [job.id]);
}

/// An ended job is final: it is not pending, is never claimed again, and cannot end twice or be returned.
pub async fn a_finished_job_is_over(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let now = stage.samples.tick();
    for end in [JobEnd::Delivered, JobEnd::Refused, JobEnd::Expired] {
        let job = stage.job(world).await;
        let now = stage.samples.tick();
        assert_eq!(stage.claim("one", now, 10).await.len(), 1);
        assert_eq!(stage.waiting().await, 1);
        let ended = in_tx!(stage.store, |tx| tx
            .outbox()
            .finish(&world, job.id, "one", end, now)
            .await);
        assert!(ended, "{end:?}");
        assert_eq!(stage.waiting().await, 0);
        assert!(!stage.finish(&job, "one", now).await);
        assert!(!stage.refund(&job, "one", now).await);
    }
    assert_eq!(stage.claim("one", now + Seconds(1_000_000), 10).await, []);
}

/// A returned job waits until the given time, for any worker, and keeps its attempt count. Its former holder has no claim on it.
pub async fn a_job_is_given_back(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let job = stage.job(world).await;
    let now = stage.samples.tick();
    let again = now + Seconds(3);
    assert_eq!(stage.claim("one", now, 10).await.len(), 1);
    assert!(stage.refund(&job, "one", again).await);
    assert_eq!(stage.waiting().await, 1);
    assert!(!stage.finish(&job, "one", now).await);
    assert!(!stage.refund(&job, "one", now).await);
    for owner in ["one", "two"] {
        assert_eq!(stage.claim(owner, again - Seconds(1), 10).await, []);
    }
    let claimed = stage.claim("two", again, 10).await;
    let seen = claimed
        .first()
        .map(|job| (job.id, job.attempts, job.payload.clone()));
    assert_eq!(seen, Some((job.id, 2, job.payload)));
    assert_eq!(
        claimed.first().map(|job| job.deliver_before),
        Some(job.deliver_before)
    );
}

/// PR-71, PR-74: a job that was not attempted is due again at once, for any worker, and the attempt is not counted. Only its holder can give
/// it back, once.
pub async fn pr_71_a_job_that_was_not_begun_loses_no_attempt(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let stranger = stage.strangers(world).await[0];
    let job = stage.job(world).await;
    let now = stage.samples.tick();
    assert_eq!(stage.claim("one", now, 10).await.len(), 1);
    let give_back = async |world: &World, owner: &str| {
        in_tx!(stage.store, |tx| tx
            .outbox()
            .give_back(world, job.id, owner)
            .await)
    };
    assert!(!give_back(&world, "two").await);
    assert!(!give_back(&stranger, "one").await);
    assert!(give_back(&world, "one").await);
    assert!(!give_back(&world, "one").await);
    assert!(!stage.finish(&job, "one", now).await);
    let expected = OutboxJob {
        attempts: 1,
        ..job.clone()
    };
    assert_eq!(stage.claim("two", now, 10).await, [expected]);
    assert!(stage.finish(&job, "two", now).await);
    assert!(!give_back(&world, "two").await);
}

/// PR-73: a job that fails because of itself is tried again, or set aside. Then it is not pending, keeps its payload, and is listed without
/// it in its own world only. It can be queued again until it expires, or deleted, once.
pub async fn pr_73_a_dead_job_is_set_aside(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let stranger = stage.strangers(world).await[0];
    let jobs = [stage.job(world).await, stage.job(world).await];
    let now = stage.samples.tick();
    let fail = async |job: &OutboxJob, again| {
        in_tx!(stage.store, |tx| tx
            .outbox()
            .fail(&job.world, job.id, "one", JobFault::Tampered, again, now)
            .await)
    };
    let dead = async |world: &World, limit| {
        in_view!(stage.store, |view| view.outbox().dead(world, limit).await)
    };
    let find = async |world: &World, id| {
        in_view!(stage.store, |view| view.outbox().find_dead(world, id).await)
    };
    let revive = async |world: &World, id, at| {
        in_tx!(stage.store, |tx| tx.outbox().revive(world, id, at).await)
    };
    let drop_dead =
        async |world: &World, id| in_tx!(stage.store, |tx| tx.outbox().drop_dead(world, id).await);
    let [first, second] = &jobs;
    assert!(!fail(first, None).await, "it is not held");
    assert_eq!(ids(&stage.claim("one", now, 10).await), ids(&jobs));
    let later = now + Seconds(2);
    assert!(fail(first, Some(later)).await);
    assert!(!fail(first, None).await, "it was released");
    assert_eq!(dead(&world, 10).await, []);
    let again = stage.claim("one", later, 10).await;
    let expected = OutboxJob {
        attempts: 2,
        failures: 1,
        not_before: later,
        ..first.clone()
    };
    assert_eq!(again, [expected]);
    assert!(fail(first, None).await);
    assert!(fail(second, None).await);
    assert_eq!(stage.waiting().await, 0);
    let listed = dead(&world, 10).await;
    let of = |job: &OutboxJob, attempts| DeadJob {
        id: job.id,
        world,
        channel: job.channel,
        priority: job.priority,
        attempts,
        fault: JobFault::Tampered,
        cause: job.cause.clone(),
        created_at: job.created_at,
        deliver_before: job.deliver_before,
        died_at: now,
    };
    assert_eq!(listed, [of(second, 1), of(first, 2)]);
    assert_eq!(dead(&world, 1).await, [of(second, 1)]);
    assert_eq!(dead(&stranger, 10).await, []);
    assert_eq!(find(&stranger, first.id).await, None);
    assert_eq!(find(&world, first.id).await, Some(of(first, 2)));
    let expiry = first.deliver_before;
    assert!(!revive(&world, first.id, expiry).await, "it has expired");
    assert!(!revive(&stranger, first.id, now).await);
    assert!(!drop_dead(&stranger, first.id).await);
    let at = expiry - Seconds(1);
    assert!(revive(&world, first.id, at).await);
    assert!(!revive(&world, first.id, at).await, "it is pending again");
    assert!(!drop_dead(&world, first.id).await);
    let revived = stage.claim("two", at, 10).await;
    let expected = OutboxJob {
        attempts: 3,
        failures: 0,
        not_before: at,
        ..first.clone()
    };
    assert_eq!(revived, [expected], "with its payload");
    assert!(drop_dead(&world, second.id).await);
    assert!(!drop_dead(&world, second.id).await);
    assert_eq!(dead(&world, 10).await, []);
}

/// PR-142: waiting jobs are counted by world, channel and priority. The backlog has their numbers, and how long the oldest one has been due.
pub async fn pr_142_waiting_jobs_are_counted(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let [alike, other, _] = stage.strangers(world).await;
    let now = stage.samples.now();
    let mut jobs = Vec::new();
    for (world, channel, priority, count) in [
        (world, Channel::Email, Priority::Invite, 3),
        (world, Channel::Email, Priority::SignIn, 2),
        (world, Channel::Sms, Priority::SignIn, 1),
        (alike, Channel::Email, Priority::Invite, 2),
        (other, Channel::Email, Priority::Invite, 1),
    ] {
        for _ in 0..count {
            let job = OutboxJob {
                channel,
                priority,
                ..stage.samples.job(world)
            };
            in_tx!(stage.store, |tx| tx.outbox().push(&job).await);
            jobs.push(job);
        }
    }
    let crowded = async |most| {
        let mut found = in_view!(stage.store, |view| view.outbox().crowded(most).await);
        found.sort_unstable();
        found
    };
    let backlog = async |now| in_view!(stage.store, |view| view.outbox().backlog(now).await);
    let invitations = (world, Channel::Email, Priority::Invite);
    let mut two = vec![
        invitations,
        (world, Channel::Email, Priority::SignIn),
        (alike, Channel::Email, Priority::Invite),
    ];
    two.sort_unstable();
    assert_eq!(crowded(1).await, two);
    assert_eq!(crowded(2).await, [invitations]);
    assert_eq!(crowded(3).await, []);
    let last = jobs.iter().map(|job| job.not_before).max();
    let last = last.unwrap_or(now);
    let first = |channel, priority| {
        let of = jobs
            .iter()
            .filter(|job| job.channel == channel && job.priority == priority);
        of.map(|job| job.not_before).min()
    };
    let expected = |channel, priority, waiting| Backlog {
        channel,
        priority,
        waiting,
        due_since: first(channel, priority),
    };
    let all = [
        expected(Channel::Email, Priority::SignIn, 2),
        expected(Channel::Email, Priority::Invite, 6),
        expected(Channel::Sms, Priority::SignIn, 1),
    ];
    assert_eq!(backlog(last).await, all);
    let none_due = all.map(|of| Backlog {
        due_since: None,
        ..of
    });
    assert_eq!(backlog(now - Seconds(1)).await, none_due);
}

/// A job is ended and returned only in its own world; the same id may be pending in several (I11).
pub async fn jobs_stay_in_their_world(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let strangers = stage.strangers(world).await;
    let job = stage.job(world).await;
    let now = stage.samples.tick();
    assert_eq!(stage.claim("one", now, 10).await.len(), 1);
    for stranger in strangers {
        let foreign = OutboxJob {
            world: stranger,
            ..job.clone()
        };
        assert!(!stage.finish(&foreign, "one", now).await);
        assert!(!stage.refund(&foreign, "one", now).await);
    }
    let twin = OutboxJob {
        world: strangers[0],
        ..stage.samples.job(strangers[0])
    };
    let twin = OutboxJob { id: job.id, ..twin };
    in_tx!(stage.store, |tx| tx.outbox().push(&twin).await);
    assert!(stage.finish(&job, "one", now).await);
    assert_eq!(stage.waiting().await, 1);
    let claimed = stage.claim("one", stage.samples.now(), 10).await;
    let worlds: Vec<World> = claimed.iter().map(|job| job.world).collect();
    assert_eq!((ids(&claimed), worlds), (vec![job.id], vec![strangers[0]]));
}

/// Of eight workers that claim three jobs at a time, each job goes to exactly one (R15).
pub async fn parallel_workers_share_the_jobs(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let mut jobs = Vec::new();
    for _ in 0..40 {
        jobs.push(stage.job(world).await.id);
    }
    let queue = OutboxQueue::new(world.environment, Channel::Email);
    let now = stage.samples.tick();
    let taken = race((0..8).map(|number| {
        let (store, owner) = (Arc::clone(&stage.store), format!("worker {number}"));
        async move {
            let mut taken = Vec::new();
            loop {
                let some = in_tx!(store, |tx| tx
                    .outbox()
                    .claim(queue, &owner, now, now + LEASE, 3)
                    .await);
                if some.is_empty() {
                    return taken;
                }
                taken.extend(ids(&some));
            }
        }
    }))
    .await;
    let mut taken = taken.concat();
    // A worker may find nothing because others briefly hold the rest: that costs time, not jobs.
    taken.extend(ids(&stage.claim("last", now, 100).await));
    taken.sort_unstable();
    assert_eq!(taken, jobs);
}

/// Of twenty workers of one name that end a job in parallel exactly one succeeds.
pub async fn parallel_ends_count_once(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let job = stage.job(world).await;
    let now = stage.samples.tick();
    assert_eq!(stage.claim("one", now, 10).await.len(), 1);
    let ended = race((0..20).map(|_| {
        let (store, id) = (Arc::clone(&stage.store), job.id);
        async move {
            in_tx!(store, |tx| tx
                .outbox()
                .finish(&world, id, "one", JobEnd::Delivered, now)
                .await)
        }
    }))
    .await;
    assert_eq!(count(&ended, &true), 1);
}

/// A sweep deletes jobs of all worlds that ended before the given time, and returns how many; pending ones stay, however old.
pub async fn a_sweep_deletes_old_ended_jobs(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let [other, ..] = stage.strangers(world).await;
    let moment = stage.samples.tick() + Seconds(1_000);
    for (world, before) in [(world, 1), (other, 2), (world, 0), (other, -1)] {
        let job = stage.job(world).await;
        assert_eq!(stage.claim("one", stage.samples.now(), 10).await.len(), 1);
        assert!(stage.finish(&job, "one", moment - Seconds(before)).await);
    }
    let waiting = stage.job(world).await;
    let much_later = moment + Seconds(1_000_000);
    for (moment, expected) in [(moment, 2), (moment, 0), (much_later, 2)] {
        let swept = in_tx!(stage.store, |tx| tx.outbox().sweep(moment).await);
        assert_eq!(swept, expected);
    }
    let claimed = stage.claim("one", much_later, 10).await;
    assert_eq!(ids(&claimed), [waiting.id]);
}
