//! The outbox worker over a live transport.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::task::Poll;
use std::time::Duration;

use tokio::sync::oneshot;
use vestry_app::{Caller, Fault, Principal, Refusal};
use vestry_contract::fakes::FakeStore;
use vestry_domain::ids::JobId;
use vestry_domain::message::{Channel, JobFault, LEASE, Message, OutboxJob, OutboxQueue};
use vestry_domain::timestamp::Seconds;
use vestry_domain::{Environment, World};
use vestry_ports::mailer::{Mailer, SendError};
use vestry_ports::meter::Gauge;
use vestry_ports::port;
use vestry_ports::store::Store;
use vestry_ports::vault::Vaults;

use crate::harness::{Harness, login};
use crate::links::invitation;

#[tokio::test]
async fn live_mail_goes_to_the_transport_and_nowhere_else() {
    let harness = Harness::new().await;
    let live = harness.live().await;
    let sent = harness.login(&live, "Ada@example.com").await;
    assert_eq!(
        harness.mailer.tries(),
        0,
        "nothing is sent before the commit or within the request"
    );
    assert_eq!(harness.waiting().await, 1);
    assert_eq!(harness.service.deliver_due("worker").await.unwrap(), 1);
    let (_, mail) = harness.mailer.sent().remove(0);
    assert_eq!(mail.to, "Ada@example.com");
    harness
        .verify(&live, sent.email.id, &mail.code)
        .await
        .unwrap();
    assert_eq!(harness.waiting().await, 0);
    assert_eq!(harness.service.deliver_due("worker").await.unwrap(), 0);
}

/// PR-2: a message names the request that caused it.
#[tokio::test]
async fn pr_2_a_message_names_its_request() {
    let harness = Harness::new().await;
    let live = harness.live().await.of_request("from-outside".into());
    harness.login(&live, "ada@example.com").await;
    let queue = OutboxQueue::new(Environment::Live, Channel::Email);
    let (now, mut tx) = (harness.now(), harness.fake.begin().await.unwrap());
    let outbox = tx.outbox();
    let claim = outbox.claim(queue, "worker", now, now + LEASE, 1);
    let job = claim.await.unwrap().remove(0);
    assert_eq!(job.cause.as_deref(), Some("from-outside"));
}

/// I7: a transient transport failure is retried, not immediately but within half a minute.
#[tokio::test]
async fn a_transient_failure_is_retried_later() {
    let harness = Harness::new().await;
    let live = harness.live().await;
    harness.mailer.fail_for_now(3);
    let sent = harness.login(&live, "ada@example.com").await;
    for tries in 1..=3 {
        harness.deliver().await;
        assert_eq!(harness.mailer.tries(), tries);
        harness.deliver().await;
        assert_eq!(harness.mailer.tries(), tries, "not in the same second");
        assert_eq!(harness.waiting().await, 1);
        harness.pass(30);
    }
    harness.deliver().await;
    assert_eq!(harness.mailer.tries(), 4);
    let (_, mail) = harness.mailer.sent().remove(0);
    harness
        .verify(&live, sent.email.id, &mail.code)
        .await
        .unwrap();
    assert_eq!(harness.waiting().await, 0);
}

#[tokio::test]
async fn a_permanent_failure_is_final() {
    let harness = Harness::new().await;
    let live = harness.live().await;
    harness.mailer.refuse();
    harness.login(&live, "ada@example.com").await;
    harness.deliver().await;
    assert_eq!((harness.mailer.tries(), harness.waiting().await), (1, 0));
    harness.mailer.take();
    harness.pass(60);
    harness.deliver().await;
    assert_eq!(harness.mailer.tries(), 1);
}

/// A late code is worse than none.
#[tokio::test]
async fn an_expired_message_is_never_sent() {
    for age in [599, 600, 10_000] {
        let harness = Harness::new().await;
        let live = harness.live().await;
        harness.mailer.fail_for_now(1);
        harness.login(&live, "ada@example.com").await;
        harness.deliver().await;
        harness.pass(age);
        harness.deliver().await;
        let sent = if age < 600 { 1 } else { 0 };
        assert_eq!(
            (harness.mailer.sent().len(), harness.mailer.tries()),
            (sent, 1 + sent),
            "after {age} s"
        );
        assert_eq!(harness.waiting().await, 0);
    }
}

