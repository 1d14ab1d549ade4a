//! The anchoring requirement: blocks wallet keys while no sink outside the database has a recent checkpoint.

use vestry_domain::{Timestamp, World};
use vestry_ports::anchors::LOG_SINK;

use crate::kernel::state::chain_macs::{held, progress_matches};
use crate::{Fault, Service};

impl Service {
    /// Blocks the use of a key if no sink other than the server log has stored a checkpoint within the configured time.
    ///
    /// Otherwise an attacker who blocks the sink could use keys and roll the database back afterwards without a trace.
    ///
    /// # Errors
    /// [`Fault::Unavailable`] if keys are blocked or the database is unavailable.
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
                alert = "VestryAuditFailing",
                anchored_at = anchored.unix(),
                "ALARM: wallet keys are blocked: no sink has stored a checkpoint within audit.require_anchor_minutes; check the sinks and the alarms about them"
            );
        }
        if refuses {
            return Err(Fault::Unavailable(
                "no sink has stored a recent audit checkpoint".into(),
            ));
        }
        Ok(())
    }

    /// Returns the newest time at which a sink other than the server log was up to date, by authentic rows. A time in the future is
    /// ignored.
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
