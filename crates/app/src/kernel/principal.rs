//! The principal of a call, and its rights.

use std::sync::Arc;

use vestry_domain::World;
use vestry_domain::action::Action;
use vestry_domain::api_key::{ApiKey, ApiKeyKind};
use vestry_domain::event::Actor;

use crate::Refusal;
use crate::kernel::replay_guard::ReplayGuard;
use crate::kernel::run::Run;
use crate::kernel::source::Source;

/// The principal of a call, with its request. Every use case that can be started from outside takes one, alone or as part of a [`Caller`].
///
/// [`Caller`]: crate::Caller
#[derive(Debug, Clone)]
pub struct Principal {
    identity: Identity,
    /// The request id, which events and audit entries show.
    pub(crate) request_id: Option<Arc<str>>,
    /// The run of a request with an `Idempotency-Key`.
    pub(crate) run: Option<Arc<Run>>,
}

/// The kinds of principals.
#[derive(Debug, Clone)]
enum Identity {
    /// A program with a secret key, or an end user's device with a public token.
    ApiKey(Arc<ApiKey>),
    /// An administrator with a shell on the server.
    Cli,
    /// The service itself.
    System,
}

impl Principal {
    const fn of(identity: Identity) -> Self {
        Self {
            identity,
            request_id: None,
            run: None,
        }
    }

    /// Returns the principal of an API key.
    pub(crate) const fn api_key(key: Arc<ApiKey>) -> Self {
        Self::of(Identity::ApiKey(key))
    }

    /// Returns the principal of the command line. It has every right.
    pub fn cli() -> &'static Self {
        static CLI: Principal = Principal::of(Identity::Cli);
        &CLI
    }

    /// Returns the service itself, for its scheduled work.
    pub(crate) fn system() -> &'static Self {
        static SYSTEM: Principal = Principal::of(Identity::System);
        &SYSTEM
    }

    /// Returns the actor shown in events and audit entries.
    pub(crate) fn actor(&self) -> Actor {
        match &self.identity {
            Identity::ApiKey(key) => match key.kind {
                ApiKeyKind::Secret => Actor::ApiKey(key.id),
                ApiKeyKind::Public => Actor::PublicToken(key.id),
            },
            Identity::Cli => Actor::Cli,
            Identity::System => Actor::System,
        }
    }

    /// Permits an action or refuses it. The permission is recorded with an idempotent run: its stored response is replayed only while it
    /// holds.
    ///
    /// # Errors
    /// [`Refusal::NotAllowed`] if an API key lacks the scope, or no API key can do this.
    pub(crate) fn authorize(&self, action: Action) -> Result<(), Refusal> {
        if let Identity::ApiKey(key) = &self.identity {
            let scope = action.scope();
            if !scope.is_some_and(|scope| key.allows(scope)) {
                return Err(Refusal::NotAllowed(scope));
            }
        }
        self.record_guard(ReplayGuard::Permitted(action));
        Ok(())
    }

    /// Returns the API key; `None` for any other principal.
    pub(crate) fn key(&self) -> Option<&ApiKey> {
        match &self.identity {
            Identity::ApiKey(key) => Some(key),
            Identity::Cli | Identity::System => None,
        }
    }

    /// Returns the source of what this principal does in a world, without the App's optional events.
    pub(crate) fn at(&self, world: World) -> Source<'static> {
        Source {
            world,
            actor: self.actor(),
            request_id: self.request_id.clone(),
            app: None,
        }
    }

    /// Records a precondition of the call. The stored response is replayed only while it holds.
    pub(crate) fn record_guard(&self, condition: ReplayGuard) {
        if let Some(run) = &self.run {
            run.record_guard(condition);
        }
    }
}
