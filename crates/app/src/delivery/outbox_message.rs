//! Converts a finished message into an outbox job.

use vestry_domain::message::{Message, OutboxJob};
use vestry_domain::{Secret, World};

use crate::kernel::letter;
pub(crate) use crate::kernel::letter::Delivery;
use crate::{Fault, Principal, Service};

impl Service {
    /// Seals a message into a job, before the transaction that enqueues it. The job names the principal's request.
    pub(crate) async fn letter(
        &self,
        of: &Principal,
        world: &World,
        message: &Secret<Message>,
        delivery: Delivery,
    ) -> Result<OutboxJob, Fault> {
        // The outbox uses the machine's clock: a frozen test clock must not delay its messages.
        let now = self.ports.clock.machine();
        let sealer = &*self.ports.sealer;
        let id = self.new_id(now);
        let job = letter::sealed(sealer, world, id, now, message, delivery).await?;
        Ok(OutboxJob {
            cause: of.request_id.as_deref().map(str::to_owned),
            ..job
        })
    }
}
