//! Closes idle connections that may lead to an old primary.
//!
//! Connections in use are not handed out again ([`Manager`]).

use std::time::Duration;

use deadpool::managed::Pool;
use tokio::runtime::Handle;
use tokio::task::AbortHandle;
use tokio::time::timeout;

use super::failover::{SETTLED_AFTER, may_be_stale, unconfirmed};
use super::manager::Manager;

/// How long after a failed write the pools are checked again: once the address leads to the new primary, and once connections in use have
/// been returned.
const AGAIN_AFTER: [Duration; 2] = [SETTLED_AFTER, Duration::from_secs(30)];

/// The task that closes them; it is aborted when this value is dropped.
pub(super) struct StaleConnections(AbortHandle);

impl StaleConnections {
    pub(super) fn keep(pools: [Pool<Manager>; 2], runtime: &Handle) -> Self {
        let mut unconfirmed = unconfirmed();
        let task = async move {
            let mut again: &[Duration] = &[];
            loop {
                let outcome = match again.split_first() {
                    None => Ok(unconfirmed.changed().await),
                    Some((pause, _)) => timeout(*pause, unconfirmed.changed()).await,
                };
                again = match outcome {
                    Ok(Ok(())) => &AGAIN_AFTER,
                    Ok(Err(_nobody_tells)) => return,
                    Err(_elapsed) => again.split_first().map_or(&[], |(_, later)| later),
                };
                for pool in &pools {
                    drop(pool.retain(|_, metrics| !may_be_stale(metrics.created)));
                }
            }
        };
        Self(runtime.spawn(task).abort_handle())
    }
}

impl Drop for StaleConnections {
    fn drop(&mut self) {
        self.0.abort();
    }
}
