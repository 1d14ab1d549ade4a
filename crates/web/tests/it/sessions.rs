//! Sessions and key sets.

use jsonwebtoken::jwk::JwkSet;
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use serde_json::{Value, json};
use vestry_app::Principal;
use vestry_domain::api_key::Scope;
use vestry_domain::redirect::RedirectKind;
use vestry_domain::{Environment, World};

use crate::flows::{sent, signed_in, verified};
use crate::harness::{Api, Response, assert_response_snapshot, on_both};

const VERIFY: &str = "/v1/auth/sessions/verify";
const LIST: &str = "/v1/auth/sessions/list";
const DELETE: &str = "/v1/auth/sessions/delete";
const DELETE_ALL: &str = "/v1/auth/sessions/delete_all";

on_both! {
    a_session_is_verified_by_token_or_jwt
    m_7_a_jwt_does_not_renew_itself_for_ever
    a_verify_can_move_the_end
    a_verify_names_what_it_refuses
    empty_texts_are_absent
    a_session_that_ended_is_refused
    s_3_the_apps_limits_hold_whatever_is_requested
    an_ended_session_cannot_be_ended_again
    s_4_a_deleted_session_is_gone_at_once
    delete_takes_exactly_one_name
    sessions_are_listed_newest_first
    all_sessions_of_a_user_end_together
    m_22_ended_sessions_can_be_listed
    m_22_all_sessions_of_an_app_end_on_explicit_request
    m_22_sessions_are_listed_in_pages
    the_jwt_verifies_against_the_key_set
    s_8_a_jwt_with_another_algorithm_is_refused
    s_13_old_tokens_verify_while_keys_rotate
    a_key_set_can_be_requested_by_environment
}

async fn verify(api: &Api, request: Value) -> Response {
    api.test().post(VERIFY, request).await
}

/// The response shows the effective end; an unused session ends before it.
async fn s_3_the_apps_limits_hold_whatever_is_requested(api: &Api) {
    let limits = [
        ("session_absolute_minutes".to_owned(), "30".to_owned()),
        ("session_idle_minutes".to_owned(), "10".to_owned()),
    ];
    api.service
        .set_app(Principal::cli(), api.app.id, &limits)
        .await
        .unwrap();
    api.pass(1);
    let session = signed_in(api, "ada@example.com").await;
    let token = json!({ "session_token": session.text_at("/session_token") });
    let end = session.body["session"]["created_at"].as_i64().unwrap() + 30 * 60;
    assert_eq!(session.body["session"]["expires_at"], end);
    let mut longer = token.clone();
    longer["session_expires_in"] = json!(525_600);
    for _ in 0..2 {
        api.pass(9 * 60);
        let extended = verify(api, longer.clone()).await.ok();
        assert_eq!(extended.body["session"]["expires_at"], end);
    }
    api.pass(10 * 60);
    let idle = verify(api, token).await;
    idle.refuses(401, "invalid_session", None);
}

async fn a_session_is_verified_by_token_or_jwt(api: &Api) {
    let signed_in = signed_in(api, "ada@example.com").await;
    let (token, jwt) = (
        &signed_in.body["session_token"],
        &signed_in.body["session_jwt"],
    );
    let by_token = verify(api, json!({ "session_token": token })).await.ok();
    assert_response_snapshot!(by_token, @r#"
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
            }
          ],
          "id": "[sess id]",
          "last_active_at": 1800000000,
          "permissions": [],
          "started_at": 1800000000,
          "updated_at": 1800000000,
          "user_id": "[user id]"
        },
        "session_jwt": "[jwt]",
        "session_token": "[session token]"
      },
      "status": 200
    }
    "#);
    assert_eq!(&by_token.body["session_token"], token);
    assert_eq!(by_token.body["session"], signed_in.body["session"]);
    let by_jwt = verify(api, json!({ "session_jwt": jwt })).await.ok();
    assert_eq!(by_jwt.body["session_token"], "");
    assert_eq!(
        by_jwt.body["session"]["id"],
        signed_in.body["session"]["id"]
    );
    verify(api, json!({ "session_token": token, "session_jwt": jwt }))
        .await
        .ok();
    // A JWT past its own end identifies the session as long as that lives.
    api.pass(400);
    let expired = verify(api, json!({ "session_jwt": jwt })).await.ok();
    assert_eq!(expired.body["session"]["last_active_at"], 1_800_000_400);
}

