//! Settings for calls to receivers.

use std::time::Duration;

use ipnet::IpNet;

/// Allowed destinations and time limit of receivers.
#[derive(Debug, Clone)]
pub struct Settings {
    /// `outbound.allowed_networks`: networks allowed for receivers in addition to public addresses. Responses from there are not stored.
    pub allowed_networks: Vec<IpNet>,
    /// Time limit of the whole call, up to the last byte read of the response.
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
