//! The run of a request with an `Idempotency-Key`.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use vestry_domain::idempotency::Claim;
use vestry_domain::ids::UserId;
use vestry_ports::store::Tx;

use crate::kernel::replay_guard::ReplayGuard;
use crate::kernel::state::control_trail::NewEnds;

/// A run, from claiming the key to its response.
pub struct Run {
    pub(crate) claim: Claim,
    /// The open transaction that waits for the response.
    last: Mutex<Option<Last>>,
    /// Preconditions of the response.
    conditions: Mutex<Vec<ReplayGuard>>,
    /// The user that the response is about, if a use case has named one.
    about: Mutex<Option<About>>,
    /// Whether it repeats a request whose response was erased with its user.
    repeats_erased: bool,
}

/// The user that a response is about. The response is erased with that user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum About {
    /// An existing user. If it does not exist when the response is stored, it was deleted in the meantime.
    User(UserId),
    /// A user that may not exist yet.
    Coming(UserId),
    /// No user, even if the response contains an id.
    NoUser,
}

/// The open last transaction of a use case.
pub(crate) struct Last {
    pub(crate) tx: Box<dyn Tx>,
    /// New ends of the control chains after the commit, if it wrote to any.
    pub(crate) ends: Option<NewEnds>,
}

impl Run {
    pub(crate) const fn new(claim: Claim, repeats_erased: bool) -> Self {
        Self {
            claim,
            last: Mutex::new(None),
            conditions: Mutex::new(Vec::new()),
            about: Mutex::new(None),
            repeats_erased,
        }
    }

    /// Records the user that the response is about. The first call wins.
    pub(crate) fn is_about(&self, about: About) {
        lock(&self.about).get_or_insert(about);
    }

    pub(crate) fn about(&self) -> Option<About> {
        *lock(&self.about)
    }

    /// Returns whether it repeats a request whose response was erased with its user. Such a run creates no user.
    pub(crate) const fn repeats_erased(&self) -> bool {
        self.repeats_erased
    }

    pub(crate) fn leave_open(&self, tx: Box<dyn Tx>, ends: Option<NewEnds>) {
        *lock(&self.last) = Some(Last { tx, ends });
    }

    pub(crate) fn take_last(&self) -> Option<Last> {
        lock(&self.last).take()
    }

    /// Records a precondition. Duplicates from a retried transaction are ignored.
    pub(crate) fn record_guard(&self, condition: ReplayGuard) {
        if let ReplayGuard::MaySignIn(user, _) = condition {
            self.is_about(About::User(user));
        }
        let mut conditions = lock(&self.conditions);
        if !conditions.contains(&condition) {
            conditions.push(condition);
        }
    }

    /// Returns all preconditions in the order in which they were checked.
    pub(crate) fn conditions(&self) -> Vec<ReplayGuard> {
        lock(&self.conditions).clone()
    }
}

/// Ignores poisoning: no critical section leaves the value half-updated.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Omits the transaction, which has no useful output.
impl fmt::Debug for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { claim, .. } = self;
        f.debug_struct("Run")
            .field("claim", claim)
            .finish_non_exhaustive()
    }
}
