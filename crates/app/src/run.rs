//! The one run of a request that has an `Idempotency-Key`.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use vestry_domain::idempotency::Claim;
use vestry_ports::store::Tx;

use crate::condition::Condition;
use crate::control_trail::NewEnds;

/// A run, from its claim of the key to its answer.
pub struct Run {
    pub(crate) claim: Claim,
    /// The transaction that waits for the answer.
    last: Mutex<Option<Last>>,
    /// What its answer rests on.
    conditions: Mutex<Vec<Condition>>,
}

/// The last transaction of a use case.
pub(crate) struct Last {
    pub(crate) tx: Box<dyn Tx>,
    /// Where the control chains end once it is committed, if it wrote into them.
    pub(crate) ends: Option<NewEnds>,
}

impl Run {
    pub(crate) const fn new(claim: Claim) -> Self {
        Self {
            claim,
            last: Mutex::new(None),
            conditions: Mutex::new(Vec::new()),
        }
    }

    pub(crate) fn leave_open(&self, tx: Box<dyn Tx>, ends: Option<NewEnds>) {
        *lock(&self.last) = Some(Last { tx, ends });
    }

    pub(crate) fn take_last(&self) -> Option<Last> {
        lock(&self.last).take()
    }

    /// Notes what let the run pass. A transaction that is run again notes the same once.
    pub(crate) fn rests_on(&self, condition: Condition) {
        let mut conditions = lock(&self.conditions);
        if !conditions.contains(&condition) {
            conditions.push(condition);
        }
    }

    /// Everything that let the run pass, in the order in which it was asked.
    pub(crate) fn conditions(&self) -> Vec<Condition> {
        lock(&self.conditions).clone()
    }
}

/// What no call leaves half done under a lock.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A transaction has nothing to show.
impl fmt::Debug for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { claim, .. } = self;
        f.debug_struct("Run")
            .field("claim", claim)
            .finish_non_exhaustive()
    }
}