/// Delivery outcomes are recorded together. If that fails at any step, each is recorded separately, and nothing is sent twice.
#[tokio::test]
async fn a_failure_while_outcomes_are_recorded_loses_none() {
    // Before it, jobs are claimed: a begin, a claim from each of the four queues, a commit.
    for operations in 6.. {
        let harness = Harness::new().await;
        let live = harness.live().await;
        for number in 0..5 {
            harness
                .login(&live, &format!("u{number}@example.com"))
                .await;
        }
        harness.fake.fail_after(operations);
        assert_eq!(harness.service.deliver_due("worker").await.unwrap(), 5);
        let was_reached = !harness.fake.has_yet_to_fail();
        harness.fake.fail_after(None);
        assert_eq!((harness.mailer.tries(), harness.waiting().await), (5, 0));
        if !was_reached {
            assert!(
                operations > 11,
                "five outcomes are recorded in one transaction"
            );
            return;
        }
    }
}

/// R15: a job goes to one worker, however many there are.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r15_workers_share_the_jobs() {
    let harness = Harness::new().await;
    let live = harness.live().await;
    for number in 0..60 {
        harness
            .login(&live, &format!("u{number}@example.com"))
            .await;
    }
    let tasks = (0..8).map(|number| {
        let service = if number % 2 == 0 {
            Arc::clone(&harness.service)
        } else {
            harness.other_process()
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
    let to: HashSet<_> = harness
        .mailer
        .sent()
        .into_iter()
        .map(|(_, mail)| mail.to)
        .collect();
    assert_eq!((to.len(), harness.mailer.tries()), (60, 60));
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
    let harness = Harness::with_mail(mailer.clone()).await;
    mailer.store.set(harness.fake.clone()).unwrap();
    let live = harness.live().await;
    harness.login(&live, "ada@example.com").await;
    harness.deliver_once().await;
    harness.fake.set_unavailable(false);
    harness.pass(LEASE.0 - 1);
    assert_eq!(
        harness.deliver_once().await,
        0,
        "another worker may still be on it"
    );
    harness.pass(1);
    assert_eq!(harness.deliver_once().await, 1);
    let sent = mailer.sent.lock().unwrap().clone();
    assert_eq!(sent.len(), 2);
    assert_eq!(sent[0], sent[1]);
    assert_eq!(harness.waiting().await, 0);
}

/// R14: an outcome that loses its race is written again; the mail is not sent again.
#[tokio::test]
async fn r14_a_lost_race_sends_nothing_twice() {
    let mailer = Arc::new(Accident {
        lost_commits: 3,
        ..Accident::default()
    });
    let harness = Harness::with_mail(mailer.clone()).await;
    mailer.store.set(harness.fake.clone()).unwrap();
    let live = harness.live().await;
    harness.login(&live, "ada@example.com").await;
    harness.fake.lose_commits(3);
    assert_eq!(harness.deliver_once().await, 1);
    harness.pass(LEASE.0);
    assert_eq!(harness.deliver_once().await, 0);
    assert_eq!(mailer.sent.lock().unwrap().len(), 1);
    assert_eq!(harness.waiting().await, 0);
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
    let harness = Harness::with_mail(gate.clone()).await;
    let live = harness.live().await;
    let (arrive, arrived) = oneshot::channel();
    let (open, opened) = oneshot::channel();
    *gate.arrived.lock().unwrap() = Some(arrive);
    *gate.opened.lock().unwrap() = Some(opened);
    let (stop, stopped) = oneshot::channel::<()>();
    let worker = tokio::spawn({
        let service = Arc::clone(&harness.service);
        async move { service.run_outbox(async { drop(stopped.await) }).await }
    });
    harness
        .service
        .login_or_create_by_email(&live, login("ada@example.com"))
        .await
        .unwrap();
    arrived.await.unwrap();
    stop.send(()).unwrap();
    open.send(()).unwrap();
    worker.await.unwrap();
    assert_eq!(gate.taken.load(Ordering::SeqCst), 1);
    assert_eq!(harness.waiting().await, 0);
}

/// A live job of a service that has lost its transport stays queued until there is one.
#[tokio::test]
async fn a_job_without_a_transport_waits() {
    let harness = Harness::new().await;
    let live = harness.live().await;
    harness.login(&live, "ada@example.com").await;
    let bare = harness.process_without_mail();
    assert_eq!(bare.deliver_due("bare").await.unwrap(), 1);
    assert_eq!((harness.mailer.tries(), harness.waiting().await), (0, 1));
    harness.pass(30);
    harness.deliver().await;
    assert_eq!((harness.mailer.tries(), harness.waiting().await), (1, 0));
}

/// A payload from the outbox of one environment does not decrypt in another: a moved row is never sent.
#[tokio::test]
async fn t1_a_moved_payload_is_never_sent() {
    let harness = Harness::new().await;
    let (live, stranger) = (harness.live().await, harness.stranger().await);
    harness.login(&live, "ada@example.com").await;
    let mut tx = harness.fake.begin().await.unwrap();
    let queue = OutboxQueue::new(Environment::Live, Channel::Email);
    let job = tx
        .outbox()
        .claim(queue, "thief", harness.now(), harness.now() + LEASE, 1)
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
        harness.deliver_once().await;
        harness.pass(30);
    }
    assert_eq!(
        harness.mailer.sent().len(),
        1,
        "the row moved into its place"
    );
    harness.pass(600);
    harness.deliver().await;
    assert_eq!(
        (harness.mailer.tries(), harness.waiting().await),
        (1, 0),
        "the other one is dead"
    );
}

/// The database is unreachable: no job is claimed, and the worker reports it.
#[tokio::test]
async fn an_unreachable_outbox_is_a_fault() {
    let harness = Harness::new().await;
    harness.fake.set_unavailable(true);
    let outcome = harness.service.deliver_due("worker").await;
    assert!(matches!(outcome, Err(Fault::Unavailable(_))), "{outcome:?}");
}

/// A mail transport that never answers, and counts its mails.
#[derive(Default)]
struct Hanging(AtomicUsize);

#[port]
impl Mailer for Hanging {
    async fn send(&self, _id: JobId, _message: &Message) -> Result<(), SendError> {
        self.0.fetch_add(1, Ordering::SeqCst);
        std::future::pending().await
    }

    async fn probe(&self) -> Result<(), SendError> {
        std::future::pending().await
    }
}

/// PR-75: a mail transport that hangs holds its 64 slots and no more. Text messages and test environments are not delayed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pr_75_a_hanging_mail_transport_holds_64_slots() {
    let mailer = Arc::new(Hanging::default());
    let harness = Harness::with_mail(mailer.clone()).await;
    let (live, test) = (harness.live().await, harness.test().await);
    for number in 0..70 {
        let address = format!("u{number}@example.com");
        harness.login(&live, &address).await;
    }
    let worker = tokio::spawn({
        let service = Arc::clone(&harness.service);
        async move { service.run_outbox(std::future::pending()).await }
    });
    until(|| mailer.0.load(Ordering::SeqCst) == 64).await;
    harness.text(&live, "+14153002000").await;
    until(|| harness.sms.sent().len() == 1).await;
    harness.login(&test, "ada@example.com").await;
    let captured = async {
        while harness.waiting().await > 70 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, captured).await.unwrap();
    assert_eq!(mailer.0.load(Ordering::SeqCst), 64);
    worker.abort();
}

