//! Throttled release of the deliveries held for a disabled endpoint.

use vestry_domain::ids::{WebhookDeliveryId, WebhookEndpointId};
use vestry_domain::webhook::{REPLAYS_PER_SECOND, due_after};
use vestry_domain::{Timestamp, World};

use crate::kernel::fault::retried;
use crate::{Fault, Service};

/// Deliveries rescheduled in one transaction.
const AT_ONCE: usize = 1_000;

impl Service {
    /// Schedules the deliveries held for an endpoint one after the other, oldest first, for when it is enabled.
    ///
    /// An endpoint that was down for days could not handle all of them at once.
    pub(crate) async fn throttle_held(
        &self,
        world: World,
        endpoint: WebhookEndpointId,
    ) -> Result<(), Fault> {
        let now = self.ports.clock.machine();
        let (mut last, mut done) = (None, 0);
        loop {
            let few = retried(|| self.throttle_some(world, endpoint, last, now, done)).await?;
            let Some(newest) = few.last() else {
                return Ok(());
            };
            last = Some(*newest);
            done += few.len();
        }
    }

    async fn throttle_some(
        &self,
        world: World,
        endpoint: WebhookEndpointId,
        after: Option<WebhookDeliveryId>,
        from: Timestamp,
        done: usize,
    ) -> Result<Vec<WebhookDeliveryId>, Fault> {
        let mut tx = self.ports.store.begin().await?;
        // The lock prevents a concurrent enable. If it was already enabled, no delivery is held.
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
        for second in held.chunks(REPLAYS_PER_SECOND) {
            let due_at = due_after(from, behind);
            tx.deliveries().put_off(&world, second, due_at).await?;
            behind += second.len();
        }
        tx.commit().await?;
        Ok(held)
    }
}
