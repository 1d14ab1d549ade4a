//! Measuring transactions and pools.

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use deadpool::managed::{Manager, Pool};
use vestry_domain::metric::{PoolName, PoolState, TransactionKind, TransactionOutcome};
use vestry_ports::meter::{Gauge, Meter, Timed};
use vestry_ports::store::{StoreError, StoreResult};

/// The meter of a store, once it has one.
#[derive(Clone, Default)]
pub struct Measured(Arc<OnceLock<Arc<dyn Meter>>>);

impl Measured {
    /// Measures with `meter` from now on. A second call does nothing.
    pub fn by(&self, meter: Arc<dyn Meter>) {
        let _is_second = self.0.set(meter);
    }

    /// Waits for a connection, and records for how long.
    ///
    /// # Errors
    /// Those of the pool.
    pub async fn wait<T>(
        &self,
        pool: PoolName,
        kind: TransactionKind,
        connection: impl Future<Output = StoreResult<T>>,
    ) -> StoreResult<T> {
        let begun = Instant::now();
        let connection = connection.await;
        if let Some(meter) = self.0.get() {
            meter.time(Timed::PoolWait(pool), begun.elapsed());
        }
        if let Err(error) = &connection {
            self.transaction(kind, outcome_of(error), begun);
        }
        connection
    }

    /// Records the end of a transaction.
    pub fn transaction(&self, kind: TransactionKind, outcome: TransactionOutcome, begun: Instant) {
        if let Some(meter) = self.0.get() {
            meter.time(Timed::Transaction(kind, outcome), begun.elapsed());
        }
    }

    /// Records how many connections of a pool are in use.
    pub fn pool<M: Manager>(&self, name: PoolName, pool: &Pool<M>) {
        let Some(meter) = self.0.get() else {
            return;
        };
        let status = pool.status();
        let busy = status.size.saturating_sub(status.available);
        let count = |count: usize| u32::try_from(count).map_or(f64::MAX, f64::from);
        for (state, connections) in [(PoolState::Idle, status.available), (PoolState::Busy, busy)] {
            meter.set(Gauge::PoolConnections(name, state), count(connections));
        }
    }
}

/// How a transaction ended that failed with this error.
pub const fn outcome_of(error: &StoreError) -> TransactionOutcome {
    match error {
        StoreError::Busy | StoreError::TooLong => TransactionOutcome::Busy,
        StoreError::Retry => TransactionOutcome::Retry,
        StoreError::Unavailable(_) => TransactionOutcome::Unavailable,
        StoreError::Corrupt { .. } | StoreError::Other(_) => TransactionOutcome::Other,
    }
}
