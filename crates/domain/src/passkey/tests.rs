use super::*;

fn origins(domain: &str, listed: &[&str], embedders: &[&str]) -> Origins {
    let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    Origins {
        domain: PasskeyDomain::parse(domain).unwrap(),
        listed: owned(listed),
        embedders: owned(embedders),
    }
}

#[test]
fn domains_are_canonical_host_names() {
    for good in [
        "example.com",
        "login.example.co.uk",
        "xn--bcher-kva.example",
        "a-b.example",
        "localhost",
    ] {
        assert_eq!(PasskeyDomain::parse(good).unwrap().as_str(), good);
    }
    // Attack 5: other spellings of a name, and another name.
    for (text, domain) in [
        ("Example.com", "example.com"),
        ("bücher.example", "xn--bcher-kva.example"),
        ("BU\u{308}CHER.example", "xn--bcher-kva.example"),
        ("faß.example", "xn--fa-hia.example"),
        ("fass.example", "fass.example"),
    ] {
        assert_eq!(PasskeyDomain::parse(text).unwrap().as_str(), domain);
    }
    let long = format!("{}.example", "a".repeat(64));
    for bad in [
        "",
        "com",
        "example.com.",
        "exa_mple.com",
        "xn--a.example",
        "example.123",
        ".example.com",
        "example..com",
        "https://example.com",
        "example.com:443",
        "example.com/",
        "192.0.2.1",
        "[2001:db8::1]",
        "-a.example",
        "a-.example",
        "exa mple.com",
        "*.example.com",
        &long,
    ] {
        assert!(PasskeyDomain::parse(bad).is_err(), "{bad}");
    }
}

/// W-2: the origin is a listed one, or `https` on the domain or a subdomain.
#[test]
fn w_2_origins_are_the_domain_and_its_subdomains() {
    let own = origins("example.com", &[], &[]);
    for good in [
        "https://example.com",
        "https://app.example.com",
        "https://a.b.example.com",
    ] {
        assert!(own.allow(good), "{good}");
    }
    for bad in [
        "http://example.com",
        "https://example.com:8443",
        "https://example.com:443",
        "https://example.com/",
        "https://EXAMPLE.com",
        "https://user@example.com",
        "https://badexample.com",
        "https://example.com.evil.test",
        "https://example.org",
        "https://com",
        "example.com",
        "null",
        "",
        "android:apk-key-hash:abc",
    ] {
        assert!(!own.allow(bad), "{bad}");
    }
}

/// An App that lists origins allows only those.
#[test]
fn w_2_listed_origins_are_exact() {
    let listed = origins(
        "example.com",
        &["https://app.example.com", "android:apk-key-hash:aB-_9"],
        &[],
    );
    assert!(listed.allow("https://app.example.com"));
    assert!(listed.allow("android:apk-key-hash:aB-_9"));
    for bad in [
        "https://example.com",
        "https://x.app.example.com",
        "https://app.example.com/",
    ] {
        assert!(!listed.allow(bad), "{bad}");
    }
}

#[test]
fn w_2_localhost_has_every_port_and_no_other_host() {
    let local = origins("localhost", &["https://app.example.com"], &[]);
    for good in [
        "http://localhost",
        "http://localhost:3000",
        "https://localhost:8443",
    ] {
        assert!(local.allow(good), "{good}");
    }
    for bad in [
        "http://app.localhost:3000",
        "http://127.0.0.1:3000",
        "ftp://localhost",
        "http://localhost:3000/",
        "https://app.example.com",
    ] {
        assert!(!local.allow(bad), "{bad}");
    }
}

#[test]
fn w_2_frames_are_refused_unless_their_page_is_listed() {
    assert!(!origins("example.com", &[], &[]).may_be_framed());
    let framed = origins("example.com", &[], &["https://shop.example"]);
    assert!(framed.may_be_framed());
    assert!(framed.allow_around("https://shop.example"));
    assert!(!framed.allow_around("https://other.example"));
}

#[test]
fn origins_to_be_listed_are_checked() {
    for good in [
        "https://app.example.com",
        "https://app.example.com:8443",
        "android:apk-key-hash:aB-_9",
    ] {
        assert_eq!(check_origin("webauthn_origins", good), Ok(()), "{good}");
    }
    for bad in [
        "http://app.example.com",
        "https://app.example.com/",
        "https://app.example.com:443",
        "https://*.example.com",
        "app.example.com",
        "android:apk-key-hash:",
        "android:apk-key-hash:a b",
        "",
    ] {
        let refused = check_origin("webauthn_origins", bad);
        assert!(refused.is_err(), "{bad}");
    }
}

/// W-2: the counter increases or is absent.
#[test]
fn w_2_a_counter_increases_or_is_absent() {
    let at = Timestamp::from_unix(1_800_000_000);
    let passkey = |sign_count| Passkey {
        id: crate::ids::Id::new(at, [1; 16]),
        world: World::new(crate::ids::Id::new(at, [2; 16]), crate::Environment::Test),
        user_id: crate::ids::Id::new(at, [3; 16]),
        credential_id: vec![1],
        public_key: Vec::new(),
        sign_count,
        backup_eligible: false,
        backed_up: false,
        domain: PasskeyDomain::parse("example.com").unwrap(),
        authenticator_type: AuthenticatorType::Platform,
        transports: Vec::new(),
        user_agent: String::new(),
        created_at: at,
        updated_at: at,
        last_used_at: None,
    };
    for (stored, sent, may) in [
        (0, 0, true),
        (0, 1, true),
        (1, 2, true),
        (1, u32::MAX, true),
        (1, 1, false),
        (2, 1, false),
        (1, 0, false),
        (u32::MAX, 0, false),
    ] {
        assert_eq!(passkey(stored).may_count(sent), may, "{stored} {sent}");
    }
}
