//! Where a request comes from, when proxies may stand in between (S-16, attack 16).
//!
//! The callers of the API are backends: their address is never that of the person who signs in.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use actix_web::http::header::{HeaderMap, HeaderName};
use ipnet::IpNet;

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// Whether an address is that of a proxy that is believed.
pub(crate) fn is_trusted(address: IpAddr, proxies: &[IpNet]) -> bool {
    let address = address.to_canonical();
    proxies.iter().any(|net| net.contains(&address))
}

/// The address of the client: that of the socket; behind proxies that are believed, the right-most one in
/// `X-Forwarded-For` that is none of theirs, because everything left of it is what the client chose to send.
///
/// A header that cannot be read says nothing: then it is the address of the socket, and whatever hangs on the address still
/// holds.
pub(crate) fn address(peer: IpAddr, headers: &HeaderMap, proxies: &[IpNet]) -> IpAddr {
    let peer = peer.to_canonical();
    if !is_trusted(peer, proxies) {
        return peer;
    }
    // Several lines are one list (RFC 9110, section 5.3).
    let mut nearest = peer;
    let lines: Vec<_> = headers.get_all(FORWARDED_FOR).collect();
    for line in lines.into_iter().rev() {
        let Ok(line) = line.to_str() else {
            return peer;
        };
        for named in line.rsplit(',') {
            match hop(named.trim()) {
                None => return peer,
                Some(hop) if is_trusted(hop, proxies) => nearest = hop,
                Some(hop) => return hop,
            }
        }
    }
    // Proxies all the way: the request began at the farthest of them.
    nearest
}

/// An address, with or without a port, with or without brackets.
fn hop(text: &str) -> Option<IpAddr> {
    let address = text
        .parse::<IpAddr>()
        .ok()
        .or_else(|| text.parse::<SocketAddr>().ok().map(|socket| socket.ip()))
        .or_else(|| {
            let inner = text.strip_prefix('[')?.strip_suffix(']')?;
            inner.parse::<Ipv6Addr>().ok().map(IpAddr::V6)
        });
    address.map(|address| address.to_canonical())
}

#[cfg(test)]
mod tests;
