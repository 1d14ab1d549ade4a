//! The outbox worker over a live transport.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use tokio::sync::oneshot;
use vestry_app::Fault;
use vestry_contract::fakes::FakeStore;
use vestry_domain::ids::JobId;
use vestry_domain::message::{LEASE, Message, OutboxJob};
use vestry_domain::{Environment, World};
use vestry_ports::mailer::{Mailer, SendError};
use vestry_ports::port;
use vestry_ports::store::Store;

use crate::rig::{Rig, login};

#[tokio::test]
async fn live_mail_goes_to_the_transport_and_nowhere_else() {
    let rig = Rig::new().await;
    let live = rig.live().await;
    let sent = rig.login(&live, "Ada@example.com").await;
    assert_eq!(
        rig.mailer.tries(),
        0,
        "nothing is sent before the commit or within the request"
    );
    assert_eq!(rig.waiting().await, 1);
    assert_eq!(rig.service.deliver_due("worker").await.unwrap(), 1);
    let (_, mail) = rig.mailer.sent().remove(0);
    assert_eq!(mail.to, "Ada@example.com");
    rig.verify(&live, sent.email.id, &mail.code).await.unwrap();
    assert_eq!(rig.waiting().await, 0);
    assert_eq!(rig.service.deliver_due("worker").await.unwrap(), 0);
}

/// I7: a transient transport failure is retried, not immediately but within half a minute.
#[tokio::test]
async fn a_transient_failure_is_retried_later() {
    let rig = Rig::new().await;
    let live = rig.live().await;
    rig.mailer.fail_for_now(3);
    let sent = rig.login(&live, "ada@example.com").await;
    for tries in 1..=3 {
        rig.deliver().await;
        assert_eq!(rig.mailer.tries(), tries);
        rig.deliver().await;
        assert_eq!(rig.mailer.tries(), tries, "not in the same second");
        assert_eq!(rig.waiting().await, 1);
        rig.pass(30);
    }
    rig.deliver().await;
    assert_eq!(rig.mailer.tries(), 4);
    let (_, mail) = rig.mailer.sent().remove(0);
    rig.verify(&live, sent.email.id, &mail.code).await.unwrap();
    assert_eq!(rig.waiting().await, 0);
}

#[tokio::test]
async fn a_permanent_failure_is_final() {
    let rig = Rig::new().await;
    let live = rig.live().await;
    rig.mailer.refuse();
    rig.login(&live, "ada@example.com").await;
    rig.deliver().await;
    assert_eq!((rig.mailer.tries(), rig.waiting().await), (1, 0));
    rig.mailer.take();
    rig.pass(60);
    rig.deliver().await;
    assert_eq!(rig.mailer.tries(), 1);
}

/// A late code is worse than none.
#[tokio::test]
async fn an_expired_message_is_never_sent() {
    for age in [599, 600, 10_000] {
        let rig = Rig::new().await;
        let live = rig.live().await;
        rig.mailer.fail_for_now(1);
        rig.login(&live, "ada@example.com").await;
        rig.deliver().await;
        rig.pass(age);
        rig.deliver().await;
        let sent = if age < 600 { 1 } else { 0 };
        assert_eq!(
            (rig.mailer.sent().len(), rig.mailer.tries()),
            (sent, 1 + sent),
            "after {age} s"
        );
        assert_eq!(rig.waiting().await, 0);
    }
}

/// Delivery outcomes are recorded together. If that fails at any step, each is recorded separately, and nothing is sent twice.
#[tokio::test]
async fn a_failure_while_outcomes_are_recorded_loses_none() {
    // Before it, jobs are claimed: a begin, a claim, a commit.
    for operations in 3.. {
        let rig = Rig::new().await;
        let live = rig.live().await;
        for number in 0..5 {
            rig.login(&live, &format!("u{number}@example.com")).await;
        }
        rig.fake.fail_after(operations);
        assert_eq!(rig.service.deliver_due("worker").await.unwrap(), 5);
        let was_reached = !rig.fake.has_yet_to_fail();
        rig.fake.fail_after(None);
        assert_eq!((rig.mailer.tries(), rig.waiting().await), (5, 0));
        if !was_reached {
            assert!(
                operations > 8,
                "five outcomes are recorded in one transaction"
            );
            return;
        }
    }
}

