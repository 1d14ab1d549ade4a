//! Management keys as their owners use them: made on the command line, used over HTTP, refused in every process once revoked.

use serde_json::{Value, json};
use tokio::task::block_in_place;

use crate::on_both_databases;
use crate::races::Field;
use crate::support::installation::{Installation, text};

on_both_databases! {
    /// Section 3 of the contract: a revoked key is refused at once, in every process.
    a_revoked_management_key_is_refused_everywhere => super::a_revoked_key_is_refused_everywhere;
    /// MG-10: a repeat is judged by what its key may do now, in every process.
    mg_10_a_narrowed_key_gets_no_stored_response => super::a_narrowed_key_gets_no_stored_response;
}

fn admin(installation: &Installation, arguments: &[&str]) -> Value {
    block_in_place(|| installation.admin(arguments))
}

async fn a_revoked_key_is_refused_everywhere(installation: Installation) {
    let field = Field::start(&installation).await;
    let create = |scope| {
        let key = ["manage-key", "create", "terraform", "--app", "all"];
        let rights = ["--environment", "test,live", "--expires-in", "90d"];
        let scope = ["--scope", scope];
        admin(&installation, &[&key[..], &rights, &scope].concat())
    };
    let made = create("apps:write,keys:write");
    assert_eq!(made["scopes"], json!(["apps:write", "keys:write"]));
    let clients = field.clients(&text(&made, "key"));
    for (number, api) in clients.iter().enumerate() {
        let name = json!({"name": format!("App {number}")});
        let app = api.post("/v1/manage/apps", &name).await;
        assert_eq!(app.status, 201, "{}", app.text);
        let keys = format!("/v1/manage/apps/{}/live/keys", text(&app.body, "id"));
        let key = api.post(&keys, &json!({"preset": "sign-in"})).await;
        assert_eq!(key.status, 201, "{}", key.text);
        // The App and its key work in the other process too.
        for backend in field.clients(&text(&key.body, "key")) {
            let user = json!({"email": format!("ada{number}@example.com")});
            let created = backend.post("/v1/auth/users/create", &user).await;
            assert!([200, 409].contains(&created.status), "{}", created.text);
        }
        let hooks = keys.replace("/keys", "/webhook_endpoints");
        let refused = api.get(&hooks).await;
        assert_eq!(refused.error(403), "key_not_allowed");
    }
    let id = text(&made, "id");
    let listed = admin(&installation, &["manage-key", "list"]);
    assert_eq!(listed["keys"][0]["id"], json!(id));
    assert_eq!(listed["keys"][0].get("key"), None);
    admin(&installation, &["manage-key", "revoke", &id]);
    for api in &clients {
        let refused = api.get("/v1/manage/apps").await;
        assert_eq!(refused.error(401), "invalid_api_key");
    }
    field.stop("manage keys", 4, 1).await;
}

async fn a_narrowed_key_gets_no_stored_response(installation: Installation) {
    let field = Field::start(&installation).await;
    let create = ["manage-key", "create", "terraform", "--app", "all"];
    let scopes = "apps:write,keys:write,audit:read,webhooks:write";
    let rights = ["--environment", "test,live", "--expires-in", "1d"];
    let made = [&create[..], &rights, &["--scope", scopes]].concat();
    let made = admin(&installation, &made);
    let clients = field.clients(&text(&made, "key"));
    let keys = format!("/v1/manage/apps/{}/live/keys", field.keys.app);
    let hooks = keys.replace("/keys", "/webhook_endpoints");
    let hook = json!({"url": "https://shop.example/hooks"});
    let asked = [
        ("/v1/manage/apps", json!({"name": "Shop"})),
        (&keys, json!({"scopes": ["audit:read"]})),
        (&hooks, hook),
    ];
    let mut first = Vec::new();
    for (path, body) in &asked {
        let answer = clients[0].keyed(path).post(path, body).await;
        assert_eq!(answer.status, 201, "{path}: {}", answer.text);
        first.push(answer.text);
    }
    let stored = "SELECT rights AS one, id AS two FROM management_keys";
    let (stored, _) = installation.database.pairs(stored).await.remove(0);
    let set = async |rights: &str| {
        let update = format!("UPDATE management_keys SET rights = '{rights}'");
        installation.database.execute(&update).await;
    };
    let other = "app_3Mn9PNR3LQoWYO7VKGiApjOImmI";
    let narrower = |name: &str, value: Value| {
        let mut rights: Value = serde_json::from_str(&stored).unwrap();
        rights[name] = value;
        rights
    };
    for (rights, expected) in [
        (
            narrower("apps", json!([other])),
            [(403, "apps"), (404, "app"), (404, "app")],
        ),
        (
            narrower("environments", json!(["test"])),
            [403; 3].map(|status| (status, "environment")),
        ),
        (
            narrower("scopes", json!(["apps:read", "keys:read", "audit:read"])),
            [403; 3].map(|status| (status, "scope")),
        ),
        // Without `audit:read`, the key may still create keys, but not one with that scope.
        (
            narrower("scopes", json!(["keys:write"])),
            [403; 3].map(|status| (status, "scope")),
        ),
    ] {
        set(&rights.to_string()).await;
        for ((path, body), (status, param)) in asked.iter().zip(expected) {
            for api in &clients {
                let refused = api.keyed(path).post(path, body).await;
                assert_eq!(refused.status, status, "{path} {rights}: {}", refused.text);
                assert_eq!(refused.body["error"]["param"], param, "{path} {rights}");
            }
        }
    }
    set(&stored).await;
    for ((path, body), first) in asked.iter().zip(first) {
        for api in &clients {
            let again = api.keyed(path).post(path, body).await;
            assert_eq!((again.status, &again.text), (201, &first), "{path}");
            assert!(again.headers.contains_key("idempotent-replayed"));
        }
    }
    field.stop("narrowed management keys", 4, 1).await;
}

/// A typing error makes no key, and the message names the mistake.
#[test]
fn a_management_key_needs_good_options() {
    let installation = Installation::sqlite();
    let app = installation.set_up().app;
    let good = |app: &str, environment: &str, scope: &str, expires: &str| {
        let arguments = [
            "manage-key",
            "create",
            "support",
            "--app",
            app,
            "--environment",
            environment,
            "--scope",
            scope,
            "--expires-in",
            expires,
        ];
        installation.run(&arguments)
    };
    good(&app, "live", "users:read", "30d").done();
    for (ran, words) in [
        (good("app_x", "live", "users:read", "30d"), "must be app_"),
        (
            good(&format!("all,{app}"), "live", "users:read", "30d"),
            "either all or a list",
        ),
        (
            good(&app, "prod", "users:read", "30d"),
            "environment must be test or live",
        ),
        (good(&app, "live", "wallets:sign", "30d"), "unknown scope"),
        (
            good(&app, "live", "users:read", "366d"),
            "at most 365 days ahead",
        ),
        (good(&app, "live", "users:read", "soon"), "such as 90d"),
        (
            good(
                "app_3Mn9PNR3LQoWYO7VKGiApjOImmI",
                "live",
                "users:read",
                "30d",
            ),
            "no such app",
        ),
    ] {
        assert_ne!(ran.code, 0, "{words}");
        assert!(ran.stderr.contains(words), "{words}: {}", ran.stderr);
    }
    let listed = installation.run(&["manage-key", "list"]).done().stdout;
    assert_eq!(listed.lines().count(), 2, "{listed}");
    assert!(listed.contains("users:read in live of app_"), "{listed}");
}
