//! The deliveries of one event to the endpoints of its environment.

use vestry_domain::World;
use vestry_domain::action::Action;
use vestry_domain::ids::EventId;
use vestry_domain::webhook::{Delivery, Endpoint};

use super::webhooks::as_shown;
use crate::{Principal, Refusal, Service};

/// Maximum number of deliveries.
const MAX_SHOWN: i64 = 100;

/// A delivery and the endpoint that it goes to.
#[derive(Debug, Clone)]
pub struct EventDelivery {
    /// The endpoint.
    pub endpoint: Endpoint,
    /// The delivery.
    pub delivery: Delivery,
}

impl Service {
    /// Lists the deliveries of an event, newest first, at most 100. Those to endpoints that were deleted are left out.
    ///
    /// # Errors
    /// [`Refusal`].
    pub async fn list_deliveries_of_event(
        &self,
        by: &Principal,
        world: World,
        event: EventId,
    ) -> Result<Vec<EventDelivery>, Refusal> {
        by.authorize(Action::ReadWebhooks, world)?;
        let mut read = self.ports.store.read().await?;
        let mut endpoints = read.webhook_endpoints().list(world.app_id).await?;
        endpoints.retain(|endpoint| endpoint.world == world);
        if endpoints.is_empty() {
            return Ok(Vec::new());
        }
        let ids: Vec<_> = endpoints.iter().map(|endpoint| endpoint.id).collect();
        let deliveries = read.deliveries();
        let found = deliveries.of_event(&world, &ids, event, MAX_SHOWN).await?;
        let found = found.into_iter().filter_map(|delivery| {
            let of_it = |endpoint: &&Endpoint| endpoint.id == delivery.endpoint_id;
            let endpoint = endpoints.iter().find(of_it)?.clone();
            Some(EventDelivery {
                delivery: as_shown(delivery, &endpoint),
                endpoint,
            })
        });
        Ok(found.collect())
    }
}
