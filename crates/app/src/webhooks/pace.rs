//! What was held for an endpoint comes back one after the other.

use vestry_domain::ids::{WebhookDeliveryId, WebhookEndpointId};
use vestry_domain::webhook::{PACE, paced};
use vestry_domain::{Timestamp, World};

use crate::fault::retried;
use crate::{Fault, Service};

/// Deliveries that are put off in one transaction.
const AT_ONCE: usize = 1_000;

impl Service {
    /// Has what is held for an endpoint sent one after the other once it is enabled, oldest first, instead of all at once: a receiver
    /// that was away for days comes back to more than it can take.
    pub(crate) async fn pace_held(
        &self,
        world: World,
        endpoint: WebhookEndpointId,
    ) -> Result<(), Fault> {
        let now = self.ports.clock.machine();
        let (mut last, mut done) = (None, 0);
        loop {
            let few = retried(|| self.pace_some(world, endpoint, last, now, done)).await?;
            let Some(newest) = few.last() else {
                return Ok(());
            };
            last = Some(*newest);
            done += few.len();
        }
    }

    async fn pace_some(
        &self,
        world: World,
        endpoint: WebhookEndpointId,
        after: Option<WebhookDeliveryId>,
        from: Timestamp,
        done: usize,
    ) -> Result<Vec<WebhookDeliveryId>, Fault> {
        let mut tx = self.ports.store.begin().await?;
        // Nobody enables it meanwhile; where somebody has, nothing is held any more.
        let endpoints = tx.webhook_endpoints();
        if !endpoints.lock(&world, endpoint).await? {
            return Ok(Vec::new());
        }
        let known = endpoints.find(&world, endpoint).await?;
        if known.is_none_or(|known| known.disabled.is_none()) {
            return Ok(Vec::new());
        }
        let limit = i64::try_from(AT_ONCE).unwrap_or(i64::MAX);
        let held = tx.deliveries().waiting(&world, endpoint, after, limit);
        let held = held.await?;
        let mut behind = done;
        for second in held.chunks(PACE) {
            let due_at = paced(from, behind);
            tx.deliveries().put_off(&world, second, due_at).await?;
            behind += second.len();
        }
        tx.commit().await?;
        Ok(held)
    }
}
