//! The outbox worker: claims committed messages, sends (live) or captures (test) them, and retries with increasing delays.
//!
//! Delivery is at least once. If a worker dies between the transport's acceptance and recording it, the message is sent again with the same
//! `Message-ID` and code.

use std::collections::HashMap;
use std::fmt::Display;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use tokio::time::MissedTickBehavior;
use tracing::Instrument;
use vestry_domain::code::Reserved;
use vestry_domain::email::Email;
use vestry_domain::envelope::{Place, SecretKind};
use vestry_domain::event::{Fact, NewEvent};
use vestry_domain::ids::{AppId, Id, JobId, MessageId};
use vestry_domain::message::{
    CapturedMessage, Channel, JobEnd, JobFault, LEASE, MAX_FAILURES, Message, MessageKind,
    OutboxJob, OutboxQueue, longest_wait,
};
use vestry_domain::phone::PhoneNumber;
use vestry_domain::timestamp::Seconds;
use vestry_domain::token::TokenHash;
use vestry_domain::{Environment, Secret, Timestamp};
use vestry_ports::mailer::SendError;
use vestry_ports::meter::Counted;
use vestry_ports::sms::SmsError;
use vestry_ports::store::{Partitions, lane_share};

use crate::kernel::fault::{causes, retried};
use crate::kernel::partition;
use crate::kernel::state::outbox_outcomes::{Ending, JobOutcome};
use crate::{Fault, Principal, Service};

/// Jobs claimed from a queue in one transaction.
const BATCH: i64 = 16;
/// Number of jobs of a queue in flight (PR-75). Each queue has its own, so that a transport that hangs delays no other.
const SLOTS: i64 = 64;
/// Free slots that a claim waits for while jobs of its queue are in flight. With fewer, one App could get them all (PR-72).
const LEAST_ROOM: i64 = 4;
/// Interval between polls, for jobs of other processes and for due retries.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// How long a worker that stops waits for the messages that it is sending. Those cut off return when their lease ends.
const DRAIN: Duration = Duration::from_secs(20);

/// A worker of this process.
struct Worker {
    owner: String,
    /// Set when it stops: jobs that have not begun are given back.
    is_draining: AtomicBool,
}

impl Worker {
    fn new(owner: impl Into<String>) -> Self {
        Self {
            owner: owner.into(),
            is_draining: AtomicBool::new(false),
        }
    }

    fn drain(&self) {
        self.is_draining.store(true, Ordering::Relaxed);
    }

    fn is_draining(&self) -> bool {
        self.is_draining.load(Ordering::Relaxed)
    }
}

/// Jobs claimed from one queue.
struct Claimed {
    queue: OutboxQueue,
    jobs: Vec<OutboxJob>,
    /// Whether there may be more.
    has_more: bool,
}

/// The numbers of jobs in flight, by queue.
#[derive(Default)]
struct InFlight(HashMap<OutboxQueue, i64>);

impl InFlight {
    fn of(&self, queue: OutboxQueue) -> i64 {
        self.0.get(&queue).copied().unwrap_or_default()
    }

    /// Returns how many jobs may be claimed from the queue.
    fn room(&self, queue: OutboxQueue) -> i64 {
        let in_flight = self.of(queue);
        let room = SLOTS.saturating_sub(in_flight).min(BATCH);
        if in_flight > 0 && room < LEAST_ROOM {
            return 0;
        }
        room
    }

    fn begin(&mut self, queue: OutboxQueue) {
        *self.0.entry(queue).or_default() += 1;
    }

    fn end(&mut self, queue: OutboxQueue) {
        *self.0.entry(queue).or_default() -= 1;
    }
}

/// Result of an attempt.
enum Outcome {
    /// The job has ended. The kind of message is given if known.
    End(JobEnd, Option<MessageKind>),
    Captured(Box<Secret<Message>>),
    /// To be retried, no earlier than the provider asked for, if it did.
    Again(Option<Seconds>),
    /// Failed because of the job itself, whatever the transport.
    Failed(JobFault),
    /// Not attempted.
    Back,
}

