//! `users/{user_id}/disable`, `enable` and `unlock`.

use serde_json::{Value, json};
use vestry_domain::Environment;
use vestry_domain::api_key::Scope;

use crate::flows::signed_in;
use crate::harness::{Api, Response, on_both};

on_both! {
    m_18_a_user_is_disabled_and_gets_its_status_back
    m_18_a_disabled_user_is_found_as_such
    m_18_unlock_clears_the_lockouts_of_a_user
    m_18_an_update_does_not_set_the_status
    m_18_disabling_needs_a_scope_and_the_environment
}

async fn switched(api: &Api, user: &str, to: &str, body: Option<Value>) -> Response {
    let path = format!("/v1/auth/users/{user}/{to}");
    api.test().send("POST", &path, body).await
}

async fn created(api: &Api, request: Value) -> String {
    let created = api.test().post("/v1/auth/users/create", request).await.ok();
    created.text_at("/user_id")
}

/// The fields of a response that show whether the user may sign in.
fn standing(user: &Value) -> [Value; 4] {
    ["status", "active", "disabled_at", "disabled_reason"].map(|name| user[name].clone())
}

async fn m_18_a_user_is_disabled_and_gets_its_status_back(api: &Api) {
    for (status, is_active) in [("active", true), ("pending", false)] {
        let email = format!("{status}@example.com");
        let id = created(
            api,
            json!({"email": email, "requires_verification": !is_active}),
        )
        .await;
        let path = format!("/v1/auth/users/{id}");
        let before = api.test().get(&path).await.ok().body;
        assert_eq!(
            standing(&before),
            [json!(status), json!(is_active), json!(0), json!("")]
        );
        api.pass(5);
        let reason = json!({"reason": "chargeback"});
        let disabled = switched(api, &id, "disable", Some(reason)).await.ok().body;
        let at = before["created_at"].as_i64().unwrap() + 5;
        let expected = [
            json!("disabled"),
            json!(false),
            json!(at),
            json!("chargeback"),
        ];
        assert_eq!(standing(&disabled), expected);
        assert_eq!(disabled["updated_at"], at);
        assert_eq!(disabled["wallets"], before["wallets"]);
        api.pass(5);
        // The time and the reason of the disabling stay the same.
        for body in [None, Some(json!({})), Some(json!({"reason": "another"}))] {
            let again = switched(api, &id, "disable", body).await.ok().body;
            assert_eq!(again, disabled);
        }
        assert_eq!(api.test().get(&path).await.ok().body, disabled);
        for _ in 0..2 {
            let enabled = switched(api, &id, "enable", None).await.ok().body;
            assert_eq!(standing(&enabled), standing(&before));
            assert_eq!(enabled["updated_at"], at + 5);
        }
    }
}

async fn m_18_a_disabled_user_is_found_as_such(api: &Api) {
    let mut ids = Vec::new();
    for name in ["ada", "bob", "eve"] {
        ids.push(created(api, json!({"email": format!("{name}@example.com")})).await);
    }
    switched(api, &ids[1], "disable", None).await.ok();
    for (operator, value, expected) in [
        ("eq", json!("disabled"), vec![&ids[1]]),
        ("eq", json!("active"), vec![&ids[0], &ids[2]]),
        ("eq", json!("pending"), vec![]),
        (
            "in",
            json!(["disabled", "active"]),
            vec![&ids[0], &ids[1], &ids[2]],
        ),
    ] {
        let mut field = json!({"field": "status", "operator": operator});
        field[if operator == "in" { "values" } else { "value" }] = value;
        let request = json!({"filters": {"operator": "AND", "fields": [field]}});
        let found = api.test().post("/v1/auth/users/search", request).await.ok();
        let mut shown: Vec<_> = found.body["users"]
            .as_array()
            .unwrap()
            .iter()
            .map(|user| user["user_id"].as_str().unwrap())
            .collect();
        shown.sort_unstable();
        let mut expected: Vec<_> = expected.into_iter().map(String::as_str).collect();
        expected.sort_unstable();
        assert_eq!(shown, expected, "{operator}");
        assert_eq!(found.body["total_count"], expected.len(), "{operator}");
    }
}

/// Attack 24: an API key can do what `vestry users unlock` does.
async fn m_18_unlock_clears_the_lockouts_of_a_user(api: &Api) {
    let session = signed_in(api, "ada@example.com").await;
    let user = session.text_at("/user_id");
    let password = json!({
        "session_token": session.text_at("/session_token"), "password": "correct horse battery",
    });
    let path = "/v1/auth/passwords/session/update";
    api.test().post(path, password).await.ok();
    let sign_in = async |password: &str| {
        let request = json!({"user_id": user, "password": password});
        api.test().post("/v1/auth/passwords/verify", request).await
    };
    let mut statuses = Vec::new();
    while statuses.last() != Some(&429) && statuses.len() < 30 {
        statuses.push(sign_in("correct horse batterz").await.status);
    }
    assert_eq!(
        sign_in("correct horse battery").await.status,
        429,
        "{statuses:?}"
    );
    let unlocked = switched(api, &user, "unlock", None).await.ok();
    assert_eq!(unlocked.body["user_id"], user);
    sign_in("correct horse battery").await.ok();
}

async fn m_18_an_update_does_not_set_the_status(api: &Api) {
    let id = signed_in(api, "ada@example.com").await.text_at("/user_id");
    let path = format!("/v1/auth/users/{id}");
    let before = api.test().get(&path).await.ok().body;
    for (param, value) in [
        ("status", json!("disabled")),
        ("status", json!("active")),
        ("status", json!(1)),
        ("active", json!(false)),
        ("active", json!("no")),
    ] {
        let mut request = json!({"first_name": "Ada"});
        request[param] = value;
        let update = format!("{path}/update");
        let refused = api.test().send("PUT", &update, Some(request)).await;
        refused.refuses(400, "invalid_field", Some(param));
        assert!(
            refused.body["error"]["message"]
                .as_str()
                .unwrap()
                .contains("/disable")
        );
    }
    assert_eq!(api.test().get(&path).await.ok().body, before);
    let update = format!("{path}/update");
    let request = json!({"first_name": "Ada", "status": null});
    api.test().send("PUT", &update, Some(request)).await.ok();
}

/// Scope, environment and form.
async fn m_18_disabling_needs_a_scope_and_the_environment(api: &Api) {
    let id = created(api, json!({"email": "ada@example.com"})).await;
    let reader = api.new_key(Environment::Test, &[Scope::UsersRead]).await;
    let other = api.other_app().await;
    let unknown = format!("user_{}", "0".repeat(27));
    for to in ["disable", "enable", "unlock"] {
        let path = format!("/v1/auth/users/{id}/{to}");
        let refused = api.with_key(&reader).post(&path, json!({})).await;
        refused.refuses(403, "key_not_allowed", Some("scope"));
        for client in [other.clone(), api.live()] {
            let refused = client.post(&path, json!({})).await;
            refused.refuses(404, "not_found", Some("user"));
        }
        let refused = switched(api, &unknown, to, None).await;
        refused.refuses(404, "not_found", Some("user"));
    }
    for reason in [json!("x".repeat(256)), json!("a\nb"), json!(1)] {
        let refused = switched(api, &id, "disable", Some(json!({"reason": reason}))).await;
        refused.refuses(400, "invalid_field", Some("reason"));
    }
    let user = api.test().get(&format!("/v1/auth/users/{id}")).await.ok();
    assert_eq!(user.body["status"], "active");
}
