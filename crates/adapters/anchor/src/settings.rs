//! What the configuration says about calls to sinks.

use std::time::Duration;

use ipnet::IpNet;

/// Where sinks may be, and how long they have.
#[derive(Debug, Clone)]
pub struct Settings {
    /// `outbound.allowed_networks`: where sinks may be beside public addresses.
    pub allowed_networks: Vec<IpNet>,
    /// For the whole call, up to the last byte of the answer that is read.
    pub whole: Duration,
}

/// Public addresses only; half a minute, in which a large note goes through a narrow line.
impl Default for Settings {
    fn default() -> Self {
        Self {
            allowed_networks: Vec::new(),
            whole: Duration::from_secs(30),
        }
    }
}
