//! When sessions were last used, noted in one transaction for those that were used at the same moment.

use std::sync::Arc;

use vestry_domain::ids::AppId;
use vestry_ports::store::{SeenSession, Store};

use crate::Fault;
use crate::fault::retried;
use crate::ports::Ports;
use crate::together::Batch;

/// Where it is noted.
pub(crate) struct Touches {
    store: Arc<dyn Store>,
}

impl Touches {
    pub(crate) fn new(ports: &Ports) -> Self {
        Self {
            store: Arc::clone(&ports.store),
        }
    }
}

/// Notes all of it, or nothing.
pub(crate) async fn write(store: &dyn Store, seen: &[SeenSession]) -> Result<(), Fault> {
    retried(|| async {
        let mut tx = store.begin().await?;
        tx.sessions().touch(seen).await?;
        tx.commit().await?;
        Ok(())
    })
    .await
}

impl Batch for Touches {
    type Asked = SeenSession;
    /// `false`: whoever asked has to write alone, and learns why it fails.
    type Answer = bool;
    type Memory = ();

    const MOST: usize = 64;

    fn app(seen: &SeenSession) -> AppId {
        seen.world.app_id
    }

    async fn serve(&self, seen: Vec<SeenSession>, (): &mut ()) -> Vec<bool> {
        let written = write(&*self.store, &seen).await.is_ok();
        vec![written; seen.len()]
    }
}
