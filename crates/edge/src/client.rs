//! The client address of a request that may have passed through proxies (S-16, attack 16).
//!
//! The callers of the API are backends, so this is never the address of the person who signs in.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use actix_web::http::header::{HeaderMap, HeaderName};
use ipnet::IpNet;

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// Whether an address belongs to a trusted proxy.
pub(crate) fn is_trusted(address: IpAddr, proxies: &[IpNet]) -> bool {
    let address = address.to_canonical();
    proxies.iter().any(|net| net.contains(&address))
}

/// The address of the client: the socket's address or, behind trusted proxies, the right-most untrusted address in `X-Forwarded-For`.
/// Everything to the left of that address was chosen by the client.
///
/// An unreadable header is ignored: the socket's address is used, so limits that depend on the address still apply.
pub fn address(peer: IpAddr, headers: &HeaderMap, proxies: &[IpNet]) -> IpAddr {
    known_address(peer, headers, proxies).unwrap_or_else(|| peer.to_canonical())
}

/// The same for rules that let an address in; `None` if the header is unreadable, because the socket's address is then a proxy's.
pub(crate) fn known_address(
    peer: IpAddr,
    headers: &HeaderMap,
    proxies: &[IpNet],
) -> Option<IpAddr> {
    let peer = peer.to_canonical();
    if !is_trusted(peer, proxies) {
        return Some(peer);
    }
    // Several header lines form one list (RFC 9110, section 5.3).
    let mut nearest = peer;
    let lines: Vec<_> = headers.get_all(FORWARDED_FOR).collect();
    for line in lines.into_iter().rev() {
        let line = line.to_str().ok()?;
        for named in line.rsplit(',') {
            match hop(named.trim())? {
                hop if is_trusted(hop, proxies) => nearest = hop,
                hop => return Some(hop),
            }
        }
    }
    // Every hop is a trusted proxy, so the request started at the farthest one.
    Some(nearest)
}

/// Parses an address with or without a port, with or without brackets.
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
