//! Batched updates of session activity.

use std::sync::Arc;

use vestry_domain::ids::AppId;
use vestry_ports::store::{SessionActivity, Store};

use crate::Fault;
use crate::kernel::batcher::Batch;
use crate::kernel::fault::retried;
use crate::kernel::ports::Ports;

/// The store that activity is written to.
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

/// Writes all of it, or nothing.
pub(crate) async fn write(store: &dyn Store, seen: &[SessionActivity]) -> Result<(), Fault> {
    retried(|| async {
        let mut tx = store.begin().await?;
        tx.sessions().touch(seen).await?;
        tx.commit().await?;
        Ok(())
    })
    .await
}

impl Batch for Touches {
    type Asked = SessionActivity;
    /// `false`: the requester has to write on its own, and learns the reason for the failure.
    type Answer = bool;
    type Memory = ();

    const MAX_SIZE: usize = 64;

    fn app(seen: &SessionActivity) -> AppId {
        seen.world.app_id
    }

    async fn serve(&self, seen: Vec<SessionActivity>, (): &mut ()) -> Vec<bool> {
        let written = write(&*self.store, &seen).await.is_ok();
        vec![written; seen.len()]
    }
}