impl Service {
    /// Delivers messages until `stop` completes. Then nothing is claimed, jobs that have not begun are given back, and those in flight get
    /// 20 seconds (PR-71).
    ///
    /// Jobs are claimed while others are in flight. A slow transport therefore delays only its own messages, until it holds all slots of its
    /// queue.
    pub async fn run_outbox(&self, stop: impl Future<Output = ()>) {
        self.run_outbox_and_drain(stop, DRAIN).await;
    }

    /// Does the same with another time for the messages in flight.
    pub async fn run_outbox_and_drain(&self, stop: impl Future<Output = ()>, drain: Duration) {
        let id: JobId = self.new_id(self.ports.clock.machine());
        let worker = Worker::new(id.to_string());
        let mut stop = std::pin::pin!(stop);
        let mut under_way = FuturesUnordered::new();
        let mut in_flight = InFlight::default();
        let mut second = tokio::time::interval(LOOK_EVERY);
        second.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let wanted = self
                .outbox_bell
                .take(|queue| self.room_of(queue, in_flight.room(queue)));
            if !wanted.is_empty() {
                // Keep driving the jobs in flight: one of them may hold the connection that the claim waits for.
                let mut taking = std::pin::pin!(self.take(&worker.owner, &wanted));
                let taken = loop {
                    tokio::select! {
                        biased;
                        () = &mut stop, if !worker.is_draining() => worker.drain(),
                        taken = &mut taking => break taken,
                        Some(queue) = under_way.next() => in_flight.end(queue),
                    }
                };
                for claimed in taken {
                    let queue = claimed.queue;
                    for job in claimed.jobs {
                        in_flight.begin(queue);
                        let delivery = self.deliver_for_request(&worker, job);
                        under_way.push(async move {
                            delivery.await;
                            queue
                        });
                    }
                    if claimed.has_more {
                        self.outbox_bell.ring([queue]);
                    }
                }
            }
            if worker.is_draining() {
                break;
            }
            tokio::select! {
                biased;
                () = &mut stop => break,
                Some(queue) = under_way.next() => in_flight.end(queue),
                () = self.outbox_bell.rung() => {}
                _ = second.tick() => self.outbox_bell.ring(OutboxQueue::ALL),
            }
        }
        worker.drain();
        let rest = async { while under_way.next().await.is_some() {} };
        if tokio::time::timeout(drain, rest).await.is_err() {
            tracing::warn!(
                "worker stopped while sending messages; they are sent again when their lease ends"
            );
        }
    }

    /// Returns how many jobs may be claimed from a queue, of those for which there is room. A transport that fails gets one now and then.
    fn room_of(&self, queue: OutboxQueue, room: i64) -> i64 {
        match queue.environment {
            Environment::Test => room,
            Environment::Live => {
                let now = self.ports.clock.machine();
                self.breakers.room(queue.channel, room, now)
            }
        }
    }

    /// Claims jobs from these queues, as many as there is room for.
    async fn take(&self, owner: &str, wanted: &[(OutboxQueue, i64)]) -> Vec<Claimed> {
        if self.ports.store.partitions() == Partitions::PerApp {
            let mut claimed = Vec::new();
            for (queue, room) in wanted {
                claimed.push(self.take_per_app(owner, *queue, *room).await);
            }
            return claimed;
        }
        match retried(|| self.claim(owner, wanted)).await {
            Ok(claimed) => claimed,
            Err(fault) => {
                tracing::warn!(error = causes(&fault), "outbox claim failed; retrying");
                Vec::new()
            }
        }
    }

    /// Claims jobs App by App, each in its own transaction, until there are enough. An App whose database is down does not block others.
    async fn take_per_app(&self, owner: &str, queue: OutboxQueue, room: i64) -> Claimed {
        let now = self.ports.clock.machine();
        let apps = match self.apps_due(queue, now).await {
            Ok(apps) => apps,
            Err(fault) => {
                tracing::warn!(
                    error = causes(&fault),
                    "outbox poll failed; polling each App separately"
                );
                let mut apps = self.apps().await.unwrap_or_default();
                // Start with a different App each time.
                let first = usize::try_from(now.unix()).unwrap_or_default();
                let length = apps.len().max(1);
                apps.rotate_left(first % length);
                apps
            }
        };
        let mut claimed = Claimed {
            queue,
            jobs: Vec::new(),
            has_more: false,
        };
        let share = if apps.len() > 1 {
            lane_share(room)
        } else {
            room
        };
        for app in apps {
            let taken = i64::try_from(claimed.jobs.len()).unwrap_or(i64::MAX);
            let share = share.min(room.saturating_sub(taken));
            if share <= 0 {
                claimed.has_more = true;
                break;
            }
            let claim = retried(|| self.claim_of(app, queue, owner, now, share));
            match tokio::time::timeout(partition::TIME_LIMIT, claim).await {
                Ok(Ok(some)) => {
                    claimed.has_more |= is_full(&some, share);
                    claimed.jobs.extend(some);
                }
                Ok(Err(fault)) => {
                    tracing::debug!(%app, error = causes(&fault), "outbox claim failed for this App");
                }
                Err(_too_long) => {
                    tracing::debug!(%app, "outbox claim timed out for this App");
                }
            }
        }
        claimed
    }

    async fn apps_due(&self, queue: OutboxQueue, now: Timestamp) -> Result<Vec<AppId>, Fault> {
        let mut read = self.ports.store.read().await?;
        Ok(read.outbox().apps_due(queue, now, BATCH).await?)
    }

    async fn apps(&self) -> Result<Vec<AppId>, Fault> {
        let apps = self.every_app().await?;
        Ok(apps.iter().map(|app| app.id).collect())
    }

    async fn claim_of(
        &self,
        app: AppId,
        queue: OutboxQueue,
        owner: &str,
        now: Timestamp,
        limit: i64,
    ) -> Result<Vec<OutboxJob>, Fault> {
        let mut tx = self.ports.store.begin().await?;
        let until = now + LEASE;
        let outbox = tx.outbox();
        let jobs = outbox
            .claim_of(app, queue, owner, now, until, limit)
            .await?;
        tx.commit().await?;
        Ok(jobs)
    }

    /// Claims one batch of due jobs of each queue and attempts each once. Returns the number of jobs.
    ///
    /// # Errors
    /// The outbox could not be read. Claimed jobs become due again when their lease expires.
    pub async fn deliver_due(&self, owner: &str) -> Result<usize, Fault> {
        let rooms = OutboxQueue::ALL.map(|queue| (queue, self.room_of(queue, BATCH)));
        let wanted: Vec<_> = rooms.into_iter().filter(|(_, room)| *room > 0).collect();
        let claimed = retried(|| self.claim(owner, &wanted)).await?;
        let jobs: Vec<_> = claimed
            .into_iter()
            .flat_map(|claimed| claimed.jobs)
            .collect();
        let taken = jobs.len();
        let worker = Worker::new(owner);
        let deliveries = jobs
            .into_iter()
            .map(|job| self.deliver_for_request(&worker, job));
        join_all(deliveries).await;
        Ok(taken)
    }

    async fn claim(
        &self,
        owner: &str,
        wanted: &[(OutboxQueue, i64)],
    ) -> Result<Vec<Claimed>, Fault> {
        let now = self.ports.clock.machine();
        let mut tx = self.ports.store.begin().await?;
        let mut claimed = Vec::new();
        for (queue, room) in wanted {
            let outbox = tx.outbox();
            let jobs = outbox.claim(*queue, owner, now, now + LEASE, *room).await?;
            claimed.push(Claimed {
                queue: *queue,
                has_more: is_full(&jobs, *room),
                jobs,
            });
        }
        tx.commit().await?;
        Ok(claimed)
    }

    /// Delivers a job. Its log lines have the id of the request that caused it (PR-2).
    async fn deliver_for_request(&self, worker: &Worker, job: OutboxJob) {
        let span = tracing::error_span!("message", request_id = job.cause.as_deref());
        self.deliver(worker, job).instrument(span).await;
    }

    async fn deliver(&self, worker: &Worker, job: OutboxJob) {
        let (id, attempts) = (job.id, job.attempts);
        let attempt = AssertUnwindSafe(self.attempt(worker, &job)).catch_unwind();
        let outcome = match attempt.await {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(fault)) => {
                tracing::warn!(job = %id, attempts, error = causes(&fault), "message could not be prepared; retrying");
                match fault {
                    Fault::Tampered(_) => Outcome::Failed(JobFault::Tampered),
                    Fault::Internal(_) => Outcome::Failed(JobFault::Unreadable),
                    _ => Outcome::Again(None),
                }
            }
            // The panic hook logs its location. Its message may contain secrets.
            Err(_panic) => Outcome::Failed(JobFault::Panicked),
        };
        let note = JobOutcome {
            world: job.world,
            job: id,
            owner: worker.owner.clone(),
            event: self.event_of(&job, &outcome),
            ending: self.ending(&job, outcome),
        };
        let is_capture = matches!(note.ending, Ending::Captured(_));
        let end = note.ending.end();
        match self.batched(&self.outbox_outcomes, note).await {
            Some(Ok(true)) => {
                if let Some(end) = end.filter(|_| !is_decoy(&job)) {
                    let ended = Counted::MessageEnded(job.channel, end);
                    self.ports.meter.count(ended);
                }
                if is_capture {
                    self.captured_bell.notify_waiters();
                }
            }
            // The new holder of the lease records the outcome.
            Some(Ok(false)) => {}
            // If recording fails, the message is sent again when the lease expires.
            None => {
                tracing::warn!(job = %id, "delivery outcome not recorded (panic); the message may be sent again");
            }
            Some(Err(fault)) => {
                tracing::warn!(job = %id, error = causes(&fault), "delivery outcome not recorded; the message may be sent again");
            }
        }
    }

    fn ending(&self, job: &OutboxJob, outcome: Outcome) -> Ending {
        let now = self.ports.clock.machine();
        match outcome {
            Outcome::End(end, _) => Ending::End(end),
            Outcome::Captured(message) => Ending::Captured(Box::new(CapturedMessage {
                id: captured_id(job, now),
                world: job.world,
                message: message.expose().clone(),
                created_at: now,
            })),
            Outcome::Back => Ending::Back,
            Outcome::Failed(fault) if is_last_failure(job) => {
                tracing::error!(alert = "VestryDeadLetters", job = %job.id, fault = fault.as_str(), "message cannot be handled and is set aside for seven days; see `vestry outbox dead list`");
                Ending::Failed(fault, None)
            }
            Outcome::Failed(fault) => Ending::Failed(fault, Some(now + self.wait(job.attempts))),
            Outcome::Again(asked) => {
                Ending::Again(now + self.wait(job.attempts).max(asked.unwrap_or_default()))
            }
        }
    }

    /// Returns the event to emit. Retries and decoys emit none.
    fn event_of(&self, job: &OutboxJob, outcome: &Outcome) -> Option<NewEvent> {
        if is_decoy(job) {
            return None;
        }
        let fact = match outcome {
            Outcome::End(JobEnd::Delivered, kind) => Fact::message_sent(job.channel, (*kind)?),
            Outcome::End(end, kind) => Fact::message_failed(job.channel, *kind, *end),
            Outcome::Captured(message) => Fact::message_sent(job.channel, message.expose().kind),
            Outcome::Failed(_) if is_last_failure(job) => {
                Fact::message_failed(job.channel, None, JobEnd::Dead)
            }
            Outcome::Failed(_) | Outcome::Again(_) | Outcome::Back => return None,
        };
        Some(self.new_event(&Principal::system().at(job.world), &fact))
    }

    async fn attempt(&self, worker: &Worker, job: &OutboxJob) -> Result<Outcome, Fault> {
        if self.ports.clock.machine() >= job.deliver_before {
            if is_decoy(job) {
                return Ok(Outcome::End(JobEnd::Expired, None));
            }
            tracing::warn!(job = %job.id, attempts = job.attempts, "message expired before delivery");
            // A message that cannot be decrypted has expired all the same.
            let message = self.open_message(job).await.ok();
            let kind = message.map(|message| message.expose().kind);
            return Ok(Outcome::End(JobEnd::Expired, kind));
        }
        let message = self.open_message(job).await?;
        if worker.is_draining() {
            return Ok(Outcome::Back);
        }
        if job.world.environment == Environment::Test {
            return Ok(if bounces(message.expose()) {
                Outcome::End(JobEnd::Refused, Some(message.expose().kind))
            } else {
                Outcome::Captured(Box::new(message))
            });
        }
        self.send(job, message.expose()).await
    }

    async fn open_message(&self, job: &OutboxJob) -> Result<Secret<Message>, Fault> {
        let owner = job.id.to_string();
        let place = Place {
            world: job.world,
            kind: SecretKind::OutboxPayload,
            owner: &owner,
        };
        let plaintext = self.ports.sealer.open(place, &job.payload).await?;
        let message = serde_json::from_slice(plaintext.expose())
            .map_err(|error| Fault::Internal(Box::new(error)))?;
        Ok(Secret::new(message))
    }

    async fn send(&self, job: &OutboxJob, message: &Message) -> Result<Outcome, Fault> {
        if !self.breakers.admit(job.channel, self.ports.clock.machine()) {
            return Ok(Outcome::Back);
        }
        let delivered = || {
            self.breakers.succeeded(job.channel);
            Outcome::End(JobEnd::Delivered, Some(message.kind))
        };
        let failed = |error: &dyn Display, retry_after| {
            self.breakers
                .failed(job.channel, self.ports.clock.machine());
            again(job, error, retry_after)
        };
        // Log errors without their causes, because servers repeat the recipient in their replies.
        match job.channel {
            Channel::Email => {
                let mailer = self.ports.mailer.as_ref();
                let mailer = mailer.ok_or(Fault::NoTransport("mail"))?;
                Ok(match mailer.send(job.id, message).await {
                    Ok(()) => delivered(),
                    Err(error @ SendError::Transient(_)) => failed(&error, None),
                    Err(error @ SendError::Postponed(_)) => again(job, &error, None),
                    Err(error @ SendError::Permanent(_)) => refused(job, message.kind, &error),
                })
            }
            Channel::Sms => {
                let sms = self.ports.sms.as_ref();
                let sms = sms.ok_or(Fault::NoTransport("SMS"))?;
                Ok(match sms.send(job.id, message).await {
                    Ok(()) => delivered(),
                    Err(error @ SmsError::Transient { retry_after, .. }) => {
                        failed(&error, retry_after)
                    }
                    Err(error @ SmsError::Permanent(_)) => refused(job, message.kind, &error),
                })
            }
        }
    }

    /// Returns a delay distributed uniformly between one second and the maximum, so that jobs that failed together are not retried
    /// together.
    fn wait(&self, attempts: u32) -> Seconds {
        let longest = longest_wait(attempts).0;
        let mut byte = [0_u8; 1];
        self.ports.entropy.fill(&mut byte);
        let [byte] = byte;
        Seconds(1 + i64::from(byte) * longest / 256)
    }
}

