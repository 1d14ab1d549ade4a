//! B12, WH-6, WH-7: which addresses are allowed, and which of them are outside.

use super::*;

fn networks() -> [IpNet; 3] {
    ["10.20.0.0/16", "fd00:1::/32", "8.8.8.0/24"].map(|network| network.parse().unwrap())
}

/// An address, whether it is allowed in addition to public ones, whether it is allowed with `only`, and whether it is outside.
#[test]
fn wh_7_networks_opened_by_the_operator_are_not_outside() {
    for (address, beside, alone, outside) in [
        ("1.1.1.1", true, false, true),
        ("2606:4700:4700::1111", true, false, true),
        ("::ffff:1.1.1.1", true, false, true),
        ("10.20.3.4", true, true, false),
        ("::ffff:10.20.3.4", true, true, false),
        ("fd00:1::1", true, true, false),
        // Public, and still in the operator's networks.
        ("8.8.8.8", true, true, false),
        ("::ffff:8.8.8.8", true, true, false),
        ("10.21.0.1", false, false, false),
        ("127.0.0.1", false, false, false),
        ("169.254.169.254", false, false, false),
        ("::ffff:169.254.169.254", false, false, false),
        ("fd00:2::1", false, false, false),
        ("::1", false, false, false),
    ] {
        let ip = address.parse().unwrap();
        for (reach, is_reached) in [
            (Reach::public_and(networks()), beside),
            (Reach::only(networks()), alone),
        ] {
            assert_eq!(reach.admits(ip), is_reached, "{address} of {reach:?}");
            assert_eq!(reach.is_outside(ip), outside, "{address} of {reach:?}");
        }
    }
}

#[test]
fn wh_6_nothing_is_reached_without_allowed_networks() {
    for address in ["1.1.1.1", "127.0.0.1", "10.0.0.1", "::1"] {
        assert!(!Reach::only([]).admits(address.parse().unwrap()));
    }
}