/// For every endpoint that accepts a JWT as a session reference; the session itself lives on.
async fn m_7_a_jwt_does_not_renew_itself_for_ever(api: &Api) {
    let window = [("jwt_renewal_window".to_owned(), "10".to_owned())];
    api.service
        .set_app(Principal::cli(), api.app.id, &window)
        .await
        .unwrap();
    api.pass(1);
    let session = signed_in(api, "ada@example.com").await;
    let jwt = json!({"session_jwt": session.text_at("/session_jwt")});
    api.pass(300 + 10 * 60);
    verify(api, jwt.clone()).await.ok();
    api.pass(1);
    let code = sent(api, &api.test(), "ada@example.com").await;
    let test = api.test();
    for refused in [
        verify(api, jwt.clone()).await,
        verified(&test, &code, jwt.clone()).await,
        test.delete(DELETE, Some(jwt.clone())).await,
        test.post(
            "/v1/auth/passwords/session/update",
            json!({"session_jwt": jwt["session_jwt"], "password": "correct horse battery"}),
        )
        .await,
        test.post(
            "/v1/auth/otps/email/send",
            json!({"session_jwt": jwt["session_jwt"], "email": "ada@example.com"}),
        )
        .await,
    ] {
        refused.refuses(401, "invalid_session", None);
    }
    let token = json!({"session_token": session.text_at("/session_token")});
    let fresh = verify(api, token).await.ok();
    verify(api, json!({"session_jwt": fresh.text_at("/session_jwt")}))
        .await
        .ok();
}

async fn a_verify_can_move_the_end(api: &Api) {
    let signed_in = signed_in(api, "ada@example.com").await;
    let token = &signed_in.body["session_token"];
    let moved = verify(
        api,
        json!({"session_token": token, "session_expires_in": 5}),
    )
    .await
    .ok();
    assert_eq!(moved.body["session"]["expires_at"], 1_800_000_000 + 300);
    api.pass(200);
    let moved = verify(
        api,
        json!({"session_token": token, "session_expires_in": 525_600}),
    )
    .await
    .ok();
    assert_eq!(
        moved.body["session"]["expires_at"],
        1_800_000_000_i64 + 525_600 * 60,
        "never past the absolute limit"
    );
}

async fn a_verify_names_what_it_refuses(api: &Api) {
    let token = signed_in(api, "ada@example.com")
        .await
        .text_at("/session_token");
    let cases = [
        (json!({}), "missing_field", "session_token"),
        (
            json!({"session_token": null}),
            "missing_field",
            "session_token",
        ),
        (
            json!({"session_token": 1}),
            "invalid_field",
            "session_token",
        ),
        (
            json!({"session_token": "\u{0}"}),
            "invalid_field",
            "session_token",
        ),
        (json!({"session_jwt": []}), "invalid_field", "session_jwt"),
        (
            json!({"session_token": token, "session_expires_in": 4}),
            "invalid_field",
            "session_expires_in",
        ),
        (
            json!({"session_token": token, "session_expires_in": 525_601}),
            "invalid_field",
            "session_expires_in",
        ),
        (
            json!({"session_token": token, "session_expires_in": "5"}),
            "invalid_field",
            "session_expires_in",
        ),
        (
            json!({"session_token": token, "device_fingerprint": {"ip": []}}),
            "invalid_field",
            "device_fingerprint.ip",
        ),
    ];
    for (request, code, param) in cases {
        verify(api, request).await.refuses(400, code, Some(param));
    }
}

