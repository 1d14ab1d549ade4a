use actix_web::http::header::{HeaderMap, HeaderValue};

use super::*;

/// The client address, with `10.0.0.0/8` and `fd00::/8` as trusted proxies.
fn resolved(peer: &str, lines: &[&[u8]]) -> String {
    let proxies = ["10.0.0.0/8".parse().unwrap(), "fd00::/8".parse().unwrap()];
    let mut headers = HeaderMap::new();
    for line in lines {
        headers.append(FORWARDED_FOR, HeaderValue::from_bytes(line).unwrap());
    }
    address(peer.parse().unwrap(), &headers, &proxies).to_string()
}

/// S-16: the header is ignored if the peer is not a trusted proxy.
#[test]
fn s_16_without_a_trusted_proxy_the_header_is_ignored() {
    for lines in [
        &[][..],
        &[b"203.0.113.9".as_slice()],
        &[b"10.0.0.1".as_slice()],
        &[b"not an address".as_slice()],
        &[b"\xff".as_slice()],
    ] {
        assert_eq!(resolved("198.51.100.7", lines), "198.51.100.7");
        assert_eq!(resolved("2001:db8::7", lines), "2001:db8::7");
        assert_eq!(resolved("::ffff:198.51.100.7", lines), "198.51.100.7");
    }
}

/// S-16: behind a trusted proxy, the right-most untrusted hop is the client, in every spelling.
#[test]
fn s_16_behind_a_proxy_the_right_most_untrusted_hop_counts() {
    for (lines, expected) in [
        (&["203.0.113.9"][..], "203.0.113.9"),
        (&["198.51.100.7, 203.0.113.9"], "203.0.113.9"),
        (&["198.51.100.7,203.0.113.9"], "203.0.113.9"),
        (&["203.0.113.9, 10.1.1.1, 10.2.2.2"], "203.0.113.9"),
        (&["203.0.113.9, fd00::1"], "203.0.113.9"),
        (&["198.51.100.7", "203.0.113.9"], "203.0.113.9"),
        (&["203.0.113.9", "10.1.1.1"], "203.0.113.9"),
        (&["198.51.100.7, 203.0.113.9", "10.1.1.1"], "203.0.113.9"),
        // Entries to the left of it are not read.
        (&["not an address, 203.0.113.9"], "203.0.113.9"),
        (&[", 203.0.113.9"], "203.0.113.9"),
        (&["203.0.113.9:4711"], "203.0.113.9"),
        (&["::ffff:203.0.113.9"], "203.0.113.9"),
        (&["[::ffff:203.0.113.9]:4711"], "203.0.113.9"),
        (&["203.0.113.9, ::ffff:10.1.1.1"], "203.0.113.9"),
        (&["2001:DB8::0:9"], "2001:db8::9"),
        (&["[2001:db8::9]"], "2001:db8::9"),
        (&["[2001:db8::9]:4711"], "2001:db8::9"),
        // Every hop is a trusted proxy.
        (&["10.3.3.3, 10.1.1.1"], "10.3.3.3"),
    ] {
        let bytes: Vec<&[u8]> = lines.iter().map(|line| line.as_bytes()).collect();
        for peer in ["10.0.0.1", "::ffff:10.0.0.1", "fd00::1"] {
            assert_eq!(resolved(peer, &bytes), expected, "{lines:?}");
        }
    }
}

/// RK-1: an unreadable header behind a proxy gives no address, which no list of networks contains.
#[test]
fn rk_1_unreadable_headers_give_no_address() {
    let proxies = ["10.0.0.0/8".parse().unwrap()];
    let proxy: IpAddr = "10.0.0.5".parse().unwrap();
    for (value, known) in [
        (&b"203.0.113.7"[..], Some("203.0.113.7")),
        (b"\xff, 198.51.100.7", None),
        (b"unknown", None),
        (b"198.51.100.7, unknown", None),
        (b"", None),
    ] {
        let mut headers = HeaderMap::new();
        headers.insert(FORWARDED_FOR, HeaderValue::from_bytes(value).unwrap());
        let found = known_address(proxy, &headers, &proxies);
        assert_eq!(
            found,
            known.map(|known| known.parse().unwrap()),
            "{value:?}"
        );
    }
}

/// S-16, attack-16: for limits, an unreadable header falls back to the socket's address, never to none.
#[test]
fn s_16_unreadable_headers_fall_back_to_the_socket() {
    for lines in [
        &[][..],
        &[b"".as_slice()],
        &[b"unknown"],
        &[b"_hidden"],
        &[b"203.0.113.9,"],
        &[b"203.0.113.9, not an address"],
        &[b"203.0.113.9, not an address, 10.1.1.1"],
        &[b"203.0.113.256"],
        &[b"203.0.113"],
        &[b"203.0.113.9:99999"],
        &[b"0xcb007109"],
        &[b"3405803785"],
        &[b"[203.0.113.9]"],
        &[b"[2001:db8::9"],
        &[b"for=203.0.113.9"],
        &[b"\"203.0.113.9\""],
        &[b"203.0.113.9", b"\xff"],
        &[b"203.0.113.9", b""],
    ] {
        assert_eq!(resolved("10.0.0.1", lines), "10.0.0.1", "{lines:?}");
    }
}
