//! From a finished message to a job of the outbox.

use vestry_domain::envelope::{Place, SecretKind};
use vestry_domain::ids::JobId;
use vestry_domain::message::{Message, OutboxJob};
use vestry_domain::timestamp::Seconds;
use vestry_domain::{Secret, World};

use crate::{Fault, Service};

/// When a message may travel.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Delivery {
    /// Not before so much from now.
    pub(crate) delay: Seconds,
    /// Useless after so much from now.
    pub(crate) lifetime: Seconds,
}

impl Delivery {
    /// At once, for so long.
    pub(crate) const fn within(lifetime: Seconds) -> Self {
        Self {
            delay: Seconds(0),
            lifetime,
        }
    }
}

impl Service {
    /// Seals a message into a job, before the transaction in which the job is pushed. Ring `outbox_bell` after the commit.
    pub(crate) async fn letter(
        &self,
        world: &World,
        message: &Secret<Message>,
        delivery: Delivery,
    ) -> Result<OutboxJob, Fault> {
        // The outbox keeps the time of the machine: a frozen test clock must not hold its messages back.
        let now = self.ports.clock.machine();
        let id: JobId = self.new_id(now);
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
            payload: self.ports.sealer.seal(place, plaintext.expose()).await?,
            not_before: now + delivery.delay,
            deliver_before: now + delivery.lifetime,
            attempts: 0,
            created_at: now,
        })
    }
}
