//! Calls that were not allowed, in the audit log: see [`crate::refusal_log`] for how many.

use std::time::Duration;

use tokio::time::Instant;
use vestry_domain::audit::control::{ControlAction, ControlEvent, Detail, Outcome, Subject};

use crate::events::Source;
use crate::fault::causes;
use crate::refusal_log::Counted;
use crate::{Caller, Service};

/// How often minutes that are over are looked for.
const EVERY: Duration = Duration::from_secs(10);

impl Service {
    /// Notes that a call was refused for what the caller may not do: `call` is method and path as in the API description, `code` that of
    /// the answer. The answer is the same where that cannot be written; the log of the service says so.
    pub async fn note_refusal(&self, caller: &Caller, call: &str, code: &str) {
        let source = Source::from(caller);
        let now = Instant::now();
        if self.refusals.count(source.world, source.actor, now) {
            let detail = Detail::default().with("code", code);
            self.write_refusal(&source, Subject::call(call), &detail)
                .await;
        }
    }

    /// Writes how many refusals have no entry of their own, and how many failures of signing in no event, minute by minute and at the
    /// end, until `stop` is done. What was counted is lost with a process that is killed.
    pub async fn run_refusals(&self, stop: impl Future<Output = ()>) {
        let mut stop = std::pin::pin!(stop);
        loop {
            let is_over = tokio::select! {
                () = &mut stop => true,
                () = tokio::time::sleep(EVERY) => false,
            };
            let over = (!is_over).then(Instant::now);
            self.write_counted_refusals(over).await;
            self.tell_counted_failures(over).await;
            if is_over {
                return;
            }
        }
    }

    /// Writes the counts of the minutes that are over at a moment, or of all.
    pub async fn write_counted_refusals(&self, over: Option<Instant>) {
        for Counted {
            world,
            actor,
            count,
        } in self.refusals.end(over)
        {
            let source = Source {
                actor,
                ..Source::cli(world)
            };
            let detail = Detail::default().with("count", count);
            self.write_refusal(&source, Subject::world(&world), &detail)
                .await;
        }
    }

    async fn write_refusal(&self, source: &Source<'_>, subject: Subject, detail: &Detail) {
        let event = ControlEvent {
            outcome: Outcome::Refused,
            ..self.done(source, ControlAction::RequestDeny, subject, detail)
        };
        if let Err(fault) = self.record_change(event).await {
            tracing::error!(error = causes(&fault), "a refusal is not in the audit log");
        }
    }
}
