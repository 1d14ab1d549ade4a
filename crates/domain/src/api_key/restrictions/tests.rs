use super::*;
use crate::invalid::Reason;

const NOW: Timestamp = Timestamp::from_unix(1_800_000_000);

fn user() -> UserId {
    "user_2qLWHG4bS2fTgFOzTyqEbJXVpHY".parse().unwrap()
}

fn full() -> Restrictions {
    Restrictions {
        expires_at: Some(NOW),
        ip_allow: Some(Allowed(vec![network("203.0.113.0/24").unwrap()])),
        operations: Some(Allowed(vec![Operation::SignMessage])),
        user_ids: Some(Allowed(vec![user()])),
        wallet_ids: Some(Allowed(vec![
            "wallet_2qLWHG4bS2fTgFOzTyqEbJXVpHY".parse().unwrap(),
        ])),
        wallet_types: Some(Allowed(vec![WalletType::Polkadot])),
        require_session: true,
    }
}

#[test]
fn the_stored_form_can_be_read_back() {
    for restrictions in [Restrictions::default(), full()] {
        let stored = serde_json::to_string(&restrictions).unwrap();
        assert_eq!(Restrictions::from_stored(&stored).unwrap(), restrictions);
    }
    assert_eq!(
        serde_json::to_string(&Restrictions::default()).unwrap(),
        "{}"
    );
    let stored = serde_json::to_string(&full()).unwrap();
    let beginning =
        r#"{"expires_at":1800000000,"ip_allow":["203.0.113.0/24"],"operations":["signMessage"],"#;
    assert!(stored.starts_with(beginning), "{stored}");
}

/// RK-10: what this build cannot read is an error, and never a key without that restriction.
#[test]
fn rk_10_unknown_stored_restrictions_are_errors() {
    for stored in [
        r#"{"not_before":1}"#,
        r#"{"operations":["signEverything"]}"#,
        r#"{"operations":[]}"#,
        r#"{"user_ids":[]}"#,
        r#"{"user_ids":null}"#,
        r#"{"expires_at":null}"#,
        r#"{"user_ids":["user_1"]}"#,
        r#"{"wallet_types":["dogecoin"]}"#,
        r#"{"ip_allow":["everywhere"]}"#,
        r#"{"require_session":"yes"}"#,
        r#"{"require_session":true,"require_session":false}"#,
        r#"{"expires_at":"never"}"#,
        "[]",
        "null",
        "",
    ] {
        assert!(Restrictions::from_stored(stored).is_err(), "{stored}");
    }
}

#[test]
fn networks_have_a_table() {
    for (text, shown) in [
        ("203.0.113.0/24", Some("203.0.113.0/24")),
        ("203.0.113.7", Some("203.0.113.7/32")),
        ("2001:db8::/32", Some("2001:db8::/32")),
        ("2001:db8::1", Some("2001:db8::1/128")),
        ("0.0.0.0/0", None),
        ("::ffff:203.0.113.0/120", None),
        ("::/0", None),
        ("203.0.113.7/24", None),
        ("203.0.113.0/33", None),
        ("203.0.113.0/", None),
        ("203.0.113", None),
        ("example.com", None),
        ("", None),
    ] {
        let parsed = network(text);
        match shown {
            Some(shown) => assert_eq!(parsed.unwrap().to_string(), shown),
            None => assert_eq!(parsed.unwrap_err().param, "ip_allow", "{text}"),
        }
    }
}

#[test]
fn addresses_are_compared_in_their_canonical_form() {
    let restrictions = full();
    for (client, allowed) in [
        ("203.0.113.7", true),
        ("::ffff:203.0.113.7", true),
        ("203.0.114.7", false),
        ("::ffff:203.0.114.7", false),
    ] {
        let client = client.parse().ok();
        assert_eq!(restrictions.allows_address(client), allowed, "{client:?}");
        assert!(Restrictions::default().allows_address(client));
    }
    assert!(!restrictions.allows_address(None), "an unknown address");
}

