//! Limits on calls to providers.

use std::time::Duration;

use ipnet::IpNet;
use vestry_outbound::Limits;

/// Settings for calls to providers.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Networks that providers may be in, in addition to public addresses. Only the operator may choose them.
    pub allowed_networks: Vec<IpNet>,
    /// Time and size limits of one response.
    pub limits: Limits,
    /// Minimum time between two repeated fetches of the same discovery document or key set.
    pub between_fetches: Duration,
}

impl Default for Settings {
    /// Public addresses only; three seconds, 1 MiB, one fetch a minute (F6).
    fn default() -> Self {
        Self {
            allowed_networks: Vec::new(),
            limits: Limits {
                connect: Duration::from_secs(3),
                whole: Duration::from_secs(3),
                body: 1024 * 1024,
            },
            between_fetches: Duration::from_secs(60),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f6_default_limits_match_the_requirement() {
        let Settings {
            allowed_networks,
            limits,
            between_fetches,
        } = Settings::default();
        assert_eq!(limits.whole, Duration::from_secs(3));
        assert_eq!(limits.body, 1024 * 1024);
        assert_eq!(between_fetches, Duration::from_secs(60));
        assert!(allowed_networks.is_empty());
    }
}