/// Empty values from responses can be sent back: `""` counts as absent in every optional string.
async fn empty_texts_are_absent(api: &Api) {
    for kind in RedirectKind::ALL {
        let world = World::new(api.app.id, Environment::Test);
        let url = "https://app.example.com/in";
        let added = api
            .service
            .add_redirect_url(Principal::cli(), world, kind, url, true);
        added.await.unwrap();
    }
    let test = api.test();
    let code = sent(api, &test, "ada@example.com").await;
    let further = json!({"session_token": "", "session_jwt": "", "session_expires_in": 60});
    let first = verified(&test, &code, further).await.ok();
    let (token, id) = (&first.body["session_token"], &first.body["session"]["id"]);
    let request = json!({"session_token": token, "session_jwt": ""});
    verify(api, request).await.ok();
    let nothing = json!({"session_token": "", "session_jwt": ""});
    let refused = verify(api, nothing.clone()).await;
    refused.refuses(400, "missing_field", Some("session_token"));
    let refused = test.delete(DELETE, Some(nothing)).await;
    refused.refuses(400, "missing_field", Some("session_token"));
    let request = json!({"session_token": "", "session_jwt": "", "session_id": id});
    test.delete(DELETE, Some(request)).await.ok();
    let address = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed";
    for (path, request) in [
        (
            "/v1/auth/magic_links/create",
            json!({"user_id": "", "email": "ada@example.com"}),
        ),
        (
            "/v1/auth/magic_links/create",
            json!({"user_id": first.body["user_id"], "email": ""}),
        ),
        (
            "/v1/auth/magic_links/email/login_or_create",
            json!({"email": "ada@example.com", "login_redirect_url": "", "registration_redirect_url": ""}),
        ),
        (
            "/v1/auth/magic_links/email/invite",
            json!({"email": "eve@example.com", "invite_redirect_url": ""}),
        ),
        (
            "/v1/auth/wallets/registrations/begin",
            json!({"wallet_type": "ethereum", "public_address": address, "user_id": ""}),
        ),
        (
            "/v1/auth/wallets/registrations/nonce",
            json!({"wallet_type": "ethereum", "public_address": address, "user_id": ""}),
        ),
    ] {
        test.post(path, request).await.ok();
    }
    // The fields are absent: the session that they would continue does not exist.
    for (path, request) in [
        (
            "totps/recovery",
            json!({"user_id": first.body["user_id"], "recovery_code": "", "totp": "000000"}),
        ),
        (
            "totps/verify",
            json!({"user_id": first.body["user_id"], "totp": "000000"}),
        ),
        (
            "otps/verify",
            json!({"method_id": code.method_id, "otp": "000000"}),
        ),
        ("magic_links/verify", json!({"token": "0".repeat(48)})),
        (
            "passwords/reset/complete",
            json!({"token": "0".repeat(48), "password": "six red boats at noon"}),
        ),
    ] {
        let mut request = request;
        request["session_token"] = "".into();
        request["session_jwt"] = "".into();
        let refused = test.post(&format!("/v1/auth/{path}"), request).await;
        assert_eq!(refused.status, 400, "{path}: {}", refused.text);
        assert!(
            refused.code().starts_with("invalid_otp") || refused.code() == "invalid_magic_token",
            "{path}: {}",
            refused.text
        );
    }
    let request =
        json!({"session_token": "", "session_jwt": "", "password": "six red boats at noon"});
    let refused = test
        .post("/v1/auth/passwords/session/update", request)
        .await;
    refused.refuses(400, "missing_field", Some("session_token"));
}

/// `sessions/delete` as documented: an id of no live session is 404, a token or JWT 401.
async fn an_ended_session_cannot_be_ended_again(api: &Api) {
    let first = signed_in(api, "ada@example.com").await;
    api.pass(3600);
    let request = json!({"session_id": first.body["session"]["id"]});
    let refused = api.test().delete(DELETE, Some(request)).await;
    refused.refuses(404, "not_found", Some("session"));
    for name in ["session_token", "session_jwt"] {
        let request = json!({ name: first.body[name] });
        let refused = api.test().delete(DELETE, Some(request)).await;
        refused.refuses(401, "invalid_session", None);
    }
}

