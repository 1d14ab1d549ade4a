//! Limits on the forms that browsers send, whatever they contain.
//!
//! Before signing in, forms are counted by client address: anyone can send them, and each costs a hash or stores a challenge. In a session
//! they are counted by session, so that a session with a stolen password does not keep the operator from signing in.

use vestry_domain::limits::{Limit, console};

use super::WORLD;
use super::sessions::{ConsoleRequest, OperatorSession};
use crate::kernel::fault::retried;
use crate::{Refusal, Service};

impl Service {
    /// Counts a form that was sent without a session against the limit of its client address.
    ///
    /// # Errors
    /// [`Refusal::TooMany`].
    pub async fn admit_form_before_sign_in(&self, request: &ConsoleRequest) -> Result<(), Refusal> {
        let address = request.device().ip_subject().unwrap_or_default();
        self.admit_form("console_address", &address, console::FORMS_PER_ADDRESS)
            .await
    }

    /// Counts a form of a session against the limit of that session.
    ///
    /// # Errors
    /// [`Refusal::TooMany`].
    pub async fn admit_form_of_session(&self, of: &OperatorSession) -> Result<(), Refusal> {
        let session = of.session.id.to_string();
        self.admit_form("console_session", &session, console::FORMS_PER_SESSION)
            .await
    }

    /// Counts a form against a limit.
    pub(super) async fn admit_form(
        &self,
        name: &'static str,
        subject: &str,
        limit: Limit,
    ) -> Result<(), Refusal> {
        retried(|| self.count_form(name, subject, limit)).await
    }

    async fn count_form(
        &self,
        name: &'static str,
        subject: &str,
        limit: Limit,
    ) -> Result<(), Refusal> {
        let now = self.machine_time();
        let mut tx = self.ports.store.begin().await?;
        let quotas = tx.quotas();
        let verdict = quotas.consume(&WORLD, name, subject, limit, now).await?;
        if !verdict.admitted {
            // Rolled back, so that a flood writes nothing.
            return Err(Refusal::TooMany {
                retry_after: verdict.reset - now,
            });
        }
        Ok(tx.commit().await?)
    }
}
