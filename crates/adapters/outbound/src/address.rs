//! Which addresses are public: reachable from everywhere on the internet, and part of no internal network.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether the address is public, by the special-purpose registries of IANA (RFC 6890).
pub(crate) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

const fn is_public_v4(address: Ipv4Addr) -> bool {
    match address.octets() {
        // This network, private networks, loopback.
        [0 | 10 | 127, ..]
        // Carrier-grade NAT (RFC 6598), where some clouds have their metadata service.
        | [100, 64..=127, ..]
        // Link-local, where most clouds have their metadata service.
        | [169, 254, ..]
        | [172, 16..=31, ..]
        // Protocol assignments, documentation, the deprecated 6to4 relays, private networks.
        | [192, 0, 0 | 2, _]
        | [192, 88, 99, _]
        | [192, 168, ..]
        // Benchmarks, documentation.
        | [198, 18 | 19, ..]
        | [198, 51, 100, _]
        | [203, 0, 113, _]
        // Multicast, reserved, broadcast.
        | [224..=255, ..] => false,
        _ => true,
    }
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let embedded = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        is_public_v4(Ipv4Addr::new(a, b, c, d))
    };
    match address.segments() {
        // Embedded IPv4 addresses: mapped (RFC 4291), translated (RFC 6052: what the resolver gives a machine without IPv4 for every IPv4
        // host), 6to4 (RFC 3056).
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            embedded(high, low)
        }
        [0x2002, high, low, ..] => embedded(high, low),
        // Protocol assignments, including Teredo, and documentation.
        [0x2001, 0..=0x01ff, ..] | [0x2001, 0x0db8, ..] | [0x3fff, 0..=0x0fff, ..] => false,
        // Only this eighth of the space is allocated; loopback, local and multicast addresses are outside of it.
        [0x2000..=0x3fff, ..] => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests;