#[test]
fn a_key_can_expire_within_five_years() {
    for (seconds, valid) in [
        (0, false),
        (-1, false),
        (1, true),
        (MAX_LIFETIME.0, true),
        (MAX_LIFETIME.0 + 1, false),
    ] {
        let at = NOW + Seconds(seconds);
        assert_eq!(expires_at(at, NOW).is_ok(), valid, "{seconds}");
    }
    let ends = Restrictions {
        expires_at: Some(NOW),
        ..Restrictions::default()
    };
    assert!(ends.has_expired(NOW));
    assert!(!ends.has_expired(NOW - Seconds(1)));
    assert!(!Restrictions::default().has_expired(NOW));
}

#[test]
fn lists_are_bounded_and_have_no_duplicates() {
    assert_eq!(
        Allowed::new("user_ids", 3, vec![1, 2, 1]).unwrap().values(),
        [1, 2]
    );
    for values in [vec![], vec![1; 4]] {
        let refused = Allowed::new("user_ids", 3, values).unwrap_err();
        assert_eq!(
            (&*refused.param, refused.reason),
            ("user_ids", Reason::Value)
        );
    }
}

/// Lists narrow each other: a wallet has to be listed, and so has its owner.
#[test]
fn restrictions_narrow_each_other() {
    let restrictions = full();
    let stranger = "user_2qLWHG4bS2fTgFOzTyqEbJXVpHZ".parse().unwrap();
    let wallet = restrictions.wallet_ids.as_ref().unwrap().values()[0];
    let other = "wallet_2qLWHG4bS2fTgFOzTyqEbJXVpHZ".parse().unwrap();
    assert!(restrictions.allows_wallet(wallet, user()));
    assert!(!restrictions.allows_wallet(wallet, stranger));
    assert!(!restrictions.allows_wallet(other, user()));
    assert!(Restrictions::default().allows_wallet(other, stranger));
}

/// Removing any restriction widens a key, adding one narrows it, and so does each smaller list.
#[test]
fn widening_is_recognised() {
    type Change = fn(&mut Restrictions);

    let (none, full) = (Restrictions::default(), full());
    assert!(full.are_within(&none) && full.are_within(&full) && none.are_within(&none));
    let without: [(&str, Change); 7] = [
        ("expires_at", |it| it.expires_at = None),
        ("ip_allow", |it| it.ip_allow = None),
        ("operations", |it| it.operations = None),
        ("user_ids", |it| it.user_ids = None),
        ("wallet_ids", |it| it.wallet_ids = None),
        ("wallet_types", |it| it.wallet_types = None),
        ("require_session", |it| it.require_session = false),
    ];
    for (name, remove) in without {
        let mut wider = full.clone();
        remove(&mut wider);
        assert!(!wider.are_within(&full), "{name}");
        assert!(full.are_within(&wider), "{name}");
    }
    let net = |text: &str| {
        let list = text.split(',').map(|net| net.parse().unwrap()).collect();
        Restrictions {
            ip_allow: Some(Allowed::new("ip_allow", MAX_NETWORKS, list).unwrap()),
            ..Restrictions::default()
        }
    };
    for (after, before, expected) in [
        ("10.1.0.0/16", "10.0.0.0/8", true),
        ("10.0.0.0/8", "10.1.0.0/16", false),
        ("10.1.0.0/16,192.0.2.1/32", "10.0.0.0/8", false),
        ("192.0.2.1/32", "10.0.0.0/8,192.0.2.0/24", true),
    ] {
        assert_eq!(
            net(after).are_within(&net(before)),
            expected,
            "{after} in {before}"
        );
    }
    let until = |at| Restrictions {
        expires_at: Some(Timestamp::from_unix(at)),
        ..Restrictions::default()
    };
    assert!(until(5).are_within(&until(6)) && !until(7).are_within(&until(6)));
}

#[test]
fn presets_have_names() {
    for preset in Preset::ALL {
        assert_eq!(preset.as_str().parse(), Ok(preset));
    }
    assert_eq!(
        "fulll".parse::<Preset>().unwrap_err().reason,
        Reason::Unknown
    );
}
