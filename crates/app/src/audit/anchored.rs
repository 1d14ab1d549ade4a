//! Whether the audit log is known outside of the database, where the operator lets no key be used without that.

use vestry_domain::{Timestamp, World};
use vestry_ports::anchors::LOG_SINK;

use crate::audit_seals::{held, progress_matches};
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
                let newest = self.newest_anchor(now).await?;
                self.anchors.find(newest, now)
            }
        };
        let refuses = anchored + most < now;
        if self.anchors.refuses(refuses) {
            tracing::error!(
                anchored_at = anchored.unix(),
                "ALARM: wallet keys are blocked: no sink has stored a checkpoint within audit.require_anchor_minutes; check the sinks and the alarms about them"
            );
        }
        if refuses {
            return Err(Fault::Unavailable(
                "the audit log is not anchored outside of the database".into(),
            ));
        }
        Ok(())
    }

    /// When a sink other than the log last had everything, by authentic rows. A time in the future counts as never.
    async fn newest_anchor(&self, now: Timestamp) -> Result<Option<Timestamp>, Fault> {
        let mut read = self.ports.store.read().await?;
        let known = read.checkpoints().sinks(&World::DEPLOYMENT).await?;
        drop(read);
        let mut newest = None;
        for progress in known {
            let mut sinks = self.ports.sinks.iter();
            let is_anchor =
                progress.sink != LOG_SINK && sinks.any(|sink| sink.name() == progress.sink);
            if is_anchor
                && progress.at <= now
                && held(progress_matches(&*self.ports.sealer, &progress).await)?
            {
                newest = newest.max(Some(progress.at));
            }
        }
        Ok(newest)
    }
}
