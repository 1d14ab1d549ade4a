//! Converts a finished message into an outbox job.

use vestry_domain::message::{Message, OutboxJob};
use vestry_domain::{Secret, World};

use crate::kernel::letter;
pub(crate) use crate::kernel::letter::Delivery;
use crate::{Fault, Service};

impl Service {
    /// Seals a message into a job, before the transaction that enqueues it.
    pub(crate) async fn letter(
        &self,
        world: &World,
        message: &Secret<Message>,
        delivery: Delivery,
    ) -> Result<OutboxJob, Fault> {
        // The outbox uses the machine's clock: a frozen test clock must not delay its messages.
        let now = self.ports.clock.machine();
        let sealer = &*self.ports.sealer;
        letter::sealed(sealer, world, self.new_id(now), now, message, delivery).await
    }
}
