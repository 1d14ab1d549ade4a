use serde_json::json;

use super::*;

fn config(document: Value) -> Config {
    serde_json::from_value(document).unwrap()
}

#[test]
fn differences_are_named_by_their_path() {
    let before = config(json!({
        "settings": {"freshness_minutes": 7, "wallet_export": false},
        "test": {"webhook_endpoints": [
            {"url": "https://a.example/", "types": ["user.*"]},
            {"url": "https://a.example/", "types": ["*"]},
            {"url": "https://b.example/", "name": "B"},
        ]},
        "live": {
            "redirect_urls": [
                {"kind": "login", "url": "https://a.example/in", "default": true},
                {"kind": "invite", "url": "https://a.example/in"},
            ],
            "providers": {"google": {"client_id": "1"}, "github": {"client_id": "2"}},
        },
    }));
    assert_eq!(before.changes_to(&before), []);
    let after = config(json!({
        "settings": {"freshness_minutes": 8, "wallet_export": false},
        "test": {"webhook_endpoints": [
            {"url": "https://a.example/", "types": ["*"]},
            {"url": "https://a.example/", "types": ["wallet.*"]},
            {"url": "https://c.example/"},
        ]},
        "live": {
            "redirect_urls": [{"kind": "login", "url": "https://a.example/in"}],
            "providers": {"google": {"client_id": "1", "settings": {"scopes": ["a"]}}},
        },
    }));
    let changes = before.changes_to(&after);
    let paths: Vec<_> = changes.iter().map(|change| change.path.as_str()).collect();
    assert_eq!(
        paths,
        [
            "settings.freshness_minutes",
            "test.webhook_endpoints[https://b.example/]",
            "test.webhook_endpoints[https://a.example/].types",
            "test.webhook_endpoints[https://c.example/]",
            "live.redirect_urls[invite https://a.example/in]",
            "live.redirect_urls[login https://a.example/in].default",
            "live.providers.github",
            "live.providers.google.settings.scopes",
        ]
    );
    assert_eq!(changes[0].from, json!(7));
    assert_eq!(changes[1].to, Value::Null);
    // What one document does not describe is no difference.
    let only_live = Config {
        live: before.live.clone(),
        ..Config::default()
    };
    assert_eq!(before.changes_to(&only_live), []);
    assert_eq!(only_live.changes_to(&before), []);
}

#[test]
fn secrets_are_recognised_by_their_names() {
    for (param, expected) in [
        ("live.providers.google.client_secret", Reason::Value),
        ("test.webhook_endpoints[0].secret", Reason::Value),
        ("test.webhook_endpoints[0].urll", Reason::Unknown),
    ] {
        let invalid = without_secrets(Invalid::unknown(param, "unknown"));
        assert_eq!((invalid.reason, &*invalid.param), (expected, param));
    }
}