/// R15: a job goes to one worker, however many there are.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r15_workers_share_the_jobs() {
    let rig = Rig::new().await;
    let live = rig.live().await;
    for number in 0..60 {
        rig.login(&live, &format!("u{number}@example.com")).await;
    }
    let tasks = (0..8).map(|number| {
        let service = if number % 2 == 0 {
            Arc::clone(&rig.service)
        } else {
            rig.other_process()
        };
        async move {
            let mut taken = 0;
            loop {
                match service
                    .deliver_due(&format!("worker {number}"))
                    .await
                    .unwrap()
                {
                    0 => return taken,
                    jobs => taken += jobs,
                }
            }
        }
    });
    let taken: usize = vestry_contract::race::race(tasks).await.into_iter().sum();
    assert_eq!(taken, 60);
    let to: HashSet<_> = rig
        .mailer
        .sent()
        .into_iter()
        .map(|(_, mail)| mail.to)
        .collect();
    assert_eq!((to.len(), rig.mailer.tries()), (60, 60));
}

/// A transport that accepts every mail, and a database in which something happens right afterwards.
#[derive(Default)]
struct Accident {
    store: OnceLock<FakeStore>,
    sent: Mutex<Vec<(JobId, String)>>,
    lost_commits: usize,
    unreachable_after: AtomicUsize,
}

#[port]
impl Mailer for Accident {
    async fn send(&self, id: JobId, message: &Message) -> Result<(), SendError> {
        self.sent.lock().unwrap().push((id, message.code.clone()));
        let store = self.store.get().unwrap();
        store.lose_commits(self.lost_commits);
        if self.unreachable_after.load(Ordering::SeqCst) > 0 {
            self.unreachable_after.fetch_sub(1, Ordering::SeqCst);
            store.set_unavailable(true);
        }
        Ok(())
    }

    async fn probe(&self) -> Result<(), SendError> {
        Ok(())
    }
}

/// A worker that cannot record a delivery sends again when its lease is over, with the same id and the same code.
#[tokio::test]
async fn an_unrecorded_delivery_sends_the_same_mail_again() {
    let mailer = Arc::new(Accident {
        unreachable_after: AtomicUsize::new(1),
        ..Accident::default()
    });
    let rig = Rig::with_mail(mailer.clone()).await;
    mailer.store.set(rig.fake.clone()).unwrap();
    let live = rig.live().await;
    rig.login(&live, "ada@example.com").await;
    rig.deliver_once().await;
    rig.fake.set_unavailable(false);
    rig.pass(LEASE.0 - 1);
    assert_eq!(
        rig.deliver_once().await,
        0,
        "another worker may still be on it"
    );
    rig.pass(1);
    assert_eq!(rig.deliver_once().await, 1);
    let sent = mailer.sent.lock().unwrap().clone();
    assert_eq!(sent.len(), 2);
    assert_eq!(sent[0], sent[1]);
    assert_eq!(rig.waiting().await, 0);
}

/// R14: an outcome that loses its race is written again; the mail is not sent again.
#[tokio::test]
async fn r14_a_lost_race_sends_nothing_twice() {
    let mailer = Arc::new(Accident {
        lost_commits: 3,
        ..Accident::default()
    });
    let rig = Rig::with_mail(mailer.clone()).await;
    mailer.store.set(rig.fake.clone()).unwrap();
    let live = rig.live().await;
    rig.login(&live, "ada@example.com").await;
    rig.fake.lose_commits(3);
    assert_eq!(rig.deliver_once().await, 1);
    rig.pass(LEASE.0);
    assert_eq!(rig.deliver_once().await, 0);
    assert_eq!(mailer.sent.lock().unwrap().len(), 1);
    assert_eq!(rig.waiting().await, 0);
}

