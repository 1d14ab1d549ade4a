//! Seals a finished message into an outbox job.

use vestry_domain::envelope::{Place, SecretKind};
use vestry_domain::ids::JobId;
use vestry_domain::message::{Message, OutboxJob};
use vestry_domain::timestamp::Seconds;
use vestry_domain::{Secret, Timestamp, World};
use vestry_ports::custody::Sealer;

use crate::Fault;

/// The delivery window of a message.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Delivery {
    /// Earliest delivery, from now.
    pub(crate) delay: Seconds,
    /// Expiry, from now.
    pub(crate) lifetime: Seconds,
}

impl Delivery {
    /// Delivery at once, until the lifetime ends.
    pub(crate) const fn within(lifetime: Seconds) -> Self {
        Self {
            delay: Seconds(0),
            lifetime,
        }
    }
}

/// Seals a message into a job, before the transaction that enqueues it.
pub(crate) async fn sealed(
    sealer: &dyn Sealer,
    world: &World,
    id: JobId,
    now: Timestamp,
    message: &Secret<Message>,
    delivery: Delivery,
) -> Result<OutboxJob, Fault> {
    let owner = id.to_string();
    let place = Place {
        world: *world,
        kind: SecretKind::OutboxPayload,
        owner: &owner,
    };
    let json = serde_json::to_vec(message.expose());
    let plaintext = Secret::new(json.map_err(|error| Fault::Internal(Box::new(error)))?);
    Ok(OutboxJob {
        id,
        world: *world,
        channel: message.expose().channel,
        priority: message.expose().kind.priority(),
        payload: sealer.seal(place, plaintext.expose()).await?,
        not_before: now + delivery.delay,
        deliver_before: now + delivery.lifetime,
        attempts: 0,
        failures: 0,
        cause: None,
        created_at: now,
    })
}
