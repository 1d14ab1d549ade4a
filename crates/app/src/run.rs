//! The one run of a request that has an `Idempotency-Key`.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use vestry_domain::idempotency::Claim;
use vestry_domain::ids::UserId;
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
    /// Whom its answer is about, as far as a use case has said so.
    about: Mutex<Option<About>>,
    /// Whether it repeats a request whose answer was erased with its user.
    repeats_erased: bool,
}

/// Whom an answer is about: with that user, it is erased.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum About {
    /// A user. If there is no such user when the answer is kept, the user was deleted in the meantime.
    User(UserId),
    /// A user that need not exist yet.
    Coming(UserId),
    /// Nobody: an id in the answer leads to no user.
    Nobody,
}

/// The last transaction of a use case.
pub(crate) struct Last {
    pub(crate) tx: Box<dyn Tx>,
    /// Where the control chains end once it is committed, if it wrote into them.
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

    /// Notes whom the answer is about. What was noted first counts.
    pub(crate) fn is_about(&self, about: About) {
        lock(&self.about).get_or_insert(about);
    }

    pub(crate) fn about(&self) -> Option<About> {
        *lock(&self.about)
    }

    /// Whether it repeats a request whose answer was erased with its user. Such a run creates no user.
    pub(crate) const fn repeats_erased(&self) -> bool {
        self.repeats_erased
    }

    pub(crate) fn leave_open(&self, tx: Box<dyn Tx>, ends: Option<NewEnds>) {
        *lock(&self.last) = Some(Last { tx, ends });
    }

    pub(crate) fn take_last(&self) -> Option<Last> {
        lock(&self.last).take()
    }

    /// Notes what let the run pass. A transaction that is run again notes the same once.
    pub(crate) fn rests_on(&self, condition: Condition) {
        if let Condition::MaySignIn(user, _) = condition {
            self.is_about(About::User(user));
        }
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
