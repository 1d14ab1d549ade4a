//! Passwords over HTTP: bounds, shapes, errors, races on both databases.

use serde_json::{Value, json};
use vestry_contract::race::race;

use crate::flows::signed_in;
use crate::harness::{Api, assert_response_snapshot, on_both};

const VERIFY: &str = "/v1/auth/passwords/verify";
const UPDATE: &str = "/v1/auth/passwords/session/update";
const STRENGTH: &str = "/v1/auth/passwords/strength_check";
const FIRST: &str = "correct horse battery";
const SECOND: &str = "staple of another horse";

on_both! {
    a_password_is_set_and_signs_in
    fields_are_checked
    a_refused_password_says_why
    p_10_all_wrong_credentials_get_one_response
    p_11_a_lockout_states_its_duration
    p_12_a_stale_session_may_not_change_the_password
    sessions_are_checked
    r8_parallel_changes_leave_one_password
    the_strength_of_a_password_is_assessed
    attack_25_a_foreign_key_finds_no_password
}

/// A user who is signed in and has a password: id and session token.
async fn with_password(api: &Api, email: &str) -> (String, String) {
    let session = signed_in(api, email).await;
    let token = session.text_at("/session_token");
    let request = json!({"session_token": token, "password": FIRST});
    api.test().post(UPDATE, request).await.ok();
    (session.text_at("/user_id"), token)
}

