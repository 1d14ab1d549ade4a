use serde_json::{Value, json};

use super::*;
use crate::ids::{AppId, Id, OauthCallbackId};
use crate::{Environment, Secret, Timestamp, World};

const NOW: Timestamp = Timestamp::from_unix(1_800_000_000);

fn connection(name: &str) -> Connection {
    Connection {
        callback_id: OauthCallbackId::new(NOW, [1; 16]),
        world: World::new(AppId::new(NOW, [2; 16]), Environment::Test),
        name: name.parse().unwrap(),
        client_id: "client".to_owned(),
        settings: ConnectionSettings::default(),
        created_at: NOW,
        updated_at: NOW,
    }
}

#[test]
fn names_are_short_and_well_known_ones_are_fixed() {
    for good in ["google", "a", "acme-sso", "x2", &"a".repeat(32)] {
        assert_eq!(ProviderName::parse(good).unwrap().as_str(), good);
    }
    for bad in [
        "",
        "Google",
        "2x",
        "-a",
        "a_b",
        "a.b",
        "a/b",
        "ä",
        &"a".repeat(33),
    ] {
        assert!(ProviderName::parse(bad).is_err(), "{bad:?} was accepted");
    }
    for (name, kind) in [
        ("google", ProviderKind::Google),
        ("apple", ProviderKind::Apple),
        ("microsoft", ProviderKind::Microsoft),
        ("github", ProviderKind::GitHub),
        ("discord", ProviderKind::Discord),
        ("test", ProviderKind::Test),
        ("oidc", ProviderKind::Oidc),
        ("acme", ProviderKind::Oidc),
    ] {
        assert_eq!(ProviderName::parse(name).unwrap().kind(), kind, "{name}");
    }
}

#[test]
fn a_connection_has_what_its_provider_needs_and_nothing_else() {
    assert_eq!(connection("google").check(), Ok(()));
    assert_eq!(connection("test").check().unwrap_err().param, "provider");
    assert_eq!(connection("acme").check().unwrap_err().param, "issuer");
    assert_eq!(
        connection("apple").check().unwrap_err().param,
        "apple_team_id"
    );
    let with = |name: &str, change: fn(&mut Connection)| {
        let mut connection = connection(name);
        change(&mut connection);
        connection.check().map_err(|invalid| invalid.param)
    };
    let issuer = |c: &mut Connection| c.settings.issuer = Some("https://id.example.com".to_owned());
    assert_eq!(with("acme", issuer), Ok(()));
    assert_eq!(with("github", issuer), Err("issuer".into()));
    assert_eq!(
        with("google", |c| c.settings.trust_email_verified = true),
        Err("trust_email_verified".into())
    );
    assert_eq!(
        with("google", |c| c.settings.tenants.push("t".to_owned())),
        Err("tenants".into())
    );
    assert_eq!(
        with("google", |c| c.client_id.clear()),
        Err("client_id".into())
    );
    // RFC 6749, A.1: client-id = *VSCHAR, which includes the space.
    for (client_id, is_one) in [
        ("My Web App", true),
        (" padded ", true),
        (" ", false),
        ("a\tb", false),
        ("a\u{a0}b", false),
        ("\u{e9}", false),
    ] {
        let mut connection = connection("google");
        client_id.clone_into(&mut connection.client_id);
        assert_eq!(connection.check().is_ok(), is_one, "O-15: {client_id:?}");
    }
    assert_eq!(
        with("google", |c| c.settings.scopes.push("a b".to_owned())),
        Err("scopes".into())
    );
    let in_form = |c: &mut Connection| {
        c.settings.token_endpoint_auth_method = Some(TokenEndpointAuth::ClientSecretPost);
    };
    assert_eq!(with("google", in_form), Ok(()));
    assert_eq!(
        with("github", in_form),
        Err("token_endpoint_auth_method".into())
    );
    let inner =
        |c: &mut Connection| c.settings.jwks_uri = Some("http://169.254.169.254/".to_owned());
    assert_eq!(with("google", inner), Err("jwks_uri".into()));
}

/// The previous release can read every connection without the setting, and rejects one that has it.
#[test]
fn m_19_the_client_auth_method_is_stored_only_if_set() {
    let mut settings = ConnectionSettings::default();
    let stored = serde_json::to_value(&settings).unwrap();
    assert_eq!(stored.get("token_endpoint_auth_method"), None);
    for method in TokenEndpointAuth::ALL {
        settings.token_endpoint_auth_method = Some(method);
        let stored = serde_json::to_value(&settings).unwrap();
        assert_eq!(stored["token_endpoint_auth_method"], method.as_str());
        assert_eq!(method.as_str().parse(), Ok(method));
        assert_eq!(
            serde_json::from_value::<ConnectionSettings>(stored).unwrap(),
            settings
        );
    }
    assert!("private_key_jwt".parse::<TokenEndpointAuth>().is_err());
}