/// How long a test waits for something that happens in the background.
const PATIENCE: Duration = Duration::from_secs(20);

async fn until(is_so: impl Fn() -> bool) {
    let look = async {
        let mut look = tokio::time::interval(Duration::from_millis(5));
        while !is_so() {
            look.tick().await;
        }
    };
    tokio::time::timeout(PATIENCE, look).await.unwrap();
}

/// How many waiting live mails have had no attempt.
async fn unattempted(harness: &Harness) -> usize {
    let queue = OutboxQueue::new(Environment::Live, Channel::Email);
    let far = harness.now() + Seconds(60);
    let mut tx = harness.fake.begin().await.unwrap();
    let jobs = tx.outbox().claim(queue, "test", far, far, 1_000).await;
    // The transaction is dropped.
    let jobs = jobs.unwrap().into_iter();
    jobs.filter(|job| job.attempts == 1).count()
}

/// PR-74: after ten failures in a row a transport gets one job every five seconds until one succeeds. The other jobs lose no attempt, and
/// other transports and test environments are not affected.
#[tokio::test]
async fn pr_74_a_failing_transport_gets_one_job_every_five_seconds() {
    let harness = Harness::new().await;
    let (live, test) = (harness.live().await, harness.test().await);
    harness.mailer.fail_for_now(12);
    for number in 0..30 {
        harness
            .login(&live, &format!("u{number}@example.com"))
            .await;
    }
    assert!(!is_failing(&harness, Channel::Email).await);
    assert_eq!(harness.deliver_once().await, 16);
    assert_eq!(harness.mailer.tries(), 10);
    assert_eq!(unattempted(&harness).await, 20);
    assert!(is_failing(&harness, Channel::Email).await);
    assert!(!is_failing(&harness, Channel::Sms).await);
    assert_eq!(harness.deliver_once().await, 0);
    // Only mail waits.
    harness.text(&live, "+14153002000").await;
    harness.login(&test, "ada@example.com").await;
    assert_eq!(harness.deliver_once().await, 2);
    assert_eq!(harness.sms.sent().len(), 1);
    for tries in [11, 12, 13] {
        harness.pass(4);
        assert_eq!(harness.deliver_once().await, 0);
        harness.pass(1);
        assert_eq!(harness.deliver_once().await, 1);
        assert_eq!(harness.mailer.tries(), tries);
        assert_eq!(unattempted(&harness).await, 30 - tries);
    }
    // The last one succeeded.
    assert_eq!(harness.mailer.sent().len(), 1);
    assert!(!is_failing(&harness, Channel::Email).await);
    assert_eq!(harness.deliver_once().await, 16);
    assert_eq!(harness.deliver_once().await, 13);
    assert_eq!(harness.mailer.sent().len(), 30);
}

