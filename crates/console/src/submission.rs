//! Forms that act once, however often they are sent (CON-15).
//!
//! A form that creates something carries a random id. Its first submission runs under that id as an `Idempotency-Key` does; a repeat finds
//! that it ran. What the first one showed, such as a new key, is not stored.

use std::sync::Arc;

use vestry_app::idempotency::{BeginRunError, Begun, KeyedRequest, Outcome, Run};
use vestry_app::{Caller, Fault, Refusal, Service};
use vestry_domain::Secret;
use vestry_domain::idempotency::IdempotencyKey;
use vestry_edge::Problem;

use crate::form::Form;
use crate::visit::Visit;

/// The name of the field.
pub(crate) const FIELD: &str = "submission";

/// The outcome of a submission.
pub(crate) enum Submitted<T> {
    /// It ran now.
    First(T),
    /// It ran before, or is running.
    Repeated,
}

/// Why a submission did nothing.
pub(crate) enum NotSubmitted {
    /// The use case refused it.
    Refused(Refusal),
    /// The page to show instead.
    Problem(Problem),
}

impl From<Fault> for NotSubmitted {
    fn from(fault: Fault) -> Self {
        Self::Refused(fault.into())
    }
}

impl Visit {
    /// A new id for a form.
    pub(crate) fn new_submission(&self) -> String {
        self.service.new_browser_value().expose().clone()
    }

    /// Runs a use case once per submission of a form. It must end with `commit_last`, so that effect and id are one commit.
    ///
    /// # Errors
    /// [`NotSubmitted`].
    pub(crate) async fn once<T, C, F>(
        &self,
        caller: Caller,
        form: &Form,
        command: C,
    ) -> Result<Submitted<T>, NotSubmitted>
    where
        C: FnOnce(Arc<Service>, Arc<Run>) -> F + Send + 'static,
        F: Future<Output = Result<T, Refusal>> + Send + 'static,
        T: Send + 'static,
    {
        let key = IdempotencyKey::parse(form.text(FIELD).as_bytes())
            .map_err(|invalid| NotSubmitted::Problem(invalid.into()))?;
        let request = KeyedRequest {
            method: "POST".to_owned(),
            target: self.path.clone(),
            body: Secret::new(Vec::new()),
        };
        self.run(|service| async move {
            let run = match service.begin_run(&caller, &key, &request).await {
                Ok(Begun::Run(run)) => run,
                Ok(Begun::Replay(_)) | Err(BeginRunError::Running) => {
                    return Ok(Submitted::Repeated);
                }
                Err(BeginRunError::Common(refusal)) => return Err(NotSubmitted::Refused(refusal)),
                Err(other) => return Err(NotSubmitted::Problem(other.into())),
            };
            let renewal = service.renew_run(&run);
            let done = command(Arc::clone(&service), Arc::clone(&run)).await;
            drop(renewal);
            let outcome = match &done {
                Ok(_) => Outcome::Decided(Secret::new(b"done".to_vec())),
                Err(Refusal::Fault(_)) => Outcome::Failed,
                Err(_) => Outcome::Undecided,
            };
            service.end_run(&run, outcome).await?;
            done.map(Submitted::First).map_err(NotSubmitted::Refused)
        })
        .await
    }
}
