//! Emitting events in the transaction of the change (E-1).

use vestry_domain::activity::Measure;
use vestry_domain::event::{Fact, NewEvent};
use vestry_domain::ids::{AppId, EventId};
use vestry_domain::{Environment, World};
use vestry_ports::store::{Repositories, StoreResult};

use crate::kernel::source::Source;
use crate::{Principal, Service};

impl Service {
    /// Emits events in the transaction. Optional events that no App setting or endpoint asks for are dropped.
    pub(crate) async fn emit(
        &self,
        tx: &mut dyn Repositories,
        source: impl Into<Source<'_>> + Send,
        facts: impl IntoIterator<Item = Fact> + Send,
    ) -> StoreResult<()> {
        let source = source.into();
        let facts: Vec<_> = facts.into_iter().collect();
        count(&mut *tx, &source.world, &facts);
        let facts = facts.iter().filter(|fact| source.wants(fact.kind));
        let events: Vec<_> = facts.map(|fact| self.new_event(&source, fact)).collect();
        if events.is_empty() {
            return Ok(());
        }
        tx.events().append(&events).await
    }

    /// Emits an event in both environments of an App, for changes to the App as a whole.
    pub(crate) async fn emit_in_both_environments(
        &self,
        tx: &mut dyn Repositories,
        by: &Principal,
        app: AppId,
        fact: Fact,
    ) -> StoreResult<()> {
        for environment in Environment::ALL {
            let source = by.at(World::new(app, environment));
            self.emit(&mut *tx, source, [fact.clone()]).await?;
        }
        Ok(())
    }

    /// Builds an event. Its id carries the machine's time, whatever a test clock shows.
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

/// Counts users and wallets by the facts that report their creation, once the transaction has committed (CON-20). Emitted facts are
/// counted already.
pub(crate) fn count(tx: &mut dyn Repositories, world: &World, facts: &[Fact]) {
    for measure in facts.iter().filter_map(Measure::of) {
        tx.activity().note(world, measure, 1);
    }
}
