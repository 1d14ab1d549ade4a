use super::*;

const MICROSOFT: Issuer<'static> = Issuer("https://login.example.com/{tenantid}/v2.0");
const TENANT_ID: &str = "9188040d-6c67-4c5b-b112-36a304b66dad";

#[test]
fn o_5_an_issuer_is_compared_character_by_character() {
    let issuer = Issuer("https://id.example.com");
    assert!(issuer.is("https://id.example.com", None));
    // A tenant id does not matter here.
    assert!(issuer.is("https://id.example.com", Some(TENANT_ID)));
    for other in [
        "https://id.example.com/",
        "https://ID.example.com",
        "http://id.example.com",
        "https://id.example.com.evil.test",
        "https://id.example.com:443",
        "id.example.com",
        "",
    ] {
        assert!(!issuer.is(other, None), "{other}");
        assert!(!issuer.may_be(other), "{other}");
    }
}

#[test]
fn o_5_the_issuer_contains_the_tenant_of_the_token() {
    let iss = format!("https://login.example.com/{TENANT_ID}/v2.0");
    assert!(MICROSOFT.is(&iss, Some(TENANT_ID)));
    assert!(MICROSOFT.may_be(&iss));
    let other = "11111111-2222-3333-4444-555555555555";
    assert!(!MICROSOFT.is(&iss, Some(other)));
    assert!(!MICROSOFT.is(&iss, None));
    // Neither the pattern itself nor an invalid tenant is accepted.
    for tenant in [
        "{tenantid}",
        "common",
        "",
        "../evil",
        "a/../../evil.test/x/9188040d-6c67",
    ] {
        let iss = format!("https://login.example.com/{tenant}/v2.0");
        assert!(!MICROSOFT.is(&iss, Some(tenant)), "{tenant}");
    }
    for evil in [
        "https://login.example.com/v2.0",
        "https://evil.test/9188040d-6c67-4c5b-b112-36a304b66dad/v2.0",
        "https://login.example.com/9188040d-6c67-4c5b-b112-36a304b66dad/v2.0/",
    ] {
        assert!(!MICROSOFT.may_be(evil), "{evil}");
    }
}

#[test]
fn documents_are_below_the_issuer() {
    let document = |issuer: &str| Issuer(issuer).document().map(String::from);
    let expected = Some("https://id.example.com/a/.well-known/openid-configuration".to_owned());
    assert_eq!(document("https://id.example.com/a"), expected);
    assert_eq!(document("https://id.example.com/a/"), expected);
    assert_eq!(
        document(MICROSOFT.0).as_deref(),
        Some("https://login.example.com/common/v2.0/.well-known/openid-configuration")
    );
    assert_eq!(document("no url"), None);
}
