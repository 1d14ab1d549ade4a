//! In-memory implementations of ports for use-case tests. They pass the suites of this crate.
//!
//! There is no fake for keys and secrets: those tests use the real custody with a real local vault.

mod breached;
mod clock;
mod entropy;
mod limiter;
mod mailer;
mod providers;
mod sms;
mod store;
mod webhooks;

pub use breached::FakeBreached;
pub use clock::FakeClock;
pub use entropy::SeededEntropy;
pub use limiter::FakeLimiter;
pub use mailer::FakeMailer;
pub use providers::FakeProviders;
pub use sms::FakeSms;
pub use store::{FakeStore, Kept};
pub use webhooks::FakeWebhooks;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks, even after a panic: the value is always replaced whole, so it is never half-changed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
