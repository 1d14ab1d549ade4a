//! Limits of what is asked of providers.

use std::time::Duration;

use ipnet::IpNet;
use vestry_outbound::Limits;

/// How providers are spoken to.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Networks within which providers may be, beside public addresses. Nobody but the operator may choose them.
    pub allowed_networks: Vec<IpNet>,
    /// How long to wait for one answer, and how large it may be.
    pub limits: Limits,
    /// Least time between two fetches of the same discovery document or key set, once it was fetched.
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
    fn f6_limits_are_those_of_the_fault_row() {
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