/// PR-74: recipients that are refused, or asked to wait, do not count as failures of the transport.
#[tokio::test]
async fn pr_74_refused_recipients_do_not_count() {
    let harness = Harness::new().await;
    let live = harness.live().await;
    for refuses in [true, false] {
        if refuses {
            harness.mailer.refuse();
        } else {
            harness.mailer.postpone();
        }
        for number in 0..12 {
            let address = format!("{refuses}{number}@example.com");
            harness.login(&live, &address).await;
        }
        assert_eq!(harness.deliver_once().await, 12);
        assert!(!is_failing(&harness, Channel::Email).await);
    }
    harness.mailer.take();
    harness.login(&live, "ada@example.com").await;
    assert_eq!(harness.deliver_once().await, 1);
    assert_eq!(harness.mailer.sent().len(), 1);
}

/// PR-71: a worker that stops claims nothing more. What it was claiming at that moment is given back and loses no attempt.
#[tokio::test]
async fn pr_71_a_draining_worker_gives_back_what_it_has_not_begun() {
    let harness = Harness::new().await;
    let live = harness.live().await;
    for number in 0..20 {
        harness
            .login(&live, &format!("u{number}@example.com"))
            .await;
    }
    // The first time the worker looks, it has claimed nothing; the second time, it is claiming.
    for looks in [0, 1] {
        let mut left = looks;
        let stop = std::future::poll_fn(move |_| {
            if left == 0 {
                return Poll::Ready(());
            }
            left -= 1;
            Poll::Pending
        });
        harness.service.run_outbox(stop).await;
        assert_eq!(harness.mailer.tries(), 0);
        assert_eq!(unattempted(&harness).await, 20);
    }
    assert_eq!(harness.deliver_once().await, 16);
}

/// PR-71: a message that is still being sent when the time of a draining worker is over is cut off, and sent again when its lease ends.
#[tokio::test]
async fn pr_71_a_draining_worker_does_not_wait_for_ever() {
    let mailer = Arc::new(Hanging::default());
    let harness = Harness::with_mail(mailer.clone()).await;
    let live = harness.live().await;
    harness.login(&live, "ada@example.com").await;
    let sent = || mailer.0.load(Ordering::SeqCst);
    let service = &harness.service;
    let stop = until(|| sent() == 1);
    let drain = Duration::from_millis(10);
    let worker = service.run_outbox_and_drain(stop, drain);
    tokio::time::timeout(PATIENCE, worker).await.unwrap();
    harness.pass(LEASE.0 - 1);
    assert_eq!(harness.deliver_once().await, 0);
    harness.pass(1);
    let again = tokio::time::timeout(Duration::from_millis(10), harness.deliver_once());
    again.await.unwrap_err();
    assert_eq!(sent(), 2);
}

/// A mail transport that panics.
#[derive(Default)]
struct Panicking(AtomicUsize);

#[port]
impl Mailer for Panicking {
    async fn send(&self, _id: JobId, _message: &Message) -> Result<(), SendError> {
        self.0.fetch_add(1, Ordering::SeqCst);
        panic!("set by the test");
    }

    async fn probe(&self) -> Result<(), SendError> {
        Ok(())
    }
}

