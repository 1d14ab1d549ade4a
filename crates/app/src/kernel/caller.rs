//! A principal in one environment of an App.

use std::sync::Arc;

use vestry_domain::action::Action;
use vestry_domain::api_key::{ApiKey, ApiKeyKind};
use vestry_domain::app::{App, AppSettings};
use vestry_domain::event::EventKind;
use vestry_domain::{Environment, World};
use vestry_ports::store::{StoreResult, Tx};

use crate::kernel::principal::Principal;
use crate::kernel::replay_guard::ReplayGuard;
use crate::kernel::run::{About, Run};
use crate::kernel::source::Source;
use crate::{Fault, Refusal};

/// An authenticated principal in one environment of an App: for a request with an API key, that of the key.
#[derive(Debug, Clone)]
pub struct Caller {
    /// The environment.
    pub world: World,
    /// The App.
    pub app: Arc<App>,
    /// The principal.
    pub(crate) principal: Principal,
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
        let mut caller = self.clone();
        caller.principal.request_id = Some(id);
        caller
    }

    /// Returns the API key; `None` for a caller without one.
    pub fn key(&self) -> Option<&ApiKey> {
        self.principal.key()
    }

    /// Returns whether the caller has a public token only, as end users' devices have.
    pub fn has_public_token(&self) -> bool {
        self.key().is_some_and(|key| key.kind == ApiKeyKind::Public)
    }

    /// Returns whether events of this kind are written in this environment.
    pub(crate) fn wants(&self, kind: EventKind) -> bool {
        self.app.wants(self.world.environment, kind)
    }

    /// Returns this caller bound to an idempotent run: its changes and its response are committed together.
    pub fn in_run(&self, run: Arc<Run>) -> Self {
        let mut caller = self.clone();
        caller.principal.run = Some(run);
        caller
    }

    /// Commits the last transaction of a use case.
    ///
    /// In an idempotent run, the transaction stays open until [`Service::end_run`] has added the response to it. Code that runs afterwards
    /// must therefore neither use the database nor announce the changes.
    ///
    /// [`Service::end_run`]: crate::Service::end_run
    pub(crate) async fn commit_last(&self, tx: Box<dyn Tx>) -> StoreResult<()> {
        match &self.principal.run {
            None => tx.commit().await,
            Some(run) => {
                run.leave_open(tx, None);
                Ok(())
            }
        }
    }

    /// Records a precondition of the call. The stored response is replayed only while it holds.
    pub(crate) fn record_guard(&self, condition: ReplayGuard) {
        self.principal.record_guard(condition);
    }

    /// Records the user that the response is about. The stored response is erased with that user.
    pub(crate) fn is_about(&self, about: About) {
        if let Some(run) = &self.principal.run {
            run.is_about(about);
        }
    }

    /// Rejects the creation of a user if this repeats a request whose user was deleted: erased data stays erased.
    ///
    /// # Errors
    /// [`Refusal::NotFound`].
    pub(crate) fn may_create_user(&self) -> Result<(), Refusal> {
        match &self.principal.run {
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

    /// Permits an action or refuses it.
    ///
    /// # Errors
    /// [`Refusal::NotAllowed`].
    pub fn authorize(&self, action: Action) -> Result<(), Refusal> {
        self.principal.authorize(action)
    }
}

impl<'a> From<&'a Caller> for Source<'a> {
    fn from(caller: &'a Caller) -> Self {
        Self {
            app: Some(&*caller.app),
            ..caller.principal.at(caller.world)
        }
    }
}
