//! Whether the audit log is known outside of the database, where the operator lets no key be used without that.

use vestry_domain::World;
use vestry_ports::anchors::LOG_SINK;

use crate::{Fault, Service};

impl Service {
    /// Refuses the use of a key while no sink beside the log has taken a checkpoint for as long as the operator allows: whoever holds
    /// the sink off could use keys meanwhile, and set the database back afterwards.
    ///
    /// # Errors
    /// [`Fault::Unavailable`] then; and when the database does not say.
    pub(crate) async fn require_anchor(&self) -> Result<(), Fault> {
        let Some(most) = self.settings.require_anchor else {
            return Ok(());
        };
        let now = self.ports.clock.machine();
        let anchored = match self.anchors.anchored(now) {
            Some(anchored) => anchored,
            None => {
                let mut read = self.ports.store.read().await?;
                let sinks = read.checkpoints().sinks(&World::DEPLOYMENT).await?;
                let own = sinks.into_iter().filter(|known| {
                    let mut sinks = self.ports.sinks.iter();
                    known.sink != LOG_SINK && sinks.any(|sink| sink.name() == known.sink)
                });
                self.anchors.find(own.map(|known| known.at).max(), now)
            }
        };
        let refuses = anchored + most < now;
        if self.anchors.refuses(refuses) {
            tracing::error!(
                anchored_at = anchored.unix(),
                "ALARM: no sink has a checkpoint that is young enough: keys are used again when one has"
            );
        }
        if refuses {
            return Err(Fault::Unavailable(
                "the audit log is not anchored outside of the database".into(),
            ));
        }
        Ok(())
    }
}
