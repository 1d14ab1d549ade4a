//! `vestry outbox`

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use vestry_app::delivery::dead_messages::RetryMessageError;
use vestry_app::{Principal, Refusal};
use vestry_domain::ids::JobId;
use vestry_domain::message::DeadJob;

use super::args::InWorld;
use super::installation::Installation;
use crate::failure::Failure;
use crate::output::{Output, date, table};

/// The subcommands of `vestry outbox`.
#[derive(Debug, Subcommand)]
pub(crate) enum Outbox {
    /// Manage messages that could not be handled
    #[command(subcommand)]
    Dead(Dead),
}

/// The subcommands of `vestry outbox dead`.
#[derive(Debug, Subcommand)]
pub(crate) enum Dead {
    /// List messages that could not be handled, newest first
    #[command(after_help = "\
A message whose delivery panics, or that cannot be decoded, is tried three times
and then kept for seven days, encrypted. Its content is never shown.

Examples:
  vestry outbox dead list app_… live
  vestry outbox dead retry app_… live evt_…
  vestry outbox dead drop app_… live")]
    List(InWorld),
    /// Show one of these messages, without its content
    Show(OneMessage),
    /// Queue one of these messages again, or all
    ///
    /// A code or link that has expired is not sent again.
    Retry(SomeMessages),
    /// Delete one of these messages, or all
    Drop(SomeMessages),
}

/// The arguments that select a message.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct OneMessage {
    #[command(flatten)]
    of: InWorld,
    /// Message ID (evt_…)
    job: JobId,
}

/// The arguments that select a message, or all.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct SomeMessages {
    #[command(flatten)]
    of: InWorld,
    /// Message ID (evt_…) [default: all messages]
    job: Option<JobId>,
}

impl Outbox {
    pub(super) async fn run(self, installation: &Installation) -> Result<Output, Failure> {
        let Self::Dead(command) = self;
        let service = installation.service().await?;
        match command {
            Dead::List(of) => {
                let caller = service.caller(Principal::cli(), of.world()).await?;
                Ok(listed(&service.dead_messages(&caller).await?))
            }
            Dead::Show(OneMessage { of, job }) => {
                let caller = service.caller(Principal::cli(), of.world()).await?;
                Ok(shown(&service.dead_message(&caller, job).await?))
            }
            Dead::Retry(SomeMessages { of, job }) => {
                let caller = service.caller(Principal::cli(), of.world()).await?;
                let Some(job) = job else {
                    let (mut retried, mut expired) = (Vec::new(), 0_u64);
                    for job in service.dead_messages(&caller).await? {
                        match service.retry_dead_message(&caller, job.id).await {
                            Ok(job) => retried.push(job.id),
                            Err(RetryMessageError::Expired(_)) => expired += 1,
                            // Another command was faster.
                            Err(RetryMessageError::Common(Refusal::NotFound(_))) => {}
                            Err(RetryMessageError::Common(error)) => return Err(error.into()),
                        }
                    }
                    return Ok(Output::new(
                        json!({ "retried": retried, "expired": expired }),
                        format!("Queued {} messages; {expired} have expired.", retried.len()),
                    ));
                };
                match service.retry_dead_message(&caller, job).await {
                    Ok(job) => Ok(Output::new(
                        json!({ "retried": [job.id], "expired": 0 }),
                        format!("Queued {}.", job.id),
                    )),
                    Err(RetryMessageError::Common(error)) => Err(error.into()),
                    Err(expired @ RetryMessageError::Expired(_)) => {
                        Err(Failure::new(expired.to_string()))
                    }
                }
            }
            Dead::Drop(SomeMessages { of, job }) => {
                let caller = service.caller(Principal::cli(), of.world()).await?;
                let jobs = match job {
                    Some(job) => vec![service.dead_message(&caller, job).await?],
                    None => service.dead_messages(&caller).await?,
                };
                for job in &jobs {
                    service.drop_dead_message(&caller, job.id).await?;
                }
                let dropped: Vec<_> = jobs.iter().map(|job| job.id).collect();
                Ok(Output::new(
                    json!({ "dropped": dropped }),
                    format!("Deleted {} messages.", dropped.len()),
                ))
            }
        }
    }
}

fn document(job: &DeadJob) -> Value {
    json!({
        "id": job.id,
        "app_id": job.world.app_id,
        "environment": job.world.environment,
        "channel": job.channel.as_str(),
        "priority": job.priority.as_str(),
        "attempts": job.attempts,
        "error": job.fault.as_str(),
        "request_id": job.cause,
        "created_at": job.created_at,
        "expires_at": job.deliver_before,
        "dead_at": job.died_at,
    })
}

fn listed(jobs: &[DeadJob]) -> Output {
    let rows = jobs.iter().map(|job| {
        [
            job.id.to_string(),
            job.channel.as_str().to_owned(),
            job.priority.as_str().to_owned(),
            job.attempts.to_string(),
            job.fault.as_str().to_owned(),
            date(job.died_at),
            date(job.deliver_before),
        ]
    });
    let head = [
        "ID",
        "CHANNEL",
        "PRIORITY",
        "ATTEMPTS",
        "ERROR",
        "DEAD SINCE",
        "EXPIRES",
    ];
    let text = table(head, rows, "No messages.");
    let documents: Vec<_> = jobs.iter().map(document).collect();
    Output::new(json!({ "messages": documents }), text)
}

fn shown(job: &DeadJob) -> Output {
    let lines = [
        format!("ID          {}", job.id),
        format!("Channel     {}", job.channel.as_str()),
        format!("Priority    {}", job.priority.as_str()),
        format!("Attempts    {}", job.attempts),
        format!("Error       {}", job.fault.as_str()),
        format!("Request     {}", job.cause.as_deref().unwrap_or("-")),
        format!("Created     {}", date(job.created_at)),
        format!("Dead since  {}", date(job.died_at)),
        format!("Expires     {}", date(job.deliver_before)),
    ];
    Output::new(document(job), lines.join("\n"))
}
