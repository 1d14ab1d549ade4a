//! Settings for calls to sinks.

use std::time::Duration;

use ipnet::IpNet;

/// Allowed destinations and time limit of sinks.
#[derive(Debug, Clone)]
pub struct Settings {
    /// `outbound.allowed_networks`: networks allowed for sinks in addition to public addresses.
    pub allowed_networks: Vec<IpNet>,
    /// Time limit of the whole call, up to the last byte read of the response.
    pub whole: Duration,
}

/// Public addresses only; half a minute, which lets a large note pass over a slow connection.
impl Default for Settings {
    fn default() -> Self {
        Self {
            allowed_networks: Vec::new(),
            whole: Duration::from_secs(30),
        }
    }
}
