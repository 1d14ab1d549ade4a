//! The outbox worker: takes what was committed, sends it (live) or captures it (test), and tries again with growing waits.
//!
//! Delivery is at least once. A worker that dies between the transport's acceptance and its own note sends again,
//! under the same `Message-ID` and with the same code.

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

use crate::delivery_notes::{Ending, Note};
use crate::events::Source;
use crate::fault::{causes, retried};
use crate::{Fault, Service};

/// Jobs taken at once.
const BATCH: i64 = 16;
/// With so many jobs under way no more are taken.
const MOST_AT_ONCE: usize = 128;
/// How long one App may keep a worker from the others.
const PATIENCE_WITH_ONE: Duration = Duration::from_secs(1);
/// How often the outbox is looked at without a bell: for jobs of other processes and for those whose wait is over.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// What became of one job.
enum Outcome {
    /// Of a message of this kind, where that is known.
    End(JobEnd, Option<MessageKind>),
    Captured(Box<Secret<Message>>),
    /// Not before the provider wants to be asked again, if it said when.
    Again(Option<Seconds>),
}

impl Service {
    /// Delivers until `stop` is done; finishes the jobs it holds before it returns.
    ///
    /// Jobs are taken while others are under way: a transport that is slow to answer holds up its own messages, and those
    /// of the others only when it holds `MOST_AT_ONCE`.
    pub async fn run_outbox(&self, stop: impl Future<Output = ()>) {
        let owner = self.new_id::<JobId>(self.ports.clock.machine()).to_string();
        let mut stop = std::pin::pin!(stop);
        let mut under_way = FuturesUnordered::new();
        let mut second = tokio::time::interval(LOOK_EVERY);
        second.set_missed_tick_behavior(MissedTickBehavior::Delay);
        // Whether there may be something to take.
        let mut look = true;
        loop {
            if look && under_way.len() < MOST_AT_ONCE {
                // What is under way goes on meanwhile: it may hold the very connection that the look waits for.
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
            let has_room = under_way.len() < MOST_AT_ONCE;
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
        if self.ports.store.is_spread() {
            return self.take_apart(owner).await;
        }
        match retried(|| self.claim(owner)).await {
            Ok(jobs) => jobs,
            Err(fault) => {
                tracing::warn!(error = causes(&fault), "the outbox could not be read");
                Vec::new()
            }
        }
    }

    /// Jobs of one App after the other, each in a transaction of its own, until there are enough: an App whose database is away holds
    /// up no other.
    async fn take_apart(&self, owner: &str) -> Vec<OutboxJob> {
        let now = self.ports.clock.machine();
        let apps = match self.apps_due(now).await {
            Ok(apps) => apps,
            Err(fault) => {
                tracing::warn!(
                    error = causes(&fault),
                    "the outbox of some Apps could not be read"
                );
                let mut apps = self.apps().await.unwrap_or_default();
                // Each time another one is first.
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
            match tokio::time::timeout(PATIENCE_WITH_ONE, claim).await {
                Ok(Ok(some)) => jobs.extend(some),
                Ok(Err(fault)) => {
                    tracing::debug!(%app, error = causes(&fault), "the outbox of an App could not be read");
                }
                Err(_too_long) => {
                    tracing::debug!(%app, "the outbox of an App was not read in time");
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
        let mut read = self.ports.store.read().await?;
        let apps = read.apps().list().await?;
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

    /// Takes one batch of due jobs and brings each to an end or back to its next try. Answers how many there were.
    ///
    /// # Errors
    /// The outbox could not be read; what was taken comes back when its lease ends.
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
                tracing::warn!(job = %id, attempts, error = causes(&fault), "a message could not be prepared");
                Outcome::Again(None)
            }
        };
        let note = Note {
            world: job.world,
            job: id,
            owner: owner.to_owned(),
            told: self.told(&job, &outcome),
            ending: self.ending(&job, outcome),
        };
        match self.together(&self.notes, note).await {
            Some(Ok(true)) => self.captured_bell.notify_waiters(),
            Some(Ok(false)) => {}
            // A note that is lost means that the message is sent again when the lease ends.
            None => {
                tracing::warn!(job = %id, "the end of a delivery could not be noted: noting it panicked");
            }
            Some(Err(fault)) => {
                tracing::warn!(job = %id, error = causes(&fault), "the end of a delivery could not be noted");
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

    /// Nothing of what is tried again, and nothing of a decoy.
    fn told(&self, job: &OutboxJob, outcome: &Outcome) -> Option<NewEvent> {
        if is_decoy(job) {
            return None;
        }
        let fact = match outcome {
            Outcome::End(JobEnd::Delivered, kind) => Fact::message_sent(job.channel, (*kind)?),
            Outcome::End(end, kind) => Fact::message_failed(job.channel, *kind, *end),
            Outcome::Captured(message) => Fact::message_sent(job.channel, message.expose().kind),
            Outcome::Again(_) => return None,
        };
        Some(self.new_event(&Source::system(job.world), &fact))
    }

    async fn attempt(&self, job: &OutboxJob) -> Result<Outcome, Fault> {
        if self.ports.clock.machine() >= job.deliver_before {
            if is_decoy(job) {
                return Ok(Outcome::End(JobEnd::Expired, None));
            }
            tracing::warn!(job = %job.id, attempts = job.attempts, "a message expired before it could be delivered");
            // One that cannot be opened is over as well.
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
        // Without the causes of a failure: servers repeat the recipient in their answers.
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

    /// Uniform between one second and the longest wait, so that jobs that failed together do not come back together.
    fn wait(&self, attempts: u32) -> Seconds {
        let longest = longest_wait(attempts).0;
        let mut byte = [0_u8; 1];
        self.ports.entropy.fill(&mut byte);
        let [byte] = byte;
        Seconds(1 + i64::from(byte) * longest / 256)
    }
}

fn again(job: &OutboxJob, error: &dyn Display, retry_after: Option<Seconds>) -> Outcome {
    tracing::warn!(job = %job.id, attempts = job.attempts, error = %error, "a message will be tried again");
    Outcome::Again(retry_after)
}

fn refused(job: &OutboxJob, kind: MessageKind, error: &dyn Display) -> Outcome {
    tracing::warn!(job = %job.id, attempts = job.attempts, error = %error, "a message was refused");
    Outcome::End(JobEnd::Refused, Some(kind))
}

/// What is over when it is made is a decoy, which nobody shall get.
fn is_decoy(job: &OutboxJob) -> bool {
    job.deliver_before <= job.created_at
}

/// Whether the message goes to a reserved identity whose transport fails.
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

/// Derived from the job: two captures of one job in a second are the same message.
fn captured_id(job: &OutboxJob, now: Timestamp) -> MessageId {
    let hash = TokenHash::of(&job.id.to_string()).0;
    let mut random = [0_u8; 16];
    for (byte, from) in random.iter_mut().zip(hash) {
        *byte = from;
    }
    MessageId::new(now, random)
}
