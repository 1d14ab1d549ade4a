//! The authenticated caller: environment, App settings and scopes.

use std::sync::Arc;

use vestry_domain::api_key::{ApiKey, ApiKeyKind, Scope};
use vestry_domain::app::{App, AppSettings};
use vestry_domain::event::{Actor, EventKind};
use vestry_domain::{Environment, World};
use vestry_ports::store::{StoreResult, Tx};

use crate::kernel::condition::Condition;
use crate::kernel::run::{About, Run};
use crate::{Fault, Refusal};

/// An authenticated request: its key exists and is not revoked.
#[derive(Debug, Clone)]
pub struct Caller {
    /// The environment that the key belongs to.
    pub world: World,
    /// The API key.
    pub key: Arc<ApiKey>,
    /// The App.
    pub app: Arc<App>,
    /// The request id.
    pub(crate) request_id: Option<Arc<str>>,
    /// The run of a request with an `Idempotency-Key`.
    pub(crate) run: Option<Arc<Run>>,
}

/// Reason why authentication failed.
#[derive(Debug, thiserror::Error)]
pub enum AuthenticateError {
    /// Malformed, unknown or revoked key; the response does not say which.
    #[error("invalid API key")]
    Unknown,
    /// See [`Fault`].
    #[error(transparent)]
    Fault(#[from] Fault),
}

impl Caller {
    /// Returns this caller with the given request id.
    pub fn of_request(&self, id: Arc<str>) -> Self {
        Self {
            request_id: Some(id),
            ..self.clone()
        }
    }

    /// Returns the actor shown in events.
    pub(crate) fn actor(&self) -> Actor {
        match self.key.kind {
            ApiKeyKind::Secret => Actor::ApiKey(self.key.id),
            ApiKeyKind::Public => Actor::PublicToken(self.key.id),
        }
    }

    /// Returns whether events of this kind are written in this environment.
    pub(crate) fn wants(&self, kind: EventKind) -> bool {
        self.app.wants(self.world.environment, kind)
    }

    /// Returns this caller bound to an idempotent run: its changes and its response are committed together.
    pub fn in_run(&self, run: Arc<Run>) -> Self {
        Self {
            run: Some(run),
            ..self.clone()
        }
    }

    /// Commits the last transaction of a use case.
    ///
    /// In an idempotent run, the transaction stays open until [`Service::end_run`] has added the response to it. Code that runs afterwards
    /// must therefore neither use the database nor announce the changes.
    ///
    /// [`Service::end_run`]: crate::Service::end_run
    pub(crate) async fn commit_last(&self, tx: Box<dyn Tx>) -> StoreResult<()> {
        match &self.run {
            None => tx.commit().await,
            Some(run) => {
                run.leave_open(tx, None);
                Ok(())
            }
        }
    }

    /// Records a precondition of the call. The stored response is replayed only while it holds.
    pub(crate) fn record_precondition(&self, condition: Condition) {
        if let Some(run) = &self.run {
            run.record_precondition(condition);
        }
    }

    /// Records the user that the response is about. The stored response is erased with that user.
    pub(crate) fn is_about(&self, about: About) {
        if let Some(run) = &self.run {
            run.is_about(about);
        }
    }

    /// Rejects the creation of a user if this repeats a request whose user was deleted: erased data stays erased.
    ///
    /// # Errors
    /// [`Refusal::NotFound`].
    pub(crate) fn may_create_user(&self) -> Result<(), Refusal> {
        match &self.run {
            Some(run) if run.repeats_erased() => Err(Refusal::NotFound("user")),
            _ => Ok(()),
        }
    }

    /// Returns the App's settings.
    pub fn settings(&self) -> &AppSettings {
        &self.app.settings
    }

    /// Returns whether this is the test environment.
    pub fn is_test(&self) -> bool {
        self.world.environment == Environment::Test
    }

    /// Rejects a call that the key's scopes do not cover.
    ///
    /// # Errors
    /// [`Refusal::NotAllowed`].
    pub fn require(&self, scope: Scope) -> Result<(), Refusal> {
        if self.key.allows(scope) {
            self.record_precondition(Condition::Right(scope));
            Ok(())
        } else {
            Err(Refusal::NotAllowed(scope))
        }
    }
}
