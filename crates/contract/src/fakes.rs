//! In-memory implementations of ports, for the tests of use cases. They pass the suites of this crate.
//!
//! There is none for keys and secrets: those tests use the real custody over a real local vault.

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

/// Locks, also after a test that panicked: what is behind is replaced whole, never left half-changed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
