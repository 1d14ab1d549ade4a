//! Connections that may lead to an old primary end while nobody uses them.
//!
//! Those in use are not given out again ([`Manager`]).

use deadpool::managed::Pool;
use tokio::runtime::Handle;
use tokio::task::AbortHandle;
use tokio::time::timeout;

use super::manager::Manager;
use super::primary::{SETTLED_AFTER, may_have_moved, not_done};

/// The task that ends them; it ends with this value.
pub(super) struct Leaving(AbortHandle);

impl Leaving {
    pub(super) fn keep(pools: [Pool<Manager>; 2], runtime: &Handle) -> Self {
        let task = async move {
            let mut not_done = not_done();
            while not_done.changed().await.is_ok() {
                leave(&pools);
                while let Ok(Ok(())) = timeout(SETTLED_AFTER, not_done.changed()).await {
                    leave(&pools);
                }
                leave(&pools);
            }
        };
        Self(runtime.spawn(task).abort_handle())
    }
}

impl Drop for Leaving {
    fn drop(&mut self) {
        self.0.abort();
    }
}

fn leave(pools: &[Pool<Manager>]) {
    for pool in pools {
        drop(pool.retain(|_, metrics| !may_have_moved(metrics.created)));
    }
}
