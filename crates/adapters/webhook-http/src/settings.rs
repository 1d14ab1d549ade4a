//! What the configuration says about calls to receivers.

use std::time::Duration;

use ipnet::IpNet;

/// Where receivers may be, and how long they have.
#[derive(Debug, Clone)]
pub struct Settings {
    /// `outbound.allowed_networks`: where receivers may be beside public addresses. What they answer from there is not kept.
    pub allowed_networks: Vec<IpNet>,
    /// For the whole call, up to the last byte of the answer that is read.
    pub whole: Duration,
}

/// Public addresses only; 15 seconds.
impl Default for Settings {
    fn default() -> Self {
        Self {
            allowed_networks: Vec::new(),
            whole: Duration::from_secs(15),
        }
    }
}