/// A transport that blocks until it is released.
#[derive(Default)]
struct Gate {
    arrived: Mutex<Option<oneshot::Sender<()>>>,
    opened: Mutex<Option<oneshot::Receiver<()>>>,
    taken: AtomicUsize,
}

#[port]
impl Mailer for Gate {
    async fn send(&self, _id: JobId, _message: &Message) -> Result<(), SendError> {
        let (arrived, opened) = (
            self.arrived.lock().unwrap().take(),
            self.opened.lock().unwrap().take(),
        );
        if let (Some(arrived), Some(opened)) = (arrived, opened) {
            arrived.send(()).unwrap();
            opened.await.unwrap();
        }
        self.taken.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }

    async fn probe(&self) -> Result<(), SendError> {
        Ok(())
    }
}

/// K6: a stopping worker finishes the jobs it has started.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn k6_a_stopping_worker_finishes_its_jobs() {
    let gate = Arc::new(Gate::default());
    let rig = Rig::with_mail(gate.clone()).await;
    let live = rig.live().await;
    let (arrive, arrived) = oneshot::channel();
    let (open, opened) = oneshot::channel();
    *gate.arrived.lock().unwrap() = Some(arrive);
    *gate.opened.lock().unwrap() = Some(opened);
    let (stop, stopped) = oneshot::channel::<()>();
    let worker = tokio::spawn({
        let service = Arc::clone(&rig.service);
        async move { service.run_outbox(async { drop(stopped.await) }).await }
    });
    rig.service
        .login_or_create_by_email(&live, login("ada@example.com"))
        .await
        .unwrap();
    arrived.await.unwrap();
    stop.send(()).unwrap();
    open.send(()).unwrap();
    worker.await.unwrap();
    assert_eq!(gate.taken.load(Ordering::SeqCst), 1);
    assert_eq!(rig.waiting().await, 0);
}

/// A live job of a service that has lost its transport stays queued until there is one.
#[tokio::test]
async fn a_job_without_a_transport_waits() {
    let rig = Rig::new().await;
    let live = rig.live().await;
    rig.login(&live, "ada@example.com").await;
    let bare = rig.process_without_mail();
    assert_eq!(bare.deliver_due("bare").await.unwrap(), 1);
    assert_eq!((rig.mailer.tries(), rig.waiting().await), (0, 1));
    rig.pass(30);
    rig.deliver().await;
    assert_eq!((rig.mailer.tries(), rig.waiting().await), (1, 0));
}

/// A payload from the outbox of one environment does not decrypt in another: a moved row is never sent.
#[tokio::test]
async fn t1_a_moved_payload_is_never_sent() {
    let rig = Rig::new().await;
    let (live, stranger) = (rig.live().await, rig.stranger().await);
    rig.login(&live, "ada@example.com").await;
    let mut tx = rig.fake.begin().await.unwrap();
    let job = tx
        .outbox()
        .claim("thief", rig.now(), rig.now() + LEASE, 1)
        .await
        .unwrap()
        .remove(0);
    let moved = OutboxJob {
        world: World::new(stranger.world.app_id, Environment::Live),
        ..job
    };
    tx.outbox().push(&moved).await.unwrap();
    tx.commit().await.unwrap();
    for _ in 0..10 {
        rig.deliver_once().await;
        rig.pass(30);
    }
    assert_eq!(rig.mailer.sent().len(), 1, "the row moved into its place");
    rig.pass(600);
    rig.deliver().await;
    assert_eq!(
        (rig.mailer.tries(), rig.waiting().await),
        (1, 0),
        "the other one expired"
    );
}

/// The database is unreachable: no job is claimed, and the worker reports it.
#[tokio::test]
async fn an_unreachable_outbox_is_a_fault() {
    let rig = Rig::new().await;
    rig.fake.set_unavailable(true);
    let outcome = rig.service.deliver_due("worker").await;
    assert!(matches!(outcome, Err(Fault::Unavailable(_))), "{outcome:?}");
}
