//! Settings of the HTTP edge.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use ipnet::IpNet;

/// Settings of the HTTP edge.
#[derive(Debug, Clone)]
pub struct WebSettings {
    /// Trusted proxies, whose `X-Forwarded-For` and `X-Forwarded-Proto` are used (`http.trusted_proxies`).
    pub trusted_proxies: TrustedProxies,
    /// Failed API key look-ups allowed per address and minute, after which unknown keys are throttled (`limits.failed_auth_per_minute`); 0
    /// for no limit.
    pub failed_auth_per_minute: u32,
    /// How long a request body may take to arrive. After that, the request is rejected and its connection closed.
    pub read_deadline: Duration,
    /// The address of the console's own listener. Without one, every listener serves API and console.
    pub console_listener: Option<SocketAddr>,
    /// The requests that are logged (`log.requests`).
    pub logged: LoggedRequests,
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

/// The requests that are logged, which can change while the process runs (PR-89).
///
/// Clones share one value.
#[derive(Debug, Clone, Default)]
pub struct LoggedRequests(Arc<AtomicU8>);

impl LoggedRequests {
    /// The current value.
    pub fn current(&self) -> RequestLog {
        match self.0.load(Ordering::Relaxed) {
            0 => RequestLog::All,
            1 => RequestLog::Errors,
            _ => RequestLog::Off,
        }
    }

    /// Replaces the value.
    pub fn set(&self, logged: RequestLog) {
        let number = match logged {
            RequestLog::All => 0,
            RequestLog::Errors => 1,
            RequestLog::Off => 2,
        };
        self.0.store(number, Ordering::Relaxed);
    }
}

impl From<RequestLog> for LoggedRequests {
    fn from(logged: RequestLog) -> Self {
        let this = Self::default();
        this.set(logged);
        this
    }
}

/// The trusted proxies, which can change while the process runs (PR-89).
///
/// Clones share one list.
#[derive(Debug, Clone, Default)]
pub struct TrustedProxies(Arc<RwLock<Arc<[IpNet]>>>);

impl TrustedProxies {
    /// The current list.
    pub fn current(&self) -> Arc<[IpNet]> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Replaces the list.
    pub fn set(&self, proxies: Vec<IpNet>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = proxies.into();
    }
}

impl From<Vec<IpNet>> for TrustedProxies {
    fn from(proxies: Vec<IpNet>) -> Self {
        Self(Arc::new(RwLock::new(proxies.into())))
    }
}

impl FromIterator<IpNet> for TrustedProxies {
    fn from_iter<I: IntoIterator<Item = IpNet>>(proxies: I) -> Self {
        proxies.into_iter().collect::<Vec<_>>().into()
    }
}

impl Default for WebSettings {
    fn default() -> Self {
        Self {
            trusted_proxies: TrustedProxies::default(),
            failed_auth_per_minute: 0,
            read_deadline: Duration::from_secs(15),
            console_listener: None,
            logged: LoggedRequests::default(),
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