#[test]
fn endpoints_are_https_or_loopback() {
    for good in [
        "https://id.example.com/a",
        "http://localhost:80/",
        "http://127.0.0.1:1/x",
        "http://[::1]/",
    ] {
        assert_eq!(check_endpoint("issuer", good), Ok(()), "{good}");
    }
    for bad in [
        "",
        "id.example.com",
        "http://id.example.com",
        "https://u:p@a.example",
        "https://a.example/?x",
        "https://a.example/#x",
        "https://a.example/ b",
        "ftp://localhost/",
    ] {
        assert!(
            check_endpoint("issuer", bad).is_err(),
            "{bad:?} was accepted"
        );
    }
}

/// O-9b, attack 2: only some providers' "verified" claims count. A claim of the wrong type is ignored.
#[test]
fn o_9b_only_trusted_claims_verify_an_address() {
    let settings = ConnectionSettings::default();
    let trusting = ConnectionSettings {
        trust_email_verified: true,
        ..settings.clone()
    };
    let listing = ConnectionSettings {
        tenants: vec!["tenant-1".to_owned()],
        ..settings.clone()
    };
    let claims = |email_verified: Value| EmailClaims {
        email: Some("victim@example.com".to_owned()),
        email_verified,
        ..EmailClaims::default()
    };
    let said =
        |kind, settings: &ConnectionSettings, value: Value| claims(value).are_proof(kind, settings);
    for kind in [
        ProviderKind::Google,
        ProviderKind::GitHub,
        ProviderKind::Discord,
        ProviderKind::Apple,
    ] {
        assert!(said(kind, &settings, json!(true)));
        for other in [
            json!(null),
            json!(false),
            json!(1),
            json!("yes"),
            json!({}),
            json!([true]),
        ] {
            assert!(!said(kind, &settings, other.clone()), "{kind:?} {other}");
        }
    }
    assert!(said(ProviderKind::Apple, &settings, json!("true")));
    assert!(!said(ProviderKind::Google, &settings, json!("true")));
    assert!(!said(ProviderKind::Oidc, &settings, json!(true)));
    assert!(said(ProviderKind::Oidc, &trusting, json!(true)));
    assert!(!said(ProviderKind::Oidc, &trusting, json!("true")));
    assert!(!said(ProviderKind::Microsoft, &settings, json!(true)));
    let edov = |value: Value| EmailClaims {
        xms_edov: value,
        ..claims(json!(null))
    };
    for value in [json!(true), json!(1), json!("1"), json!("true")] {
        assert!(edov(value).are_proof(ProviderKind::Microsoft, &settings));
    }
    for value in [
        json!(false),
        json!(0),
        json!("0"),
        json!(null),
        json!(["1"]),
    ] {
        assert!(!edov(value).are_proof(ProviderKind::Microsoft, &settings));
    }
    assert!(!edov(json!(true)).are_proof(ProviderKind::Google, &settings));
    let of = |tenant: &str| EmailClaims {
        tenant: Some(tenant.to_owned()),
        ..claims(json!(null))
    };
    assert!(of("tenant-1").are_proof(ProviderKind::Microsoft, &listing));
    assert!(!of("tenant-2").are_proof(ProviderKind::Microsoft, &listing));
    assert!(!of("tenant-1").are_proof(ProviderKind::Google, &listing));
    let nobody = EmailClaims {
        email: None,
        ..claims(json!(true))
    };
    assert!(!nobody.are_proof(ProviderKind::Google, &settings));
}

/// RFC 7636, appendix B.
#[test]
fn the_challenge_matches_rfc_7636() {
    let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk".to_owned();
    assert_eq!(
        code_challenge(&verifier.into()),
        "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
    );
}

/// O-2 and O-11: generated values are long enough to be unguessable.
#[test]
fn generated_values_have_the_right_length() {
    let mut counter = 0_u8;
    let mut source = |buffer: &mut [u8]| {
        for byte in buffer {
            counter = counter.wrapping_add(97);
            *byte = counter;
        }
    };
    let is_alphanumeric = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let google = ProviderName::parse("google").unwrap();
    let state = state(&google, &mut source);
    let random = state.expose().strip_prefix("google-").unwrap();
    assert!(random.len() == 48 && is_alphanumeric(random));
    let token = redirect_token(&mut source);
    assert!(token.expose().len() == 64 && is_alphanumeric(token.expose()));
    let verifier = code_verifier(&mut source);
    assert!((43..=128).contains(&verifier.expose().len()));
}

#[test]
fn the_callback_of_the_built_in_provider_names_its_app() {
    let app = AppId::new(NOW, [7; 16]);
    assert_eq!(
        OauthCallbackId::of_test_provider(app).app_of_test_provider(),
        app
    );
}

#[test]
fn the_end_of_a_long_secret_is_shown() {
    for (secret, shown) in [
        ("", None),
        ("fifteen-letters", None),
        ("sixteen--letters", Some("ters")),
        ("  sixteen--letters\n", Some("ters")),
        ("  fifteen-letters  ", None),
        ("ÄÖÜäöüßẞ12345678", Some("5678")),
        (
            "-----BEGIN PRIVATE KEY-----\nMIGHAgEA\n-----END PRIVATE KEY-----",
            None,
        ),
    ] {
        let hint = ClientSecretHint::of(&Secret::new(secret.to_owned()), NOW);
        assert_eq!(hint.last_four.as_deref(), shown, "{secret}");
        assert_eq!(hint.updated_at, NOW);
    }
}
