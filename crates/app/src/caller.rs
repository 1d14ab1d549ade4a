//! Who is calling: a world, its settings and its rights.

use std::sync::Arc;

use vestry_domain::api_key::{ApiKey, ApiKeyKind, Scope};
use vestry_domain::app::{App, AppSettings};
use vestry_domain::event::{Actor, EventKind};
use vestry_domain::{Environment, World};
use vestry_ports::store::{StoreResult, Tx};

use crate::condition::Condition;
use crate::run::{About, Run};
use crate::{Fault, Refusal};

/// A request whose key is known and not revoked.
#[derive(Debug, Clone)]
pub struct Caller {
    /// The App and environment that the key opens.
    pub world: World,
    /// The key.
    pub key: Arc<ApiKey>,
    /// The App.
    pub app: Arc<App>,
    /// The id of the request.
    pub(crate) request_id: Option<Arc<str>>,
    /// Of a request with an `Idempotency-Key`.
    pub(crate) run: Option<Arc<Run>>,
}

/// Why a key opens nothing.
#[derive(Debug, thiserror::Error)]
pub enum AuthenticateError {
    /// Not a key, an unknown one, or a revoked one; the answer does not tell which.
    #[error("the API key is not valid")]
    Unknown,
    /// See [`Fault`].
    #[error(transparent)]
    Fault(#[from] Fault),
}

impl Caller {
    /// The caller of a request with this id.
    pub fn of_request(&self, id: Arc<str>) -> Self {
        Self {
            request_id: Some(id),
            ..self.clone()
        }
    }

    /// Who that is to those who read events.
    pub(crate) fn actor(&self) -> Actor {
        match self.key.kind {
            ApiKeyKind::Secret => Actor::ApiKey(self.key.id),
            ApiKeyKind::Public => Actor::PublicToken(self.key.id),
        }
    }

    /// Whether such events are written in its world.
    pub(crate) fn wants(&self, kind: EventKind) -> bool {
        self.app.wants(self.world.environment, kind)
    }

    /// The caller of a request that has an `Idempotency-Key`: what its use case does is on disk together with its answer.
    pub fn in_run(&self, run: Arc<Run>) -> Self {
        Self {
            run: Some(run),
            ..self.clone()
        }
    }

    /// Commits the last transaction of a use case. That of a run stays open until [`Service::end_run`] has put the answer
    /// into it; so nothing after it may need the database, or tell anybody of what it did.
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

    /// Notes that the call was let pass by this: its kept answer is given again while this holds.
    pub(crate) fn rests_on(&self, condition: Condition) {
        if let Some(run) = &self.run {
            run.rests_on(condition);
        }
    }

    /// Notes whom the answer of the call is about: it is erased with that user.
    pub(crate) fn is_about(&self, about: About) {
        if let Some(run) = &self.run {
            run.is_about(about);
        }
    }

    /// Refuses to create a user for a repeat of a request whose user was deleted: what was erased stays erased.
    ///
    /// # Errors
    /// [`Refusal::NotFound`].
    pub(crate) fn may_create_user(&self) -> Result<(), Refusal> {
        match &self.run {
            Some(run) if run.repeats_erased() => Err(Refusal::NotFound("user")),
            _ => Ok(()),
        }
    }

    /// The App's settings.
    pub fn settings(&self) -> &AppSettings {
        &self.app.settings
    }

    /// Whether this is the test world.
    pub fn is_test(&self) -> bool {
        self.world.environment == Environment::Test
    }

    /// Refuses a call that the key's scopes do not cover.
    ///
    /// # Errors
    /// [`Refusal::NotAllowed`].
    pub fn require(&self, scope: Scope) -> Result<(), Refusal> {
        if self.key.allows(scope) {
            self.rests_on(Condition::Right(scope));
            Ok(())
        } else {
            Err(Refusal::NotAllowed(scope))
        }
    }
}
