//! The outbox worker: claims committed messages, sends (live) or captures (test) them, and retries with increasing delays.
//!
//! Delivery is at least once. If a worker dies between the transport's acceptance and recording it, the message is sent again with the same
//! `Message-ID` and code.

use std::fmt::Display;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::join_all;
use futures_util::stream::FuturesUnordered;
use tokio::time::MissedTickBehavior;
use vestry_domain::code::Reserved;
use vestry_domain::email::Email;
use vestry_domain::envelope::{Place, SecretKind};
use vestry_domain::event::{Fact, NewEvent};
use vestry_domain::ids::{AppId, Id, JobId, MessageId};
use vestry_domain::message::{
    CapturedMessage, Channel, JobEnd, LEASE, Message, MessageKind, OutboxJob, longest_wait,
};
use vestry_domain::phone::PhoneNumber;
use vestry_domain::timestamp::Seconds;
use vestry_domain::token::TokenHash;
use vestry_domain::{Environment, Secret, Timestamp};
use vestry_ports::mailer::SendError;
use vestry_ports::sms::SmsError;
use vestry_ports::store::Partitions;

use crate::kernel::fault::{causes, retried};
use crate::kernel::partition;
use crate::kernel::state::outbox_outcomes::{Ending, JobOutcome};
use crate::{Fault, Principal, Service};

/// Jobs claimed in one transaction.
const BATCH: i64 = 16;
/// Number of jobs in flight at which no more are claimed.
const MAX_AT_ONCE: usize = 128;
/// Interval between polls, for jobs of other processes and for due retries.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Result of an attempt.
enum Outcome {
    /// The job has ended. The kind of message is given if known.
    End(JobEnd, Option<MessageKind>),
    Captured(Box<Secret<Message>>),
    /// To be retried, no earlier than the provider asked for, if it did.
    Again(Option<Seconds>),
}

impl Service {
    /// Delivers messages until `stop` completes, then finishes the jobs in flight.
    ///
    /// Jobs are claimed while others are in flight. A slow transport therefore delays only its own messages, until it holds `MAX_AT_ONCE`
    /// jobs.
    pub async fn run_outbox(&self, stop: impl Future<Output = ()>) {
        let owner = self.new_id::<JobId>(self.ports.clock.machine()).to_string();
        let mut stop = std::pin::pin!(stop);
        let mut under_way = FuturesUnordered::new();
        let mut second = tokio::time::interval(LOOK_EVERY);
        second.set_missed_tick_behavior(MissedTickBehavior::Delay);
        // Whether there may be jobs to claim.
        let mut look = true;
        loop {
            if look && under_way.len() < MAX_AT_ONCE {
                // Keep driving the jobs in flight: one of them may hold the connection that the claim waits for.
                let mut taking = std::pin::pin!(self.take(&owner));
                let taken = loop {
                    tokio::select! {
                        taken = &mut taking => break taken,
                        Some(()) = under_way.next() => {}
                    }
                };
                look = taken.len() >= usize::try_from(BATCH).unwrap_or_default();
                under_way.extend(taken.into_iter().map(|job| self.deliver(&owner, job)));
            }
            let has_room = under_way.len() < MAX_AT_ONCE;
            tokio::select! {
                biased;
                () = &mut stop => break,
                Some(()) = under_way.next() => {}
                () = std::future::ready(()), if look && has_room => {}
                () = self.outbox_bell.notified(), if !look => look = true,
                _ = second.tick(), if !look => look = true,
            }
        }
        while under_way.next().await.is_some() {}
    }

    async fn take(&self, owner: &str) -> Vec<OutboxJob> {
        if self.ports.store.partitions() == Partitions::PerApp {
            return self.take_per_app(owner).await;
        }
        match retried(|| self.claim(owner)).await {
            Ok(jobs) => jobs,
            Err(fault) => {
                tracing::warn!(error = causes(&fault), "outbox claim failed; retrying");
                Vec::new()
            }
        }
    }

