//! How a use case tells of what it changed, in the transaction of the change (E-1).

use std::sync::Arc;

use vestry_domain::app::App;
use vestry_domain::event::{Actor, EventKind, Fact, NewEvent};
use vestry_domain::ids::{AppId, EventId};
use vestry_domain::{Environment, World};
use vestry_ports::store::{Repositories, StoreResult};

use crate::{Caller, Service};

/// By whom something was changed, and where that is told.
#[derive(Clone)]
pub(crate) struct Source<'a> {
    pub(crate) world: World,
    pub(crate) actor: Actor,
    pub(crate) request_id: Option<Arc<str>>,
    /// Whose settings and endpoints say what else is told; `None`: nothing else is.
    pub(crate) app: Option<&'a App>,
}

impl<'a> From<&'a Caller> for Source<'a> {
    fn from(caller: &'a Caller) -> Self {
        Self {
            world: caller.world,
            actor: caller.actor(),
            request_id: caller.request_id.clone(),
            app: Some(&*caller.app),
        }
    }
}

impl Source<'_> {
    /// Whoever runs `vestry`.
    pub(crate) const fn cli(world: World) -> Self {
        Self {
            world,
            actor: Actor::Cli,
            request_id: None,
            app: None,
        }
    }

    /// The service itself.
    pub(crate) const fn system(world: World) -> Self {
        Self {
            world,
            actor: Actor::System,
            request_id: None,
            app: None,
        }
    }

    /// Whether such facts are told at all.
    pub(crate) fn wants(&self, kind: EventKind) -> bool {
        let environment = self.world.environment;
        !kind.is_optional() || self.app.is_some_and(|app| app.wants(environment, kind))
    }
}

impl Service {
    /// Leaves facts in the transaction, to be on disk with it. A fact that is told only on demand, and that nobody asked for, is
    /// dropped.
    pub(crate) async fn tell(
        &self,
        tx: &mut dyn Repositories,
        source: impl Into<Source<'_>> + Send,
        facts: impl IntoIterator<Item = Fact> + Send,
    ) -> StoreResult<()> {
        let source = source.into();
        let facts = facts.into_iter().filter(|fact| source.wants(fact.kind));
        let events: Vec<_> = facts.map(|fact| self.new_event(&source, &fact)).collect();
        if events.is_empty() {
            return Ok(());
        }
        tx.events().append(&events).await
    }

    /// The same in both worlds of an App, for what belongs to neither.
    pub(crate) async fn tell_app(
        &self,
        tx: &mut dyn Repositories,
        app: AppId,
        fact: Fact,
    ) -> StoreResult<()> {
        for environment in Environment::ALL {
            let source = Source::cli(World::new(app, environment));
            self.tell(&mut *tx, source, [fact.clone()]).await?;
        }
        Ok(())
    }

    /// A fact as an event; its id says when by the machine's clock, whatever the clock of a test world says.
    pub(crate) fn new_event(&self, source: &Source<'_>, fact: &Fact) -> NewEvent {
        let id: EventId = self.new_id(self.machine_time());
        NewEvent {
            id,
            world: source.world,
            kind: fact.kind,
            user_id: fact.user_id,
            wallet_id: fact.wallet_id,
            actor: source.actor,
            request_id: source.request_id.as_deref().map(str::to_owned),
            data: fact.data(),
            created_at: self.now(&source.world),
        }
    }
}