async fn a_session_that_ended_is_refused(api: &Api) {
    let token = signed_in(api, "ada@example.com")
        .await
        .text_at("/session_token");
    api.pass(60 * 60 - 1);
    verify(api, json!({ "session_token": token })).await.ok();
    api.pass(1);
    let refused = verify(api, json!({ "session_token": token })).await;
    refused.refuses(401, "invalid_session", None);
    assert_response_snapshot!(refused, @r#"
    {
      "body": {
        "error": {
          "code": "invalid_session",
          "message": "the session is not valid"
        },
        "error_message": "the session is not valid",
        "error_type": "invalid_session",
        "request_id": "[request id]",
        "status_code": 401
      },
      "status": 401
    }
    "#);
}

async fn s_4_a_deleted_session_is_gone_at_once(api: &Api) {
    for name in ["session_token", "session_jwt", "session_id"] {
        let signed_in = signed_in(api, &format!("{}@example.com", name.replace('_', "."))).await;
        let value = match name {
            "session_id" => &signed_in.body["session"]["id"],
            other => &signed_in.body[other],
        };
        let request = json!({ name: value });
        let deleted = api.test().delete(DELETE, Some(request.clone())).await.ok();
        assert_eq!(
            deleted.body,
            json!({"message": "Successfully deleted session"})
        );
        for known in ["session_token", "session_jwt"] {
            let refused = verify(api, json!({ known: signed_in.body[known] })).await;
            refused.refuses(401, "invalid_session", None);
        }
        let again = api.test().delete(DELETE, Some(request)).await;
        if name == "session_id" {
            again.refuses(404, "not_found", Some("session"));
        } else {
            again.refuses(401, "invalid_session", None);
        }
    }
}

async fn delete_takes_exactly_one_name(api: &Api) {
    let signed_in = signed_in(api, "ada@example.com").await;
    let (token, jwt) = (
        &signed_in.body["session_token"],
        &signed_in.body["session_jwt"],
    );
    let id = &signed_in.body["session"]["id"];
    let cases = [
        (json!({}), "missing_field", "session_token"),
        (
            json!({"session_id": null}),
            "missing_field",
            "session_token",
        ),
        (
            json!({"session_token": token, "session_jwt": jwt}),
            "invalid_field",
            "session_jwt",
        ),
        (
            json!({"session_token": token, "session_id": id}),
            "invalid_field",
            "session_id",
        ),
        (
            json!({"session_jwt": jwt, "session_id": id}),
            "invalid_field",
            "session_id",
        ),
        (
            json!({"session_token": token, "session_jwt": jwt, "session_id": id}),
            "invalid_field",
            "session_jwt",
        ),
        (
            json!({"session_id": "sess_"}),
            "invalid_field",
            "session_id",
        ),
        (json!({"session_id": 7}), "invalid_field", "session_id"),
    ];
    for (request, code, param) in cases {
        api.test()
            .delete(DELETE, Some(request))
            .await
            .refuses(400, code, Some(param));
    }
    api.test()
        .delete(DELETE, None)
        .await
        .refuses(400, "invalid_request", None);
    verify(api, json!({ "session_token": token })).await.ok();
}

async fn sessions_are_listed_newest_first(api: &Api) {
    let first = signed_in(api, "ada@example.com").await;
    api.pass(1);
    let second = signed_in(api, "ada@example.com").await;
    signed_in(api, "eve@example.com").await;
    let path = format!("{LIST}?user_id={}", first.text_at("/user_id"));
    let listed = api.test().get(&path).await.ok();
    assert_eq!(
        listed.body["sessions"],
        json!([second.body["session"], first.body["session"]])
    );
    api.test()
        .delete(
            DELETE,
            Some(json!({"session_token": second.body["session_token"]})),
        )
        .await
        .ok();
    let listed = api.test().get(&path).await.ok();
    assert_eq!(listed.body["sessions"], json!([first.body["session"]]));
    api.test()
        .get(LIST)
        .await
        .refuses(400, "missing_field", Some("user_id"));
    api.test().get(&format!("{LIST}?user_id=")).await.refuses(
        400,
        "missing_field",
        Some("user_id"),
    );
    api.test()
        .get(&format!("{LIST}?user_id=ada"))
        .await
        .refuses(400, "invalid_field", Some("user_id"));
    let twice = format!("{path}&user_id={}", first.text_at("/user_id"));
    api.test()
        .get(&twice)
        .await
        .refuses(400, "invalid_field", Some("user_id"));
    let absent = format!("{LIST}?user_id=user_{}", "0".repeat(27));
    api.test()
        .get(&absent)
        .await
        .refuses(404, "not_found", Some("user"));
}

async fn all_sessions_of_a_user_end_together(api: &Api) {
    let first = signed_in(api, "ada@example.com").await;
    let second = signed_in(api, "ada@example.com").await;
    let other = signed_in(api, "eve@example.com").await;
    let user_id = first.text_at("/user_id");
    let deleted = api
        .test()
        .delete(DELETE_ALL, Some(json!({ "user_id": user_id })))
        .await
        .ok();
    assert_response_snapshot!(deleted, @r#"
    {
      "body": {
        "deleted_count": 2,
        "message": "Successfully deleted all sessions of the user",
        "user_id": "[user id]"
      },
      "status": 200
    }
    "#);
    for session in [first, second] {
        let request = json!({"session_token": session.body["session_token"]});
        verify(api, request)
            .await
            .refuses(401, "invalid_session", None);
    }
    verify(api, json!({"session_token": other.body["session_token"]}))
        .await
        .ok();
    // Without a body the query names the user.
    let by_query = format!("{DELETE_ALL}?user_id={}", other.text_at("/user_id"));
    assert_eq!(
        api.test().delete(&by_query, None).await.ok().body["deleted_count"],
        1
    );
    assert_eq!(
        api.test().delete(&by_query, None).await.ok().body["deleted_count"],
        0
    );
    // Nor with a body that does not name one, as sent by clients that always send a body.
    for body in [json!({}), json!({"user_id": ""}), json!({"user_id": null})] {
        let deleted = api.test().delete(&by_query, Some(body)).await.ok();
        assert_eq!(deleted.body["deleted_count"], 0);
    }
    api.test()
        .delete(DELETE_ALL, None)
        .await
        .refuses(400, "missing_field", Some("user_id"));
    api.test()
        .delete(DELETE_ALL, Some(json!({})))
        .await
        .refuses(400, "missing_field", Some("user_id"));
    api.test()
        .delete(DELETE_ALL, Some(json!({"user_id": "x"})))
        .await
        .refuses(400, "invalid_field", Some("user_id"));
    let absent = json!({"user_id": format!("user_{}", "0".repeat(27))});
    api.test()
        .delete(DELETE_ALL, Some(absent))
        .await
        .refuses(404, "not_found", Some("user"));
}

/// Deleted, expired and idle sessions are listed on request, as long as they are stored.
async fn m_22_ended_sessions_can_be_listed(api: &Api) {
    let idle = [("session_idle_minutes".to_owned(), "20".to_owned())];
    api.service
        .set_app(Principal::cli(), api.app.id, &idle)
        .await
        .unwrap();
    api.pass(1);
    let mut ids = Vec::new();
    let mut sign_in = async |minutes: i64| {
        let code = sent(api, &api.test(), "ada@example.com").await;
        let session_fields = json!({"session_expires_in": minutes});
        let session = verified(&api.test(), &code, session_fields).await.ok();
        ids.insert(0, session.body["session"]["id"].clone());
        api.pass(61);
        session
    };
    let over = sign_in(5).await;
    let deleted = sign_in(60).await;
    sign_in(60).await;
    let delete = json!({"session_token": deleted.text_at("/session_token")});
    api.test().delete(DELETE, Some(delete)).await.ok();
    api.pass(1_200);
    sign_in(60).await;
    let user = over.text_at("/user_id");
    let listed = async |query: &str| {
        let path = format!("{LIST}?user_id={user}{query}");
        let sessions = api.test().get(&path).await.ok().body["sessions"].clone();
        let rows = sessions.as_array().unwrap().iter();
        rows.map(|row| (row["id"].clone(), row["deleted"].clone()))
            .collect::<Vec<_>>()
    };
    assert_eq!(listed("").await, [(ids[0].clone(), json!(false))]);
    let all = listed("&include=ended").await;
    let deleted = [false, false, true, false].map(Value::from);
    let expected: Vec<_> = ids.iter().cloned().zip(deleted).collect();
    assert_eq!(all, expected);
    for (query, expected) in [("&include=", 1), ("&include=ended", 4)] {
        assert_eq!(listed(query).await.len(), expected, "{query}");
    }
    for include in ["all", "Ended", "ended,living"] {
        let path = format!("{LIST}?user_id={user}&include={include}");
        let refused = api.test().get(&path).await;
        refused.refuses(400, "invalid_field", Some("include"));
    }
    let unknown = format!("user_{}", "0".repeat(27));
    let path = format!("{LIST}?user_id={unknown}&include=ended");
    let refused = api.test().get(&path).await;
    refused.refuses(404, "not_found", Some("user"));
    // A week later they are swept.
    api.pass(8 * 86_400);
    api.service.sweep("this process").await;
    assert_eq!(listed("&include=ended").await, []);
}

/// Pages of 10 to 100 sessions, newest first, each with a cursor to the next one.
async fn m_22_sessions_are_listed_in_pages(api: &Api) {
    let mut ids = Vec::new();
    let mut user = String::new();
    for number in 0..23 {
        let code = sent(api, &api.test(), "ada@example.com").await;
        let session_fields = json!({"session_expires_in": 600});
        let session = verified(&api.test(), &code, session_fields).await.ok();
        user = session.text_at("/user_id").to_owned();
        ids.insert(0, session.body["session"]["id"].clone());
        api.pass(61);
        if number % 5 == 4 {
            api.pass(600);
        }
    }
    let mut found = Vec::new();
    let mut after = String::new();
    for (many, has_more) in [(10, true), (10, true), (3, false)] {
        let path = format!("{LIST}?user_id={user}&limit=10{after}");
        let page = api.test().get(&path).await.ok();
        let rows = page.body["sessions"].as_array().unwrap().clone();
        assert_eq!(rows.len(), many);
        assert_eq!(page.body["has_more"], json!(has_more));
        let rows = rows.into_iter().map(|row| row["id"].clone());
        found.extend(rows);
        let last = found.last().and_then(Value::as_str).unwrap();
        after = format!("&starting_after={last}");
    }
    assert_eq!(found, ids);
    let path = format!("{LIST}?user_id={user}{after}");
    let beyond = api.test().get(&path).await.ok();
    assert_eq!(beyond.body, json!({"sessions": [], "has_more": false}));
    for (query, param) in [
        ("limit=9", "limit"),
        ("limit=101", "limit"),
        ("limit=ten", "limit"),
        ("starting_after=sess_1", "starting_after"),
    ] {
        let refused = api
            .test()
            .get(&format!("{LIST}?user_id={user}&{query}"))
            .await;
        refused.refuses(400, "invalid_field", Some(param));
    }
}

/// Signs out all users of the environment and none of another one, and only if the call explicitly says so.
async fn m_22_all_sessions_of_an_app_end_on_explicit_request(api: &Api) {
    let sessions = [
        signed_in(api, "ada@example.com").await,
        signed_in(api, "bob@example.com").await,
    ];
    let user = sessions[0].text_at("/user_id");
    let other = api.other_app().await;
    let code = sent(api, &other, "ada@example.com").await;
    let session_fields = json!({"session_expires_in": 60});
    let foreign = verified(&other, &code, session_fields).await.ok();
    for (request, param, code) in [
        (json!({"all": false}), "user_id", "missing_field"),
        (json!({"all": null}), "user_id", "missing_field"),
        (
            json!({"all": true, "user_id": user}),
            "all",
            "invalid_field",
        ),
        (json!({"all": "true"}), "all", "invalid_field"),
        (json!({"all": 1}), "all", "invalid_field"),
    ] {
        let refused = api.test().delete(DELETE_ALL, Some(request)).await;
        refused.refuses(400, code, Some(param));
    }
    let both = format!("{DELETE_ALL}?user_id={user}&all=true");
    let refused = api.test().delete(&both, None).await;
    refused.refuses(400, "invalid_field", Some("all"));
    for session in &sessions {
        let token = json!({"session_token": session.text_at("/session_token")});
        verify(api, token).await.ok();
    }
    let all = json!({"all": true, "user_id": ""});
    let ended = api.test().delete(DELETE_ALL, Some(all)).await.ok();
    assert_response_snapshot!(ended, @r#"
    {
      "body": {
        "deleted_count": 2,
        "message": "Successfully deleted all sessions",
        "user_id": ""
      },
      "status": 200
    }
    "#);
    for session in &sessions {
        for name in ["session_token", "session_jwt"] {
            let named = json!({name: session.text_at(&format!("/{name}"))});
            let refused = verify(api, named).await;
            refused.refuses(401, "invalid_session", None);
        }
    }
    let token = json!({"session_token": foreign.text_at("/session_token")});
    other.post(VERIFY, token).await.ok();
    let by_query = format!("{DELETE_ALL}?all=true");
    let ended = other.delete(&by_query, None).await.ok();
    assert_eq!(ended.body["deleted_count"], 1);
    let reader = api.new_key(Environment::Test, &[Scope::UsersWrite]).await;
    let refused = api.with_key(&reader).delete(&by_query, None).await;
    refused.refuses(403, "key_not_allowed", Some("scope"));
}

/// The claims, after another library has verified the signature against the published keys.
async fn claims(api: &Api, jwt: &str) -> Value {
    let kid = jsonwebtoken::decode_header(jwt).unwrap().kid.unwrap();
    let path = format!("/v1/auth/jwks/{}?environment=test", api.app.id);
    let set: JwkSet = serde_json::from_value(api.anonymous().get(&path).await.ok().body).unwrap();
    let key = DecodingKey::from_jwk(set.find(&kid).unwrap()).unwrap();
    let mut validation = Validation::new(Algorithm::ES256);
    validation.validate_exp = false;
    validation.set_audience(&[World::new(api.app.id, Environment::Test).to_string()]);
    validation.set_issuer(&[format!("https://id.example.com/{}", api.app.id)]);
    jsonwebtoken::decode::<Value>(jwt, &key, &validation)
        .unwrap()
        .claims
}

async fn the_jwt_verifies_against_the_key_set(api: &Api) {
    let signed_in = signed_in(api, "ada@example.com").await;
    let claims = claims(api, &signed_in.text_at("/session_jwt")).await;
    assert_eq!(claims["sub"], signed_in.body["user_id"]);
    assert_eq!(claims["jti"], signed_in.body["session"]["id"]);
    assert_eq!(claims["iat"], 1_800_000_000);
    assert_eq!(claims["exp"], 1_800_000_300);
    assert_eq!(claims["session"], signed_in.body["session"]);
    assert_eq!(
        claims["https://streambird.io/jwt/session"],
        signed_in.body["session"]
    );
    let default = api.test().get("/v1/auth/jwks/default").await.ok();
    assert_response_snapshot!(default, @r#"
    {
      "body": {
        "keys": [
          {
            "alg": "ES256",
            "crv": "P-256",
            "kid": "[jwk id]",
            "kty": "EC",
            "use": "sig",
            "x": "[32 bytes]",
            "y": "[32 bytes]"
          }
        ]
      },
      "status": 200
    }
    "#);
    let public = api
        .anonymous()
        .get(&format!("/v1/auth/jwks/{}?environment=test", api.app.id))
        .await
        .ok();
    assert_eq!(public.body, default.body);
    assert_eq!(public.header("cache-control"), Some("public, max-age=60"));
    assert!(
        !public.text.contains("\"d\""),
        "a private key: {}",
        public.text
    );
}

/// The bad-input list and attack 11: `none`, and HMAC with the public key as its secret.
async fn s_8_a_jwt_with_another_algorithm_is_refused(api: &Api) {
    let jwt = signed_in(api, "ada@example.com")
        .await
        .text_at("/session_jwt");
    let claims = claims(api, &jwt).await;
    let kid = jsonwebtoken::decode_header(&jwt).unwrap().kid;
    let public = api.test().get("/v1/auth/jwks/default").await.ok().text;
    let header = Header {
        kid: kid.clone(),
        ..Header::new(Algorithm::HS256)
    };
    let hmac = jsonwebtoken::encode(
        &header,
        &claims,
        &EncodingKey::from_secret(public.as_bytes()),
    )
    .unwrap();
    let parts: Vec<&str> = jwt.split('.').collect();
    let none = format!("eyJhbGciOiJub25lIiwidHlwIjoiSldUIn0.{}.", parts[1]);
    let (body, signature) = jwt.rsplit_once('.').unwrap();
    let first = if signature.starts_with('A') { 'B' } else { 'A' };
    let forged = format!("{body}.{first}{}", &signature[1..]);
    for jwt in [
        hmac,
        none,
        forged,
        format!("{body}."),
        body.to_owned(),
        format!("{jwt}.x"),
        format!(" {jwt}"),
    ] {
        let refused = verify(api, json!({ "session_jwt": jwt })).await;
        refused.refuses(401, "invalid_session", None);
    }
    verify(api, json!({ "session_jwt": jwt })).await.ok();
}

async fn s_13_old_tokens_verify_while_keys_rotate(api: &Api) {
    let old = signed_in(api, "ada@example.com")
        .await
        .text_at("/session_jwt");
    let world = World::new(api.app.id, Environment::Test);
    api.service
        .rotate_signing_key(Principal::cli(), world)
        .await
        .unwrap();
    // Longer than any process caches keys, and before the new key signs.
    api.pass(61);
    let keys = api.test().get("/v1/auth/jwks/default").await.ok();
    assert_eq!(
        keys.body["keys"].as_array().unwrap().len(),
        2,
        "published before it signs"
    );
    let still_old = signed_in(api, "ada@example.com")
        .await
        .text_at("/session_jwt");
    let kid = |jwt: &str| jsonwebtoken::decode_header(jwt).unwrap().kid.unwrap();
    assert_eq!(kid(&still_old), kid(&old));
    api.pass(300);
    let new = signed_in(api, "ada@example.com")
        .await
        .text_at("/session_jwt");
    assert_ne!(kid(&new), kid(&old));
    for jwt in [old, still_old, new] {
        claims(api, &jwt).await;
        verify(api, json!({ "session_jwt": jwt })).await.ok();
    }
}

async fn a_key_set_can_be_requested_by_environment(api: &Api) {
    let path = format!("/v1/auth/jwks/{}", api.app.id);
    let keys = async |query: &str| {
        let set = api.anonymous().get(&format!("{path}{query}")).await.ok();
        set.body["keys"].as_array().unwrap().clone()
    };
    let (both, test, live) = (
        keys("").await,
        keys("?environment=test").await,
        keys("?environment=live").await,
    );
    assert_eq!(both, [test.clone(), live.clone()].concat());
    assert_ne!(test, live, "S-14: the environments share no key");
    assert_eq!(keys("?environment=").await, both);
    let refused = api
        .anonymous()
        .get(&format!("{path}?environment=prod"))
        .await;
    refused.refuses(400, "invalid_field", Some("environment"));
    for id in [
        format!("app_{}", "0".repeat(27)),
        "app_x".to_owned(),
        "defaults".to_owned(),
    ] {
        let refused = api.anonymous().get(&format!("/v1/auth/jwks/{id}")).await;
        refused.refuses(404, "not_found", Some("app"));
    }
}
