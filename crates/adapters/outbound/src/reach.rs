//! Allowed destinations of calls.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use ipnet::IpNet;
use url::{Host, Url};

use crate::address::is_public;
use crate::failure::OutboundError;

/// The allowed destinations: public addresses and the listed networks, or the latter alone.
#[derive(Debug, Clone, Default)]
pub struct Reach {
    allowed: Arc<[IpNet]>,
    /// Whether only the listed networks are allowed.
    only_allowed: bool,
}

impl Reach {
    /// Allows public addresses and these networks. Only the operator may choose them.
    pub fn public_and(allowed: impl IntoIterator<Item = IpNet>) -> Self {
        Self {
            allowed: allowed.into_iter().collect(),
            only_allowed: false,
        }
    }

    /// Allows only these networks, which can include public addresses; both `http` and `https` are allowed there. Only the operator may
    /// choose them.
    pub fn only(allowed: impl IntoIterator<Item = IpNet>) -> Self {
        Self {
            allowed: allowed.into_iter().collect(),
            only_allowed: true,
        }
    }

    /// Also allows the very address in a URL of the operator's: `127.0.0.1` or `localhost` is then intended. A name is not enough, because
    /// a third party decides what it resolves to.
    #[must_use]
    pub fn and_named_by(&self, url: &Url) -> Self {
        let named = match url.host() {
            Some(Host::Ipv4(address)) => vec![IpNet::from(IpAddr::V4(address))],
            Some(Host::Ipv6(address)) => vec![IpNet::from(IpAddr::V6(address))],
            Some(Host::Domain("localhost")) => vec![
                IpNet::from(IpAddr::V4(Ipv4Addr::LOCALHOST)),
                IpNet::from(IpAddr::V6(Ipv6Addr::LOCALHOST)),
            ],
            Some(Host::Domain(_)) | None => Vec::new(),
        };
        Self {
            allowed: self.allowed.iter().copied().chain(named).collect(),
            only_allowed: self.only_allowed,
        }
    }

    /// Whether this address may be connected to.
    pub(crate) fn admits(&self, address: IpAddr) -> bool {
        self.allows(address) || (!self.only_allowed && is_public(address))
    }

    /// Whether this address is public and in none of the operator's networks.
    pub(crate) fn is_outside(&self, address: IpAddr) -> bool {
        is_public(address) && !self.allows(address)
    }

    fn allows(&self, address: IpAddr) -> bool {
        // An allowed IPv4 network applies to all notations of its addresses.
        let plain = address.to_canonical();
        self.allowed.iter().any(|network| network.contains(&plain))
    }

    /// Checks everything that can be checked before a name is resolved: the scheme, and an address instead of a name.
    pub(crate) fn check(&self, url: &Url) -> Result<(), OutboundError> {
        let literal = match url.host() {
            Some(Host::Ipv4(address)) => Some(IpAddr::V4(address)),
            Some(Host::Ipv6(address)) => Some(IpAddr::V6(address)),
            Some(Host::Domain(_)) => None,
            None => return Err(OutboundError::NotHttp),
        };
        match url.scheme() {
            "https" => {}
            // With such a reach, a name resolves to an allowed network, or the call fails.
            "http" if self.only_allowed || is_this_machine(url) => {}
            "http" => return Err(OutboundError::InClear),
            _ => return Err(OutboundError::NotHttp),
        }
        match literal {
            Some(address) if !self.admits(address) => Err(OutboundError::NotPublic),
            Some(_) | None => Ok(()),
        }
    }
}

/// Whether the URL can only lead to this machine.
fn is_this_machine(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    }
}

#[cfg(test)]
mod tests;
