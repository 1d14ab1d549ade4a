//! A request of a key that is limited to some owners, or that needs their sessions.

use std::sync::atomic::{AtomicBool, Ordering};

use vestry_domain::Secret;

/// The session that such a request presents, and the outcome of its checks.
#[derive(Debug, Default)]
pub struct LimitedCall {
    /// The token in the header `Vestry-Session`, if it has the form of one.
    pub session_token: Option<Secret<String>>,
    was_judged: AtomicBool,
    was_refused: AtomicBool,
}

impl LimitedCall {
    /// Creates the record of a request with this token.
    pub const fn new(session_token: Option<Secret<String>>) -> Self {
        Self {
            session_token,
            was_judged: AtomicBool::new(false),
            was_refused: AtomicBool::new(false),
        }
    }

    /// Records the outcome of a check.
    pub(crate) fn judge(&self, allowed: bool) {
        self.was_judged.store(true, Ordering::Relaxed);
        if !allowed {
            self.was_refused.store(true, Ordering::Relaxed);
        }
    }

    /// Records that the call leads to no user.
    pub(crate) fn judge_no_user(&self) {
        self.was_judged.store(true, Ordering::Relaxed);
    }

    /// Whether an owner was compared with the key's restrictions.
    pub fn was_judged(&self) -> bool {
        self.was_judged.load(Ordering::Relaxed)
    }

    /// Whether a restriction refused something that the response describes as unknown.
    pub fn was_refused(&self) -> bool {
        self.was_refused.load(Ordering::Relaxed)
    }
}