async fn a_password_is_set_and_signs_in(api: &Api) {
    let session = signed_in(api, "ada@example.com").await;
    let request = json!({"session_jwt": session.text_at("/session_jwt"), "password": FIRST});
    let updated = api.test().post(UPDATE, request).await.ok();
    assert_response_snapshot!(updated, @r#"
    {
      "body": {
        "session": {
          "created_at": 1800000000,
          "deleted": false,
          "deleted_at": 0,
          "device_fingerprint": {
            "ip": "",
            "user_agent": ""
          },
          "expires_at": 1800003600,
          "factors": [
            {
              "delivery_channel": "email",
              "method": {
                "email": "ada@example.com",
                "email_id": "[email id]",
                "last_verified_at": 1800000000,
                "method_id": "[email id]",
                "method_type": "email"
              },
              "type": "otp"
            },
            {
              "delivery_channel": "password",
              "method": {
                "last_verified_at": 1800000000
              },
              "type": "password"
            }
          ],
          "id": "[sess id]",
          "last_active_at": 1800000000,
          "permissions": [],
          "started_at": 1800000000,
          "updated_at": 1800000000,
          "user_id": "[user id]"
        },
        "user_id": "[user id]"
      },
      "status": 200
    }
    "#);
    let user_id = session.text_at("/user_id");
    let request = json!({"user_id": user_id, "password": FIRST, "session_expires_in": 5});
    let verified = api.test().post(VERIFY, request).await.ok();
    assert_eq!(verified.text_at("/user_id"), user_id);
    assert_eq!(verified.text_at("/session_token").len(), 64);
    assert!(!verified.text_at("/session_jwt").is_empty());
    assert_eq!(verified.body["session"]["expires_at"], 1_800_000_300);
    assert_eq!(
        verified.body["session"]["factors"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    let request = json!({"user_id": user_id, "password": FIRST});
    let without = api.test().post(VERIFY, request).await.ok();
    assert_eq!(
        without.body,
        json!({"user_id": user_id, "session": null, "session_token": "", "session_jwt": ""})
    );
}

async fn fields_are_checked(api: &Api) {
    let (user_id, token) = with_password(api, "ada@example.com").await;
    let valid = json!({"user_id": user_id, "password": FIRST});
    let with = |field: &str, value: Value| {
        let mut request = valid.clone();
        request[field] = value;
        request
    };
    for (request, code, param) in [
        (with("user_id", Value::Null), "missing_field", "user_id"),
        (with("password", Value::Null), "missing_field", "password"),
        (with("user_id", json!("ada")), "invalid_field", "user_id"),
        (with("user_id", json!(7)), "invalid_field", "user_id"),
        (with("password", json!(7)), "invalid_field", "password"),
        (
            with("password", json!("x".repeat(1025))),
            "invalid_field",
            "password",
        ),
        (
            with("session_expires_in", json!(4)),
            "invalid_field",
            "session_expires_in",
        ),
        (
            with("session_expires_in", json!(525_601)),
            "invalid_field",
            "session_expires_in",
        ),
        (
            with("device_fingerprint", json!({"ip": 7})),
            "invalid_field",
            "device_fingerprint.ip",
        ),
    ] {
        let response = api.test().post(VERIFY, request).await;
        response.refuses(400, code, Some(param));
    }
    for minutes in [5, 525_600] {
        api.test()
            .post(VERIFY, with("session_expires_in", json!(minutes)))
            .await
            .ok();
    }
    for (request, code, param) in [
        (json!({"session_token": token}), "missing_field", "password"),
        (
            json!({"password": SECOND}),
            "missing_field",
            "session_token",
        ),
        (
            json!({"session_token": token, "password": 7}),
            "invalid_field",
            "password",
        ),
        (
            json!({"session_token": token, "password": "x".repeat(1025)}),
            "invalid_field",
            "password",
        ),
        (
            json!({"session_token": token, "password": SECOND, "current_password": "x".repeat(1025)}),
            "invalid_field",
            "current_password",
        ),
    ] {
        let response = api.test().post(UPDATE, request).await;
        response.refuses(400, code, Some(param));
    }
}

async fn a_refused_password_says_why(api: &Api) {
    let session = signed_in(api, "ada.lovelace@example.com").await;
    let token = session.text_at("/session_token");
    for (password, why) in [
        ("", "at least 8 characters"),
        ("seven77", "at least 8 characters"),
        ("password123", "most common"),
        ("ada.lovelace", "a name from the account"),
    ] {
        let request = json!({"session_token": token, "password": password});
        let response = api.test().post(UPDATE, request).await;
        response.refuses(400, "invalid_field", Some("password"));
        let said = response.text_at("/error/message");
        assert!(said.contains(why), "{password}: {said}");
    }
}

async fn p_10_all_wrong_credentials_get_one_response(api: &Api) {
    let (user_id, _) = with_password(api, "ada@example.com").await;
    let without = signed_in(api, "bob@example.com").await.text_at("/user_id");
    let unknown = format!("user_{}", "0".repeat(27));
    let client = api.test().header("X-Request-Id", "one");
    let mut bodies = Vec::new();
    for (user, password) in [
        (&user_id, SECOND),
        (&user_id, ""),
        (&without, FIRST),
        (&unknown, FIRST),
        (&unknown, ""),
    ] {
        let request = json!({"user_id": user, "password": password, "session_expires_in": 60});
        let response = client.post(VERIFY, request).await;
        response.refuses(401, "invalid_credentials", None);
        bodies.push(response.body);
    }
    assert!(bodies.windows(2).all(|two| two[0] == two[1]), "{bodies:?}");
}

async fn p_11_a_lockout_states_its_duration(api: &Api) {
    let (user_id, token) = with_password(api, "ada@example.com").await;
    let wrong = json!({"user_id": user_id, "password": SECOND});
    for _ in 0..20 {
        let response = api.test().post(VERIFY, wrong.clone()).await;
        response.refuses(401, "invalid_credentials", None);
    }
    let right = json!({"user_id": user_id, "password": FIRST});
    let response = api.test().post(VERIFY, right.clone()).await;
    response.refuses(429, "too_many_attempts", None);
    assert_eq!(response.header("retry-after"), Some("60"));
    // attack-24: the session and the other sign-in methods still work.
    let verify = json!({"session_token": token});
    api.test()
        .post("/v1/auth/sessions/verify", verify)
        .await
        .ok();
    signed_in(api, "ada@example.com").await;
    api.pass(60);
    api.test().post(VERIFY, right).await.ok();
}

async fn p_12_a_stale_session_may_not_change_the_password(api: &Api) {
    let (user_id, token) = with_password(api, "ada@example.com").await;
    api.pass(15 * 60);
    let request = json!({"session_token": token, "password": SECOND});
    let response = api.test().post(UPDATE, request).await;
    response.refuses(403, "insufficient_factor", None);
    let with = |current: &str| json!({"session_token": token, "password": SECOND, "current_password": current});
    let response = api.test().post(UPDATE, with(SECOND)).await;
    response.refuses(401, "invalid_credentials", None);
    api.test().post(UPDATE, with(FIRST)).await.ok();
    let request = json!({"user_id": user_id, "password": FIRST});
    let response = api.test().post(VERIFY, request).await;
    response.refuses(401, "invalid_credentials", None);
    let request = json!({"user_id": user_id, "password": SECOND});
    api.test().post(VERIFY, request).await.ok();
}

async fn sessions_are_checked(api: &Api) {
    let (user_id, token) = with_password(api, "ada@example.com").await;
    let other = signed_in(api, "bob@example.com").await;
    let nothing = "0".repeat(64);
    let request = json!({"user_id": user_id, "password": FIRST, "session_token": nothing});
    let response = api.test().post(VERIFY, request).await;
    response.refuses(401, "invalid_session", None);
    // attack-13: that of another user.
    let request = json!({"user_id": user_id, "password": FIRST, "session_token": other.text_at("/session_token")});
    let response = api.test().post(VERIFY, request).await;
    response.refuses(401, "invalid_session", None);
    let request = json!({"user_id": user_id, "password": FIRST, "session_token": token, "session_jwt": other.text_at("/session_jwt")});
    let response = api.test().post(VERIFY, request).await;
    response.refuses(400, "invalid_field", Some("session_jwt"));
    let request = json!({"password": SECOND, "session_token": nothing});
    let response = api.test().post(UPDATE, request).await;
    response.refuses(401, "invalid_session", None);
}

/// R8 on a real database: the last call to get a 200 has set the password, and no other one works.
async fn r8_parallel_changes_leave_one_password(api: &Api) {
    for round in 0..3 {
        let (user_id, token) = with_password(api, &format!("ada{round}@example.com")).await;
        let passwords: Vec<_> = (0..50)
            .map(|n| format!("a password with {n} in it"))
            .collect();
        let caller = api.service.authenticate(api.test_key()).await.unwrap();
        let tasks = passwords.clone().into_iter().map(|password| {
            let (service, caller) = (api.service.clone(), caller.clone());
            let command = vestry_app::identity::passwords::UpdatePassword {
                password: vestry_domain::Secret::new(password),
                current_password: None,
                session_token: Some(vestry_domain::Secret::new(token.clone())),
                session_jwt: None,
            };
            async move {
                service
                    .update_password(&caller, command)
                    .await
                    .map(drop)
                    .map_err(|error| error.to_string())
            }
        });
        let outcomes = race(tasks).await;
        assert!(outcomes.iter().all(Result::is_ok), "{outcomes:?}");
        let mut right = 0;
        for password in passwords.iter().map(String::as_str).chain([FIRST]) {
            api.pass(86_400);
            let request = json!({"user_id": user_id, "password": password});
            right += usize::from(api.test().post(VERIFY, request).await.status == 200);
        }
        assert_eq!(right, 1);
    }
}

async fn the_strength_of_a_password_is_assessed(api: &Api) {
    let judged = api
        .test()
        .post(STRENGTH, json!({"password": "password"}))
        .await
        .ok();
    assert_eq!(judged.body["score"], 0);
    assert_eq!(judged.text_at("/crack_time_display"), "less than a second");
    assert!(judged.body["crack_time"].is_number());
    let phrase = json!({"password": "ask the unusual kettle for directions"});
    let judged = api.test().post(STRENGTH, phrase).await.ok();
    assert_eq!(judged.body["score"], 4);
    assert_eq!(judged.text_at("/crack_time_display"), "centuries");
    api.test()
        .post(STRENGTH, json!({"password": ""}))
        .await
        .ok();
    let longest = json!({"password": "a1".repeat(512)});
    api.test().post(STRENGTH, longest).await.ok();
    let response = api.test().post(STRENGTH, json!({})).await;
    response.refuses(400, "missing_field", Some("password"));
    let response = api
        .test()
        .post(STRENGTH, json!({"password": "x".repeat(1025)}))
        .await;
    response.refuses(400, "invalid_field", Some("password"));
}

async fn attack_25_a_foreign_key_finds_no_password(api: &Api) {
    let (user_id, token) = with_password(api, "ada@example.com").await;
    for stranger in [api.live(), api.other_app().await] {
        let request = json!({"user_id": user_id, "password": FIRST});
        let response = stranger.post(VERIFY, request).await;
        response.refuses(401, "invalid_credentials", None);
        let request = json!({"session_token": token, "password": SECOND});
        let response = stranger.post(UPDATE, request).await;
        response.refuses(401, "invalid_session", None);
    }
}
