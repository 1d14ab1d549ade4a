//! What the operator decides about the edge.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ipnet::IpNet;

/// Settings of the edge.
#[derive(Debug, Clone)]
pub struct WebSettings {
    /// Proxies whose `X-Forwarded-For` and `X-Forwarded-Proto` are believed (`http.trusted_proxies`).
    pub trusted_proxies: Vec<IpNet>,
    /// API keys from one address whose look-up may fail in a minute, before only keys that were seen are looked up
    /// (`limits.failed_auth_per_minute`); 0: any number.
    pub failed_auth_per_minute: u32,
    /// How long a request body may take to arrive; after it the request is refused and its connection closed.
    pub read_deadline: Duration,
    /// Set by the process while it shuts down.
    pub draining: Draining,
}

impl Default for WebSettings {
    fn default() -> Self {
        Self {
            trusted_proxies: Vec::new(),
            failed_auth_per_minute: 0,
            read_deadline: Duration::from_secs(15),
            draining: Draining::default(),
        }
    }
}

/// Tells `/readyz` that the process is about to stop, so that a load balancer looks elsewhere, and closes each connection with its next
/// response. Clones share one flag.
#[derive(Debug, Clone, Default)]
pub struct Draining(Arc<AtomicBool>);

impl Draining {
    /// From now on `/readyz` answers 503. There is no way back.
    pub fn begin(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether it has begun.
    pub fn has_begun(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
