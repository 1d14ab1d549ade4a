//! Audit entries about denied calls; see [`crate::kernel::state::refusal_log`] for the limits.

use tokio::time::Instant;
use vestry_domain::World;
use vestry_domain::audit::control::{ControlAction, ControlEvent, Detail, Outcome, Subject};
use vestry_domain::envelope::KeyPurpose;

use crate::kernel::fault::causes;
use crate::kernel::source::Source;
use crate::kernel::state::refusal_log::Counted;
use crate::{Caller, Principal, Service};

impl Service {
    /// Records a call that was denied for lack of rights.
    ///
    /// `call` is method and path as in the API description, `code` is the error code of the response. If the entry cannot be written, that
    /// is only logged.
    pub async fn note_refusal(&self, caller: &Caller, call: &str, code: &str) {
        let source = Source::from(caller);
        let now = Instant::now();
        if self.refusals.count(source.world, source.actor, now) {
            let detail = Detail::default().with("code", code);
            self.write_refusal(&source, Subject::call(call), &detail)
                .await;
        }
    }

    /// The same for a call that is about no environment of an App, in the chain of the deployment.
    pub async fn note_refusal_in_deployment(&self, by: &Principal, call: &str, code: &str) {
        let source = by.at(World::DEPLOYMENT);
        let now = Instant::now();
        if !self.refusals.count(source.world, source.actor, now) {
            return;
        }
        if let Err(fault) = self.hold_deployment_key(KeyPurpose::Secrets).await {
            let error = causes(&fault);
            tracing::error!(error, "denied call not recorded in the audit log");
            return;
        }
        let detail = Detail::default().with("code", code);
        self.write_refusal(&source, Subject::call(call), &detail)
            .await;
    }

    /// Writes the counts of the minutes that are over, or of all.
    pub async fn write_counted_refusals(&self, over: Option<Instant>) {
        for Counted {
            world,
            actor,
            count,
        } in self.refusals.end(over)
        {
            let source = Source {
                actor,
                ..Principal::system().at(world)
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
            tracing::error!(
                error = causes(&fault),
                "denied call not recorded in the audit log"
            );
        }
    }
}
