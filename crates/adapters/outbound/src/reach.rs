//! Where calls may go.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use ipnet::IpNet;
use url::{Host, Url};

use crate::address::is_public;
use crate::failure::OutboundError;

/// Where calls may go: to public addresses, and to the networks that were added; or to the latter alone.
#[derive(Debug, Clone, Default)]
pub struct Reach {
    allowed: Arc<[IpNet]>,
    /// Nowhere but to the allowed networks.
    only_allowed: bool,
}

impl Reach {
    /// To public addresses and these networks. Nobody but the operator may choose them.
    pub fn public_and(allowed: impl IntoIterator<Item = IpNet>) -> Self {
        Self {
            allowed: allowed.into_iter().collect(),
            only_allowed: false,
        }
    }

    /// To these networks and nowhere else, a public address included; there `http` may be spoken as well as `https`. Nobody but
    /// the operator may choose them.
    pub fn only(allowed: impl IntoIterator<Item = IpNet>) -> Self {
        Self {
            allowed: allowed.into_iter().collect(),
            only_allowed: true,
        }
    }

    /// The same, and to the very address that stands in a URL of the operator's own: who writes down `127.0.0.1` or `localhost`
    /// means it. A name is not enough, for somebody else says what it means.
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

    /// Whether this address is public and in no network of the operator's own.
    pub(crate) fn is_outside(&self, address: IpAddr) -> bool {
        is_public(address) && !self.allows(address)
    }

    fn allows(&self, address: IpAddr) -> bool {
        // An allowed IPv4 network is meant in every way to write its addresses.
        let plain = address.to_canonical();
        self.allowed.iter().any(|network| network.contains(&plain))
    }

    /// Checks what can be said before a name is resolved: the scheme, and an address in the place of a name.
    pub(crate) fn check(&self, url: &Url) -> Result<(), OutboundError> {
        let literal = match url.host() {
            Some(Host::Ipv4(address)) => Some(IpAddr::V4(address)),
            Some(Host::Ipv6(address)) => Some(IpAddr::V6(address)),
            Some(Host::Domain(_)) => None,
            None => return Err(OutboundError::NotHttp),
        };
        match url.scheme() {
            "https" => {}
            // Of such a reach a name leads into an allowed network, or nowhere.
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

/// Whether the URL can lead to this machine only.
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
