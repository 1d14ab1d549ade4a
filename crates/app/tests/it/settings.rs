//! App settings, and the rate limit that follows them.

use vestry_app::{Fault, Principal, Refusal};
use vestry_domain::Invalid;
use vestry_domain::app::{App, AppSettings, AttachedIdentifiers, MAX_APPS};
use vestry_domain::ids::{AppId, Id};
use vestry_domain::invalid::Reason;
use vestry_domain::passkey::UserVerification;
use vestry_domain::session::FingerprintMatch;
use vestry_domain::signing_key::Algorithm;
use vestry_ports::store::Store;

use crate::harness::{Harness, START};

fn pairs(changes: &[(&str, &str)]) -> Vec<(String, String)> {
    changes
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

async fn refused(harness: &Harness, changes: &[(&str, &str)]) -> Invalid {
    match harness
        .service
        .set_app(Principal::cli(), harness.app.id, &pairs(changes))
        .await
    {
        Err(Refusal::Invalid(invalid)) => invalid,
        other => panic!("{changes:?}: {other:?}"),
    }
}

/// MG-13: a deployment has a maximum of Apps.
#[tokio::test]
async fn mg_13_a_deployment_has_a_maximum_of_apps() {
    let harness = Harness::new().await;
    let create = || harness.service.create_app(Principal::cli(), "Another");
    let mut tx = harness.fake.begin().await.unwrap();
    for number in 1..MAX_APPS - 1 {
        let [.., high, low] = number.to_be_bytes();
        let app = App {
            id: AppId::new(harness.now(), [[high, low]; 8].concat().try_into().unwrap()),
            ..App::clone(&harness.app)
        };
        tx.apps().insert(&app).await.unwrap();
    }
    tx.commit().await.unwrap();
    create().await.unwrap();
    let Err(Refusal::LimitReached { param, most, .. }) = create().await else {
        panic!("one App too many was created");
    };
    assert_eq!((param.as_deref(), most), (Some("app"), MAX_APPS));
}

/// A whole number is accepted in every JSON spelling.
#[tokio::test]
async fn m_19_a_setting_accepts_every_spelling_of_a_whole_number() {
    let harness = Harness::new().await;
    for (text, expected) in [("60", 60), ("61.0", 61), ("6.2e1", 62)] {
        let changes = pairs(&[("session_idle_minutes", text)]);
        let app = harness
            .service
            .set_app(Principal::cli(), harness.app.id, &changes)
            .await
            .unwrap();
        assert_eq!(app.settings.session_idle_minutes, expected, "{text}");
    }
    let invalid = refused(&harness, &[("session_idle_minutes", "5.5")]).await;
    assert_eq!(invalid.param, "session_idle_minutes");
}

#[tokio::test]
async fn every_setting_can_be_changed() {
    let harness = Harness::new().await;
    assert_eq!(harness.app.settings, AppSettings::default());
    harness.pass(10);
    let changes = pairs(&[
        ("name", " Other "),
        ("jwt_algorithm", "EdDSA"),
        ("jwt_lifetime_seconds", "60"),
        ("jwt_renewal_window", "525600"),
        ("device_fingerprint_match", "ip_and_user_agent"),
        ("login_requires_verification", "false"),
        ("create_requires_verification", "true"),
        ("session_absolute_minutes", "43200"),
        ("session_idle_minutes", "30"),
        ("freshness_minutes", "5"),
        ("end_sessions_on_change", "false"),
        ("notify_on_change", "false"),
        ("enumeration_safe", "true"),
        ("attached_identifiers", "trusted"),
        ("new_users_per_hour", "500"),
        ("sms_per_hour", "400"),
        ("sms_country_per_hour", "300"),
        ("sms_prefix_per_hour", "0"),
        ("sms_countries", r#"["US", "DE"]"#),
        ("magic_link_max_minutes", "1440"),
        ("password_min_length", "64"),
        ("password_only_factor", "true"),
        ("breach_check_fail_closed", "false"),
        ("siwe_domains", r#"["example.com", "localhost:3000"]"#),
        ("siwe_chain_ids", "[8453, 1]"),
        ("siws_clusters", r#"["devnet"]"#),
        ("wallet_export", "true"),
        ("require_named_scopes", "true"),
        ("require_code_challenge", "true"),
        ("oauth_test_redirect_uri", "http://localhost:3000/callback"),
        (
            "oauth_live_redirect_uri",
            "https://app.example.com/callback",
        ),
        ("oauth_failures_per_address", "0"),
        ("test_per_minute", "0"),
        ("live_per_minute", "5000"),
        ("webauthn_domains", "[\"example.com\"]"),
        ("webauthn_origins", "[\"https://app.example.com\"]"),
        ("webauthn_top_origins", "[\"https://shop.example\"]"),
        ("webauthn_user_verification", "required"),
        ("event_retention_days", "365"),
        ("events_optional", r#"["wallet.signed", "message.sent"]"#),
        ("event_addresses", "true"),
        ("webhook_disable_after_days", "30"),
    ]);
    let changed = harness
        .service
        .set_app(Principal::cli(), harness.app.id, &changes)
        .await
        .unwrap();
    let expected = AppSettings {
        jwt_algorithm: Algorithm::EdDSA,
        jwt_lifetime_seconds: 60,
        jwt_renewal_window: 525_600,
        device_fingerprint_match: FingerprintMatch::IpAndUserAgent,
        login_requires_verification: false,
        create_requires_verification: true,
        session_absolute_minutes: 43_200,
        session_idle_minutes: 30,
        freshness_minutes: 5,
        end_sessions_on_change: false,
        notify_on_change: false,
        enumeration_safe: true,
        attached_identifiers: AttachedIdentifiers::Trusted,
        new_users_per_hour: 500,
        sms_per_hour: 400,
        sms_country_per_hour: 300,
        sms_prefix_per_hour: 0,
        sms_countries: vec!["US".to_owned(), "DE".to_owned()],
        magic_link_max_minutes: 1440,
        password_min_length: 64,
        password_only_factor: true,
        breach_check_fail_closed: false,
        siwe_domains: vec!["example.com".to_owned(), "localhost:3000".to_owned()],
        siwe_chain_ids: vec![8453, 1],
        siws_clusters: vec!["devnet".to_owned()],
        wallet_export: true,
        require_named_scopes: true,
        require_code_challenge: true,
        oauth_test_redirect_uri: Some("http://localhost:3000/callback".to_owned()),
        oauth_live_redirect_uri: Some("https://app.example.com/callback".to_owned()),
        oauth_failures_per_address: 0,
        test_per_minute: Some(0),
        live_per_minute: Some(5_000),
        webauthn_domains: vec!["example.com".to_owned()],
        webauthn_origins: vec!["https://app.example.com".to_owned()],
        webauthn_top_origins: vec!["https://shop.example".to_owned()],
        webauthn_user_verification: UserVerification::Required,
        event_retention_days: Some(365),
        events_optional: vec!["wallet.signed".to_owned(), "message.sent".to_owned()],
        event_addresses: true,
        webhook_disable_after_days: 30,
    };
    assert_eq!((&*changed.name, &changed.settings), ("Other", &expected));
    assert_eq!(
        (changed.created_at, changed.updated_at),
        (START, harness.now())
    );
    assert_eq!(
        harness
            .service
            .show_app(Principal::cli(), harness.app.id)
            .await
            .unwrap(),
        changed
    );
    let back = harness
        .service
        .set_app(
            Principal::cli(),
            harness.app.id,
            &pairs(&[("test_per_minute", "null")]),
        )
        .await
        .unwrap();
    assert_eq!(back.settings.test_per_minute, None);
    assert_eq!(
        back.settings.live_per_minute,
        Some(5_000),
        "the others stay"
    );
}

/// Every refusal names its setting, and nothing from the same call is stored.
#[tokio::test]
async fn settings_change_all_or_none() {
    let harness = Harness::new().await;
    let long = "x".repeat(101);
    for (name, value) in [
        ("jwt_lifetime_seconds", "59"),
        ("jwt_lifetime_seconds", "301"),
        ("jwt_lifetime_seconds", "60.5"),
        ("jwt_lifetime_seconds", "sixty"),
        ("jwt_lifetime_seconds", "null"),
        ("jwt_lifetime_seconds", ""),
        ("jwt_renewal_window", "-1"),
        ("jwt_renewal_window", "525601"),
        ("jwt_algorithm", "HS256"),
        ("jwt_algorithm", "none"),
        ("device_fingerprint_match", "always"),
        ("login_requires_verification", "yes"),
        ("login_requires_verification", "1"),
        ("session_absolute_minutes", "4"),
        ("session_absolute_minutes", "525601"),
        ("session_idle_minutes", "-1"),
        ("session_idle_minutes", "525601"),
        ("magic_link_max_minutes", "4"),
        ("magic_link_max_minutes", "10081"),
        ("event_retention_days", "6"),
        ("event_retention_days", "366"),
        ("webhook_disable_after_days", "-1"),
        ("webhook_disable_after_days", "31"),
        ("events_optional", r#"["user.created"]"#),
        ("events_optional", r#"["wallet.*"]"#),
        ("events_optional", "wallet.signed"),
        ("password_min_length", "7"),
        ("password_min_length", "65"),
        ("test_per_minute", "-1"),
        ("require_code_challenge", "S256"),
        ("oauth_test_redirect_uri", "ftp://app.example.com/own"),
        ("oauth_test_redirect_uri", "https://*.example.com/own"),
        ("oauth_live_redirect_uri", "http://app.example.com/own"),
        ("oauth_live_redirect_uri", ""),
        ("oauth_failures_per_address", "-1"),
        ("test_per_minute", "4294967296"),
        ("name", ""),
        ("name", "a\nb"),
        ("name", &long),
    ] {
        for changes in [
            [("session_idle_minutes", "7"), (name, value)],
            [(name, value), ("name", "New")],
        ] {
            let invalid = refused(&harness, &changes).await;
            assert_eq!(
                (&*invalid.param, invalid.reason),
                (name, Reason::Value),
                "{value:?}"
            );
        }
    }
    for name in ["nonsense", "", "Jwt_Algorithm", "settings.name"] {
        let invalid = refused(&harness, &[("session_idle_minutes", "7"), (name, "1")]).await;
        assert_eq!((&*invalid.param, invalid.reason), (name, Reason::Unknown));
    }
    assert_eq!(
        harness
            .service
            .show_app(Principal::cli(), harness.app.id)
            .await
            .unwrap(),
        harness.app
    );
    let nobody = AppId::new(START, [7; 16]);
    let missing = harness
        .service
        .set_app(Principal::cli(), nobody, &pairs(&[("name", "x")]))
        .await;
    assert!(matches!(missing, Err(Refusal::NotFound("app"))));
}

#[tokio::test]
async fn apps_are_created_with_a_name_and_listed_oldest_first() {
    let harness = Harness::new().await;
    for bad in ["", "  ", "a\0b", &"x".repeat(101)] {
        let refused = harness.service.create_app(Principal::cli(), bad).await;
        assert!(
            matches!(refused, Err(Refusal::Invalid(invalid)) if invalid.param == "name"),
            "{bad:?}"
        );
    }
    harness.pass(1);
    let second = harness
        .service
        .create_app(Principal::cli(), "Second")
        .await
        .unwrap();
    assert_eq!(
        harness.service.list_apps(Principal::cli()).await.unwrap(),
        [harness.app.clone(), second]
    );
    assert!(matches!(
        harness
            .service
            .show_app(Principal::cli(), AppId::new(START, [7; 16]))
            .await,
        Err(Refusal::NotFound("app"))
    ));
}

/// Running services apply a change within a second.
#[tokio::test]
async fn callers_follow_within_a_second() {
    let harness = Harness::new().await;
    let other = harness.other_process();
    let key = harness
        .service
        .create_api_key(
            Principal::cli(),
            harness.test().await.world,
            vestry_domain::api_key::ApiKeyKind::Secret,
            vestry_domain::api_key::KeyFields::default(),
        )
        .await
        .unwrap()
        .key;
    other.authenticate(key.expose()).await.unwrap();
    harness.set(&[("jwt_lifetime_seconds", "99")]).await;
    assert_eq!(
        other
            .authenticate(key.expose())
            .await
            .unwrap()
            .settings()
            .jwt_lifetime_seconds,
        99
    );
}

/// The limits of API-22, unless the App sets others.
#[tokio::test]
async fn requests_are_limited_per_environment() {
    let harness = Harness::new().await;
    for (live, most) in [(false, 100), (true, 1_000)] {
        let caller = if live {
            harness.live().await
        } else {
            harness.test().await
        };
        for used in 1..=most + 1 {
            let verdict = harness.service.admit(&caller).await.unwrap();
            assert_eq!((verdict.admitted, verdict.limit), (used <= most, most));
            assert_eq!(verdict.remaining, most.saturating_sub(used));
            assert_eq!(verdict.reset.unix(), START.unix() + 60);
        }
    }
    harness.pass(60);
    assert!(
        harness
            .service
            .admit(&*harness.test().await)
            .await
            .unwrap()
            .admitted
    );
}

#[tokio::test]
async fn an_app_can_set_its_own_limit() {
    let harness = Harness::new().await;
    harness.set(&[("test_per_minute", "2")]).await;
    let test = harness.test().await;
    let mut admitted = Vec::new();
    for _ in 0..3 {
        admitted.push(harness.service.admit(&test).await.unwrap().admitted);
    }
    assert_eq!(admitted, [true, true, false]);
    harness.set(&[("test_per_minute", "0")]).await;
    let test = harness.test().await;
    for _ in 0..300 {
        assert!(
            harness.service.admit(&test).await.unwrap().admitted,
            "0 is no limit"
        );
    }
}

#[tokio::test]
async fn an_unreachable_limiter_is_a_fault() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    harness.limiter.set_unavailable(true);
    let outcome = harness.service.admit(&test).await;
    assert!(matches!(outcome, Err(Fault::Unavailable(_))), "{outcome:?}");
    harness.limiter.set_unavailable(false);
    assert!(harness.service.admit(&test).await.unwrap().admitted);
}

/// Two concurrent changes of different settings are both kept, and the log says what each one changed.
#[tokio::test]
async fn parallel_changes_of_different_settings_are_both_kept() {
    let harness = Harness::new().await;
    let (other, app) = (harness.other_process(), harness.app.id);
    harness.store.before_next_begin(async move {
        let change = pairs(&[("session_idle_minutes", "30"), ("name", "Theirs")]);
        other.set_app(Principal::cli(), app, &change).await.unwrap();
    });
    let change = pairs(&[("freshness_minutes", "7")]);
    let changed = harness
        .service
        .set_app(Principal::cli(), app, &change)
        .await
        .unwrap();
    let kept = harness
        .service
        .show_app(Principal::cli(), app)
        .await
        .unwrap();
    assert_eq!(kept, changed);
    assert_eq!(kept.settings.freshness_minutes, 7);
    assert_eq!(kept.settings.session_idle_minutes, 30);
    assert_eq!(kept.name.as_str(), "Theirs");
}