    /// Claims jobs App by App, each in its own transaction, until there are enough. An App whose database is down does not block others.
    async fn take_per_app(&self, owner: &str) -> Vec<OutboxJob> {
        let now = self.ports.clock.machine();
        let apps = match self.apps_due(now).await {
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
        let enough = usize::try_from(BATCH).unwrap_or_default();
        let mut jobs = Vec::new();
        for app in apps {
            let claim = retried(|| self.claim_of(app, owner, now));
            match tokio::time::timeout(partition::TIME_LIMIT, claim).await {
                Ok(Ok(some)) => jobs.extend(some),
                Ok(Err(fault)) => {
                    tracing::debug!(%app, error = causes(&fault), "outbox claim failed for this App");
                }
                Err(_too_long) => {
                    tracing::debug!(%app, "outbox claim timed out for this App");
                }
            }
            if jobs.len() >= enough {
                break;
            }
        }
        jobs
    }

    async fn apps_due(&self, now: Timestamp) -> Result<Vec<AppId>, Fault> {
        let mut read = self.ports.store.read().await?;
        Ok(read.outbox().apps_due(now, BATCH).await?)
    }

    async fn apps(&self) -> Result<Vec<AppId>, Fault> {
        let apps = self.every_app().await?;
        Ok(apps.iter().map(|app| app.id).collect())
    }

    async fn claim_of(
        &self,
        app: AppId,
        owner: &str,
        now: Timestamp,
    ) -> Result<Vec<OutboxJob>, Fault> {
        let mut tx = self.ports.store.begin().await?;
        let jobs = tx
            .outbox()
            .claim_of(app, owner, now, now + LEASE, BATCH)
            .await?;
        tx.commit().await?;
        Ok(jobs)
    }

    /// Claims one batch of due jobs and attempts each once. Returns the number of jobs.
    ///
    /// # Errors
    /// The outbox could not be read. Claimed jobs become due again when their lease expires.
    pub async fn deliver_due(&self, owner: &str) -> Result<usize, Fault> {
        let jobs = retried(|| self.claim(owner)).await?;
        let taken = jobs.len();
        join_all(jobs.into_iter().map(|job| self.deliver(owner, job))).await;
        Ok(taken)
    }

    async fn claim(&self, owner: &str) -> Result<Vec<OutboxJob>, Fault> {
        let now = self.ports.clock.machine();
        let mut tx = self.ports.store.begin().await?;
        let jobs = tx.outbox().claim(owner, now, now + LEASE, BATCH).await?;
        tx.commit().await?;
        Ok(jobs)
    }

    async fn deliver(&self, owner: &str, job: OutboxJob) {
        let (id, attempts) = (job.id, job.attempts);
        let outcome = match self.attempt(&job).await {
            Ok(outcome) => outcome,
            Err(fault) => {
                tracing::warn!(job = %id, attempts, error = causes(&fault), "message could not be prepared; retrying");
                Outcome::Again(None)
            }
        };
        let note = JobOutcome {
            world: job.world,
            job: id,
            owner: owner.to_owned(),
            event: self.event_of(&job, &outcome),
            ending: self.ending(&job, outcome),
        };
        match self.batched(&self.outbox_outcomes, note).await {
            Some(Ok(true)) => self.captured_bell.notify_waiters(),
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
            Outcome::Again(_) => return None,
        };
        Some(self.new_event(&Principal::system().at(job.world), &fact))
    }

    async fn attempt(&self, job: &OutboxJob) -> Result<Outcome, Fault> {
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
        let delivered = Outcome::End(JobEnd::Delivered, Some(message.kind));
        // Log errors without their causes, because servers repeat the recipient in their replies.
        match job.channel {
            Channel::Email => {
                let mailer = self.ports.mailer.as_ref();
                let mailer = mailer.ok_or(Fault::NoTransport("mail"))?;
                Ok(match mailer.send(job.id, message).await {
                    Ok(()) => delivered,
                    Err(error @ SendError::Transient(_)) => again(job, &error, None),
                    Err(error @ SendError::Permanent(_)) => refused(job, message.kind, &error),
                })
            }
            Channel::Sms => {
                let sms = self.ports.sms.as_ref();
                let sms = sms.ok_or(Fault::NoTransport("SMS"))?;
                Ok(match sms.send(job.id, message).await {
                    Ok(()) => delivered,
                    Err(error @ SmsError::Transient { retry_after, .. }) => {
                        again(job, &error, retry_after)
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

fn again(job: &OutboxJob, error: &dyn Display, retry_after: Option<Seconds>) -> Outcome {
    tracing::warn!(job = %job.id, attempts = job.attempts, error = %error, "message delivery failed; retrying");
    Outcome::Again(retry_after)
}

fn refused(job: &OutboxJob, kind: MessageKind, error: &dyn Display) -> Outcome {
    tracing::warn!(job = %job.id, attempts = job.attempts, error = %error, "message rejected permanently by the provider");
    Outcome::End(JobEnd::Refused, Some(kind))
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
