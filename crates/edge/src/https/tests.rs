use actix_web::http::header::{HeaderMap, HeaderValue};

use super::*;

fn said(values: &[&'static [u8]]) -> Forwarded {
    let mut headers = HeaderMap::new();
    for value in values {
        headers.append(FORWARDED_PROTO, HeaderValue::from_bytes(value).unwrap());
    }
    forwarded(&headers)
}

/// S-16: an unreadable value counts as plain HTTP.
#[test]
fn s_16_only_https_on_every_hop_counts_as_https() {
    assert_eq!(said(&[]), Forwarded::Silent);
    for https in ["https", "HTTPS", " https ", "https, https"] {
        assert_eq!(said(&[https.as_bytes()]), Forwarded::Https, "{https}");
    }
    assert_eq!(said(&[b"https", b"https"]), Forwarded::Https);
    for plain in [
        "http",
        "",
        "https,http",
        "http,https",
        "https,",
        "httpss",
        "wss",
        "https;q=1",
    ] {
        assert_eq!(said(&[plain.as_bytes()]), Forwarded::NotHttps, "{plain}");
    }
    assert_eq!(said(&[b"https", b"http"]), Forwarded::NotHttps);
    assert_eq!(said(&[b"https\xff"]), Forwarded::NotHttps);
}

#[test]
fn ipv4_mapped_addresses_match_their_ipv4_address() {
    let proxies = ["10.0.0.0/8".parse().unwrap()];
    assert!(is_trusted("10.1.2.3".parse().unwrap(), &proxies));
    assert!(is_trusted("::ffff:10.1.2.3".parse().unwrap(), &proxies));
    assert!(!is_trusted("11.1.2.3".parse().unwrap(), &proxies));
    assert!(!is_trusted("::1".parse().unwrap(), &proxies));
    assert!(is_loopback("::ffff:127.0.0.1".parse().unwrap()));
    assert!(!is_loopback("0.0.0.0".parse().unwrap()));
}
