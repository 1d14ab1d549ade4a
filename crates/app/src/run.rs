//! The one run of a request that has an `Idempotency-Key`.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use vestry_domain::idempotency::Claim;
use vestry_ports::store::Tx;

/// A run, from its claim of the key to its answer.
pub struct Run {
    pub(crate) claim: Claim,
    /// The transaction that waits for the answer.
    last: Mutex<Option<Box<dyn Tx>>>,
}

impl Run {
    pub(crate) const fn new(claim: Claim) -> Self {
        Self {
            claim,
            last: Mutex::new(None),
        }
    }

    pub(crate) fn leave_open(&self, tx: Box<dyn Tx>) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(tx);
    }

    pub(crate) fn take_last(&self) -> Option<Box<dyn Tx>> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.take()
    }
}

/// A transaction has nothing to show.
impl fmt::Debug for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { claim, last: _ } = self;
        f.debug_struct("Run")
            .field("claim", claim)
            .finish_non_exhaustive()
    }
}