/// Whether a claim returned as many jobs as it could.
fn is_full(jobs: &[OutboxJob], limit: i64) -> bool {
    i64::try_from(jobs.len()).is_ok_and(|taken| taken >= limit)
}

fn again(job: &OutboxJob, error: &dyn Display, retry_after: Option<Seconds>) -> Outcome {
    tracing::warn!(job = %job.id, attempts = job.attempts, error = %error, "message delivery failed; retrying");
    Outcome::Again(retry_after)
}

fn refused(job: &OutboxJob, kind: MessageKind, error: &dyn Display) -> Outcome {
    tracing::warn!(job = %job.id, attempts = job.attempts, error = %error, "message rejected permanently by the provider");
    Outcome::End(JobEnd::Refused, Some(kind))
}

/// Whether one more failure because of itself makes the job dead.
fn is_last_failure(job: &OutboxJob) -> bool {
    job.failures.saturating_add(1) >= MAX_FAILURES
}

/// Returns whether the job is a decoy, which has expired when created and is never sent.
fn is_decoy(job: &OutboxJob) -> bool {
    job.deliver_before <= job.created_at
}

/// Returns whether the message goes to a reserved test identity that always bounces.
fn bounces(message: &Message) -> bool {
    let reserved = match message.channel {
        Channel::Email => Email::parse(&message.to)
            .ok()
            .and_then(|to| Reserved::of_email(to.identity())),
        Channel::Sms => PhoneNumber::stored(message.to.clone())
            .ok()
            .and_then(|to| Reserved::of_phone(&to)),
    };
    reserved == Some(Reserved::Bounce)
}

/// Derives the id from the job, so that two captures of one job within a second are the same message.
fn captured_id(job: &OutboxJob, now: Timestamp) -> MessageId {
    let hash = TokenHash::of(&job.id.to_string()).0;
    let mut random = [0_u8; 16];
    for (byte, from) in random.iter_mut().zip(hash) {
        *byte = from;
    }
    MessageId::new(now, random)
}
