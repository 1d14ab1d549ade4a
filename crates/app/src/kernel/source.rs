//! Where events and audit entries come from.

use std::net::IpAddr;
use std::sync::Arc;

use vestry_domain::World;
use vestry_domain::app::App;
use vestry_domain::event::{Actor, EventKind};

/// The actor of a change and the environment in which events are emitted.
#[derive(Clone)]
pub(crate) struct Source<'a> {
    pub(crate) world: World,
    pub(crate) actor: Actor,
    pub(crate) request_id: Option<Arc<str>>,
    /// The client address of an operator, which audit entries show.
    pub(crate) client: Option<IpAddr>,
    /// The App whose settings and endpoints select optional events; `None` emits no optional events.
    pub(crate) app: Option<&'a App>,
}

impl Source<'_> {
    /// Returns whether events of this kind are emitted.
    pub(crate) fn wants(&self, kind: EventKind) -> bool {
        let environment = self.world.environment;
        !kind.is_optional() || self.app.is_some_and(|app| app.wants(environment, kind))
    }
}
