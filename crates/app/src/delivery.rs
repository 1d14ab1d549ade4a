//! The outbox worker: takes what was committed, sends it (live) or captures it (test), and tries again with growing waits.
//!
//! Delivery is at least once. A worker that dies between the transport's acceptance and its own note sends again,
//! under the same `Message-ID` and with the same code.

use std::time::Duration;

use futures_util::future::join_all;
use vestry_domain::code::Reserved;
use vestry_domain::email::Email;
use vestry_domain::envelope::{Place, SecretKind};
use vestry_domain::ids::{EventId, Id, MessageId};
use vestry_domain::message::{
    CapturedMessage, Channel, JobEnd, LEASE, Message, OutboxJob, longest_wait,
};
use vestry_domain::timestamp::Seconds;
use vestry_domain::token::TokenHash;
use vestry_domain::{Environment, Secret, Timestamp};
use vestry_ports::mailer::SendError;

use crate::fault::{causes, retried};
use crate::{Fault, Service};

/// Jobs taken at once.
const BATCH: i64 = 16;
/// How often the outbox is looked at without a bell: for jobs of other processes and for those whose wait is over.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How often the remains of codes, windows, sessions and jobs are swept away.
const SWEEP_EVERY: Duration = Duration::from_secs(300);
/// How long ended jobs and dead sessions stay readable for an operator.
const KEPT: Seconds = Seconds(7 * 86_400);

/// What became of one job.
enum Outcome {
    End(JobEnd),
    Captured(Box<Secret<Message>>),
    Again,
}

impl Service {
    /// Delivers until `stop` is done; finishes the jobs it holds before it returns.
    pub async fn run_outbox(&self, stop: impl Future<Output = ()>) {
        let owner = self
            .new_id::<EventId>(self.ports.clock.machine())
            .to_string();
        let mut stop = std::pin::pin!(stop);
        loop {
            let rest = match self.deliver_due(&owner).await {
                Ok(0) => LOOK_EVERY,
                Ok(_) => Duration::ZERO,
                Err(fault) => {
                    tracing::warn!(error = causes(&fault), "the outbox could not be read");
                    LOOK_EVERY
                }
            };
            tokio::select! {
                biased;
                () = &mut stop => return,
                () = self.outbox_bell.notified(), if !rest.is_zero() => {}
                () = tokio::time::sleep(rest) => {}
            }
        }
    }

    /// Sweeps until `stop` is done.
    pub async fn run_sweeper(&self, stop: impl Future<Output = ()>) {
        let mut stop = std::pin::pin!(stop);
        loop {
            if let Err(fault) = self.sweep().await {
                tracing::warn!(
                    error = causes(&fault),
                    "sweeping failed and will be tried again"
                );
            }
            tokio::select! {
                () = &mut stop => return,
                () = tokio::time::sleep(SWEEP_EVERY) => {}
            }
        }
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
                Outcome::Again
            }
        };
        // A note that is lost means that the message is sent again when the lease ends.
        if let Err(fault) = retried(|| self.note(owner, &job, &outcome)).await {
            tracing::warn!(job = %id, error = causes(&fault), "the end of a delivery could not be noted");
        }
    }

    async fn attempt(&self, job: &OutboxJob) -> Result<Outcome, Fault> {
        if self.ports.clock.machine() >= job.deliver_before {
            tracing::warn!(job = %job.id, attempts = job.attempts, "a message expired before it could be delivered");
            return Ok(Outcome::End(JobEnd::Expired));
        }
        let message = self.open_message(job).await?;
        if job.world.environment == Environment::Test {
            let bounces = Email::parse(&message.expose().to)
                .is_ok_and(|to| Reserved::of_email(to.identity()) == Some(Reserved::Bounce));
            return Ok(if bounces {
                Outcome::End(JobEnd::Refused)
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
        let mailer = match job.channel {
            Channel::Email => self
                .ports
                .mailer
                .as_ref()
                .ok_or(Fault::NoTransport("mail"))?,
            Channel::Sms => return Err(Fault::NoTransport("SMS")),
        };
        match mailer.send(job.id, message).await {
            Ok(()) => Ok(Outcome::End(JobEnd::Delivered)),
            // Without its causes: servers repeat the recipient's address in their answers.
            Err(error @ SendError::Transient(_)) => {
                tracing::warn!(job = %job.id, attempts = job.attempts, error = %error, "a message will be tried again");
                Ok(Outcome::Again)
            }
            Err(error @ SendError::Permanent(_)) => {
                tracing::warn!(job = %job.id, attempts = job.attempts, error = %error, "a message was refused");
                Ok(Outcome::End(JobEnd::Refused))
            }
        }
    }

    async fn note(&self, owner: &str, job: &OutboxJob, outcome: &Outcome) -> Result<(), Fault> {
        let now = self.ports.clock.machine();
        let mut tx = self.ports.store.begin().await?;
        let mut captured = false;
        match outcome {
            Outcome::End(end) => {
                tx.outbox()
                    .finish(&job.world, job.id, owner, *end, now)
                    .await?;
            }
            Outcome::Captured(message) => {
                // Lost leases write nothing: whoever holds the job captures it.
                captured = tx
                    .outbox()
                    .finish(&job.world, job.id, owner, JobEnd::Delivered, now)
                    .await?;
                if captured {
                    let message = CapturedMessage {
                        id: captured_id(job, now),
                        world: job.world,
                        message: message.expose().clone(),
                        created_at: now,
                    };
                    tx.captured().insert(&message).await?;
                }
            }
            Outcome::Again => {
                tx.outbox()
                    .retry(&job.world, job.id, owner, now + self.wait(job.attempts))
                    .await?;
            }
        }
        tx.commit().await?;
        if captured {
            self.captured_bell.notify_waiters();
        }
        Ok(())
    }

    /// Uniform between one second and the longest wait, so that jobs that failed together do not come back together.
    fn wait(&self, attempts: u32) -> Seconds {
        let longest = longest_wait(attempts).0;
        let mut byte = [0_u8; 1];
        self.ports.entropy.fill(&mut byte);
        let [byte] = byte;
        Seconds(1 + i64::from(byte) * longest / 256)
    }

    async fn sweep(&self) -> Result<(), Fault> {
        let now = self.ports.clock.machine();
        let mut tx = self.ports.store.begin().await?;
        tx.codes().sweep(now - Seconds(86_400)).await?;
        tx.totps().sweep(now - Seconds(86_400)).await?;
        tx.wallet_challenges().sweep(now - Seconds(86_400)).await?;
        tx.budgets().sweep(now).await?;
        tx.sessions().sweep(now - KEPT).await?;
        tx.outbox().sweep(now - KEPT).await?;
        tx.commit().await?;
        Ok(())
    }
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
