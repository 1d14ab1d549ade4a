//! Attack 23, B12: no internal address is reachable, in any notation.

use std::time::Duration;

use ipnet::IpNet;
use tokio::net::{TcpListener, TcpSocket};
use url::Url;
use vestry_outbound::{Call, Limits, Outbound, OutboundError, Reach};

pub(crate) const LIMITS: Limits = Limits {
    connect: Duration::from_secs(2),
    whole: Duration::from_secs(2),
    body: 1_000,
};

fn public() -> Outbound {
    Outbound::new(Reach::default(), LIMITS).unwrap()
}

async fn get(outbound: &Outbound, url: &str) -> Result<u16, OutboundError> {
    let call = Call::get(Url::parse(url).unwrap());
    outbound.call(call).await.map(|answer| answer.status)
}

/// Addresses instead of a name, in every notation that a URL allows. Nothing listens there, so any result other than the refusal would be
/// noticed.
#[tokio::test]
async fn attack_23_no_notation_of_an_internal_address_is_called() {
    let outbound = public();
    for host in [
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0x7f.1",
        "017700000001",
        "127.0.0.1.",
        "0",
        "0.0.0.0",
        "169.254.169.254",
        "2852039166",
        "0xa9fea9fe",
        "0251.0376.0251.0376",
        "10.0.0.1",
        "192.168.1.1",
        "172.16.0.1",
        "100.100.100.200",
        "[::1]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[::ffff:169.254.169.254]",
        "[fe80::1]",
        "[fd00:ec2::254]",
        "[64:ff9b::a9fe:a9fe]",
        "[2002:7f00:1::]",
        "%31%32%37.0.0.1",
        "１２７.0.0.1",
    ] {
        let refused = get(&outbound, &format!("https://{host}/")).await;
        assert!(
            matches!(refused, Err(OutboundError::NotPublic)),
            "{host}: {refused:?}"
        );
    }
}

/// The name is resolved once, by the connection itself, and the result is checked there: no second resolution could differ (rebinding).
#[tokio::test]
async fn attack_23_a_name_with_an_internal_address_is_not_called() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let refused = get(&public(), &format!("https://localhost:{port}/")).await;
    assert!(
        matches!(refused, Err(OutboundError::NotPublic)),
        "{refused:?}"
    );
    let accepted = tokio::time::timeout(Duration::from_millis(50), listener.accept()).await;
    assert!(accepted.is_err(), "unexpected connection");
}

/// The operator's networks are reachable: the connection is established and fails only at TLS.
#[tokio::test]
async fn attack_23_the_operator_may_allow_a_network() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let net: IpNet = "127.0.0.0/8".parse().unwrap();
    let outbound = Outbound::new(Reach::public_and([net]), LIMITS).unwrap();
    for host in ["127.0.0.1", "localhost"] {
        let url = format!("https://{host}:{port}/");
        let (outcome, accepted) = tokio::join!(get(&outbound, &url), async {
            listener.accept().await.map(drop)
        });
        accepted.unwrap();
        assert!(
            matches!(outcome, Err(OutboundError::Unreachable(_))),
            "{outcome:?}"
        );
    }
    let elsewhere = get(&outbound, "https://10.0.0.1/").await;
    assert!(
        matches!(elsewhere, Err(OutboundError::NotPublic)),
        "{elsewhere:?}"
    );
}

/// An address in the operator's own URL is allowed, and no other.
#[tokio::test]
async fn an_address_in_the_operators_url_is_allowed() {
    let url = Url::parse("http://127.0.0.1:1/").unwrap();
    let outbound = Outbound::new(Reach::default().and_named_by(&url), LIMITS).unwrap();
    let gone = get(&outbound, "http://127.0.0.1:1/").await;
    assert!(
        matches!(gone, Err(OutboundError::Unreachable(_))),
        "{gone:?}"
    );
    let beside = get(&outbound, "http://127.0.0.2:1/").await;
    assert!(
        matches!(beside, Err(OutboundError::NotPublic)),
        "{beside:?}"
    );
    let name = Url::parse("https://inner.example.com/").unwrap();
    let named = Outbound::new(Reach::default().and_named_by(&name), LIMITS).unwrap();
    let inward = get(&named, "https://127.0.0.1:1/").await;
    assert!(
        matches!(inward, Err(OutboundError::NotPublic)),
        "{inward:?}"
    );
}

#[tokio::test]
async fn nothing_goes_unencrypted_to_another_machine() {
    let outbound = public();
    for url in [
        "http://example.com/",
        "http://8.8.8.8/",
        "http://10.0.0.1/",
        "http://localhost.example.com/",
    ] {
        let refused = get(&outbound, url).await;
        assert!(
            matches!(refused, Err(OutboundError::InClear)),
            "{url}: {refused:?}"
        );
    }
    for url in [
        "ftp://example.com/",
        "file:///etc/passwd",
        "data:text/plain,x",
        "gopher://127.0.0.1/",
    ] {
        let refused = get(&outbound, url).await;
        assert!(
            matches!(refused, Err(OutboundError::NotHttp)),
            "{url}: {refused:?}"
        );
    }
}

/// `Reach::only`: unencrypted as well, but to no other network, whatever the scheme and the notation of the address.
#[tokio::test]
async fn attack_23_reach_only_leads_nowhere_else() {
    let reaching = |networks: &[&str]| {
        let networks = networks.iter().map(|network| network.parse().unwrap());
        Outbound::new(Reach::only(networks), LIMITS).unwrap()
    };
    let untouched = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = untouched.local_addr().unwrap().port();
    for elsewhere in [reaching(&[]), reaching(&["10.20.0.0/16"])] {
        for host in [
            "8.8.8.8",
            "[2606:4700:4700::1111]",
            "10.0.0.1",
            "169.254.169.254",
            "127.0.0.1",
            "[::ffff:127.0.0.1]",
            "2130706433",
            "localhost",
        ] {
            for scheme in ["http", "https"] {
                let refused = get(&elsewhere, &format!("{scheme}://{host}:{port}/")).await;
                assert!(
                    matches!(refused, Err(OutboundError::NotPublic)),
                    "{scheme}://{host}: {refused:?}"
                );
            }
        }
    }
    let accepted = tokio::time::timeout(Duration::from_millis(50), untouched.accept()).await;
    assert!(accepted.is_err(), "unexpected connection");
    // Within the networks it gets as far as connecting.
    let here = reaching(&["127.0.0.0/8"]);
    let absent = TcpSocket::new_v4().unwrap();
    absent.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let authority = absent.local_addr().unwrap();
    for url in [
        format!("http://{authority}/"),
        format!("https://{authority}/"),
        format!("http://localhost:{}/", authority.port()),
    ] {
        let gone = get(&here, &url).await;
        assert!(
            matches!(gone, Err(OutboundError::Unreachable(_))),
            "{url}: {gone:?}"
        );
    }
    let other = get(&here, "ftp://127.0.0.1/").await;
    assert!(matches!(other, Err(OutboundError::NotHttp)), "{other:?}");
}
