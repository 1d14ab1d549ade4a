//! Settings of the HTTP edge.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ipnet::IpNet;

/// Settings of the HTTP edge.
#[derive(Debug, Clone)]
pub struct WebSettings {
    /// Trusted proxies, whose `X-Forwarded-For` and `X-Forwarded-Proto` are used (`http.trusted_proxies`).
    pub trusted_proxies: Vec<IpNet>,
    /// Failed API key look-ups allowed per address and minute, after which unknown keys are throttled (`limits.failed_auth_per_minute`); 0
    /// for no limit.
    pub failed_auth_per_minute: u32,
    /// How long a request body may take to arrive. After that, the request is rejected and its connection closed.
    pub read_deadline: Duration,
    /// The address of the console's own listener. Without one, every listener serves API and console.
    pub console_listener: Option<SocketAddr>,
    /// The requests that are logged (`log.requests`).
    pub logged: RequestLog,
    /// Set while the process shuts down.
    pub draining: Draining,
}

/// The requests that are logged. Probes are logged at `debug` in any case but the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RequestLog {
    /// All of them.
    #[default]
    All,
    /// Those with status 400 and above.
    Errors,
    /// None.
    Off,
}

impl Default for WebSettings {
    fn default() -> Self {
        Self {
            trusted_proxies: Vec::new(),
            failed_auth_per_minute: 0,
            read_deadline: Duration::from_secs(15),
            console_listener: None,
            logged: RequestLog::All,
            draining: Draining::default(),
        }
    }
}

/// Shutdown flag. Once set, `/readyz` fails so that load balancers stop sending traffic, and each connection is closed with its next
/// response.
///
/// Clones share one flag.
#[derive(Debug, Clone, Default)]
pub struct Draining(Arc<AtomicBool>);

impl Draining {
    /// Starts draining: from now on `/readyz` returns 503. This cannot be undone.
    pub fn begin(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether draining has started.
    pub fn has_begun(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