/// PR-73: a job that panics is tried three times and then set aside. Only the command line can look at it, queue it again until it expires, or
/// delete it.
#[tokio::test]
async fn pr_73_a_job_that_panics_is_set_aside() {
    let mailer = Arc::new(Panicking::default());
    let harness = Harness::with_mail(mailer.clone()).await;
    let live = harness.live().await;
    harness.login(&live, "ada@example.com").await;
    let service = &harness.service;
    let cli = service.caller(Principal::cli(), live.world).await.unwrap();
    for tries in [3, 6] {
        for _ in 0..3 {
            assert_eq!(harness.deliver_once().await, 1);
            harness.pass(30);
        }
        assert_eq!(harness.deliver_once().await, 0);
        assert_eq!(mailer.0.load(Ordering::SeqCst), tries);
        assert_eq!(harness.waiting().await, 0);
        let dead = service.dead_messages(&cli).await.unwrap();
        let seen = (dead.len(), dead[0].fault, usize::try_from(dead[0].attempts));
        assert_eq!(seen, (1, JobFault::Panicked, Ok(tries)));
        let id = dead[0].id;
        assert_eq!(service.dead_message(&cli, id).await.unwrap(), dead[0]);
        if tries == 3 {
            service.retry_dead_message(&cli, id).await.unwrap();
            assert_eq!(harness.waiting().await, 1);
        }
    }
    assert!(service.dead_messages(&live).await.is_err());
    let dead = service.dead_messages(&cli).await.unwrap().remove(0);
    harness.pass(600);
    let expired = service.retry_dead_message(&cli, dead.id).await;
    let why = format!(
        "message expired at {}; ask the App to send it again",
        vestry_domain::rfc3339::format(dead.deliver_before)
    );
    assert_eq!(expired.unwrap_err().to_string(), why);
    // Other messages are swept after the same seven days.
    harness.pass(7 * 86_400 - 1_000);
    harness.sweep().await;
    assert_eq!(service.dead_messages(&cli).await.unwrap().len(), 1);
    harness.pass(1_000);
    harness.sweep().await;
    assert_eq!(service.dead_messages(&cli).await.unwrap(), []);
    let gone = service.drop_dead_message(&cli, dead.id).await;
    assert!(matches!(gone, Err(Refusal::NotFound(_))), "{gone:?}");
}

/// PR-73: while the sign-in key is missing, messages wait.
#[tokio::test]
async fn pr_73_without_the_sign_in_key_messages_wait() {
    let harness = Harness::new().await;
    let live = harness.live().await;
    harness.login(&live, "ada@example.com").await;
    let cold = harness.process_with_vaults(&Vaults {
        secrets: harness.foreign_root_key().await,
        ..harness.vaults.clone()
    });
    for _ in 0..5 {
        assert_eq!(cold.deliver_due("cold").await.unwrap(), 1);
        harness.pass(30);
    }
    assert_eq!(harness.deliver_once().await, 1);
    assert_eq!(harness.mailer.sent().len(), 1);
}

/// PR-74: whether the metric says that a transport has failed ten times in a row.
async fn is_failing(harness: &Harness, channel: Channel) -> bool {
    harness.service.count_outbox().await.unwrap();
    harness.gauges.value(Gauge::OutboxBreakerOpen(channel)) > 0.5
}

/// PR-142: while too many invitations of an environment wait, no more are accepted. Codes, links, and other environments are not affected.
#[tokio::test]
async fn pr_142_waiting_invitations_never_block_codes() {
    let harness = Harness::with_urls().await;
    let (live, test) = (harness.live().await, harness.test().await);
    let service = harness.process_with_max_waiting(3);
    let invite = async |caller: &Caller, name: u32| {
        let invitation = invitation(&format!("u{name}@example.com"));
        service.invite_by_link(caller, invitation).await
    };
    for name in 0..4 {
        service.count_outbox().await.unwrap();
        invite(&live, name).await.unwrap();
    }
    invite(&live, 4).await.unwrap();
    service.count_outbox().await.unwrap();
    let refused = invite(&live, 5).await;
    assert!(
        matches!(refused, Err(Refusal::Fault(Fault::TooManyWaiting))),
        "{refused:?}"
    );
    invite(&test, 5).await.unwrap();
    service
        .login_or_create_by_email(&live, login("ada@example.com"))
        .await
        .unwrap();
    harness.pass(2);
    service.count_outbox().await.unwrap();
    let value = |gauge| harness.gauges.value(gauge);
    let email = Channel::Email;
    let counted = (
        value(Gauge::OutboxWaiting(email)),
        value(Gauge::OutboxOldest(email)),
    );
    assert_eq!(counted, (7.0, 2.0), "PR-21");
    harness.deliver().await;
    service.count_outbox().await.unwrap();
    invite(&live, 5).await.unwrap();
}
