//! Authenticator apps over HTTP.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use vestry_domain::totp;

use crate::flows::signed_in;
use crate::harness::{Api, Response, START, assert_response_snapshot, on_both};

const CREATE: &str = "/v1/auth/totps/create";
const VERIFY: &str = "/v1/auth/totps/verify";
const RECOVERY: &str = "/v1/auth/totps/recovery";
const CODES: &str = "/v1/auth/totps/recovery_codes";

on_both! {
    an_authenticator_app_is_created_verified_and_shown
    a_recovery_code_replaces_the_app
    the_second_factor_joins_a_session
    requests_are_checked_field_by_field
    wrong_used_and_absent_codes_get_one_response
    guesses_cause_a_lockout
    it_is_deleted_by_its_own_environment
    foreign_users_do_not_exist
}

/// A user with an address.
pub(crate) async fn user(api: &Api) -> String {
    let request = json!({"email": "ada@example.com"});
    let created = api.test().post("/v1/auth/users/create", request).await.ok();
    created.text_at("/user_id")
}

async fn created(api: &Api, user: &str) -> Response {
    let created = api.test().post(CREATE, json!({"user_id": user})).await;
    created.ok()
}

/// The code that the authenticator app shows this many seconds after the start of the test.
pub(crate) fn shown(created: &Response, after: i64) -> String {
    let secret = created.text_at("/secret");
    let seed = data_encoding::BASE32_NOPAD
        .decode(secret.as_bytes())
        .unwrap();
    let step = (START.unix() + after).div_euclid(30);
    totp::code_at(&seed, step).expose().clone()
}

/// A TOTP whose first code was verified. The next step has begun.
pub(crate) async fn verified(api: &Api, user: &str) -> Response {
    let created = created(api, user).await;
    let request = json!({"user_id": user, "totp": shown(&created, 0)});
    api.test().post(VERIFY, request).await.ok();
    api.pass(30);
    created
}

async fn an_authenticator_app_is_created_verified_and_shown(api: &Api) {
    let user = user(api).await;
    let request = json!({"user_id": user, "expires_in": 5});
    let created = api.test().post(CREATE, request).await.ok();
    let mut shape: Vec<_> = created.body.as_object().unwrap().keys().collect();
    shape.sort();
    assert_eq!(
        shape,
        [
            "qr_base64",
            "recovery_codes",
            "secret",
            "totp_id",
            "user_id"
        ]
    );
    assert_eq!(created.body["user_id"], user.as_str());
    let codes = created.body["recovery_codes"].as_array().unwrap();
    assert_eq!(codes.len(), 16);
    for code in codes {
        let (front, back) = code.as_str().unwrap().split_once('-').unwrap();
        for half in [front, back] {
            assert_eq!(half.len(), 5, "{code}");
            let is_ours = |byte: u8| byte.is_ascii_digit() || byte.is_ascii_lowercase();
            assert!(half.bytes().all(is_ours), "{code}");
        }
    }
    let picture = STANDARD.decode(created.text_at("/qr_base64")).unwrap();
    assert!(picture.starts_with(b"\x89PNG\r\n\x1a\n"));

    let waiting = api.test().get(&format!("/v1/auth/users/{user}")).await.ok();
    assert_eq!(waiting.body["totps"][0]["verified"], false);
    api.pass(7);
    let request = json!({
        "user_id": user, "totp": shown(&created, 7), "session_expires_in": 60,
        "device_fingerprint": {"ip": "203.0.113.7", "user_agent": "Mozilla/5.0"},
    });
    let verified = api.test().post(VERIFY, request).await.ok();
    assert_response_snapshot!(verified, @r#"
    {
      "body": {
        "session": {
          "created_at": 1800000007,
          "deleted": false,
          "deleted_at": 0,
          "device_fingerprint": {
            "ip": "203.0.113.7",
            "user_agent": "Mozilla/5.0"
          },
          "expires_at": 1800003607,
          "factors": [
            {
              "delivery_channel": "totp_authenticator",
              "method": {
                "last_verified_at": 1800000007,
                "method_id": "[totp id]",
                "method_type": "totp",
                "totp_id": "[totp id]"
              },
              "type": "totp"
            }
          ],
          "id": "[sess id]",
          "last_active_at": 1800000007,
          "permissions": [],
          "started_at": 1800000007,
          "updated_at": 1800000007,
          "user_id": "[user id]"
        },
        "session_jwt": "[jwt]",
        "session_token": "[session token]",
        "totp_id": "[totp id]",
        "user_id": "[user id]"
      },
      "status": 200
    }
    "#);
    let shown = api.test().get(&format!("/v1/auth/users/{user}")).await.ok();
    let mut totps = shown;
    totps.body = totps.body["totps"].clone();
    assert_response_snapshot!(totps, @r#"
    {
      "body": [
        {
          "created_at": 1800000000,
          "id": "[totp id]",
          "updated_at": 1800000007,
          "user_id": "[user id]",
          "verified": true
        }
      ],
      "status": 200
    }
    "#);
}

async fn a_recovery_code_replaces_the_app(api: &Api) {
    let user = user(api).await;
    let created = verified(api, &user).await;
    let code = created.text_at("/recovery_codes/3");
    let request = json!({"user_id": user, "recovery_code": code, "session_expires_in": 60});
    let recovered = api.test().post(RECOVERY, request.clone()).await.ok();
    assert_response_snapshot!(recovered, @r#"
    {
      "body": {
        "session": {
          "created_at": 1800000030,
          "deleted": false,
          "deleted_at": 0,
          "device_fingerprint": {
            "ip": "",
            "user_agent": ""
          },
          "expires_at": 1800003630,
          "factors": [
            {
              "delivery_channel": "totp_recovery_code",
              "method": {
                "last_verified_at": 1800000030,
                "method_id": "[totp id]",
                "method_type": "totp",
                "totp_id": "[totp id]"
              },
              "type": "totp"
            }
          ],
          "id": "[sess id]",
          "last_active_at": 1800000030,
          "permissions": [],
          "started_at": 1800000030,
          "updated_at": 1800000030,
          "user_id": "[user id]"
        },
        "session_jwt": "[jwt]",
        "session_token": "[session token]",
        "totp_id": "[totp id]",
        "user_id": "[user id]"
      },
      "status": 200
    }
    "#);
    let again = api.test().post(RECOVERY, request).await;
    again.refuses(400, "invalid_otp", None);
    let left = api.test().post(CODES, json!({"user_id": user})).await.ok();
    let mut expected = created.body["recovery_codes"].clone();
    expected.as_array_mut().unwrap().remove(3);
    assert_eq!(
        left.body,
        json!({"user_id": user, "totps": [
            {"id": created.body["totp_id"], "verified": true, "recovery_codes": expected},
        ]})
    );
    // Under the other name that the field has.
    let request = json!({"user_id": user, "totp": created.text_at("/recovery_codes/5")});
    let by_name = api.test().post(RECOVERY, request.clone()).await.ok();
    assert_eq!(by_name.body["totp_id"], created.body["totp_id"]);
    let again = api.test().post(RECOVERY, request).await;
    again.refuses(400, "invalid_otp", None);
    // A code of the authenticator app instead of a recovery code.
    let request = json!({"user_id": user, "totp": shown(&created, 30)});
    let verified = api.test().post(RECOVERY, request).await.ok();
    assert_eq!(verified.body["totp_id"], created.body["totp_id"]);
    assert_eq!(verified.body["session"], Value::Null);
    assert_eq!(verified.body["session_token"], "");
    assert_eq!(verified.body["session_jwt"], "");
}

async fn the_second_factor_joins_a_session(api: &Api) {
    let first = signed_in(api, "ada@example.com").await;
    let user = first.text_at("/user_id");
    let created = created(api, &user).await;
    let request = json!({
        "user_id": user, "totp": shown(&created, 0), "session_token": first.body["session_token"],
    });
    let second = api.test().post(VERIFY, request).await.ok();
    assert_eq!(second.body["session"]["id"], first.body["session"]["id"]);
    assert_ne!(second.body["session_token"], first.body["session_token"]);
    let kinds: Vec<_> = second.body["session"]["factors"]
        .as_array()
        .unwrap()
        .iter()
        .map(|factor| (factor["type"].clone(), factor["delivery_channel"].clone()))
        .collect();
    assert_eq!(
        kinds,
        [
            (json!("otp"), json!("email")),
            (json!("totp"), json!("totp_authenticator"))
        ]
    );
    let old = json!({"session_token": first.body["session_token"]});
    let old = api.test().post("/v1/auth/sessions/verify", old).await;
    old.refuses(401, "invalid_session", None);
    // Another user's session cannot be used for it.
    let other = signed_in(api, "bob@example.com").await;
    api.pass(30);
    let request = json!({
        "user_id": user, "totp": shown(&created, 30), "session_token": other.body["session_token"],
    });
    let refused = api.test().post(VERIFY, request).await;
    refused.refuses(401, "invalid_session", None);
}

async fn requests_are_checked_field_by_field(api: &Api) {
    let user = user(api).await;
    for path in [CREATE, VERIFY, RECOVERY, CODES] {
        let without = json!({"totp": "123456"});
        let refused = api.test().post(path, without).await;
        refused.refuses(400, "missing_field", Some("user_id"));
        for odd in [json!(7), json!(""), json!("user_1"), json!("app_x")] {
            let request = json!({"user_id": odd, "totp": "123456"});
            let refused = api.test().post(path, request).await;
            refused.refuses(400, "invalid_field", Some("user_id"));
        }
    }
    for minutes in [json!(4), json!(2161), json!(5.5), json!("30"), json!(-1)] {
        let request = json!({"user_id": user, "expires_in": minutes});
        let refused = api.test().post(CREATE, request).await;
        refused.refuses(400, "invalid_field", Some("expires_in"));
    }
    for minutes in [json!(5), json!(2160), Value::Null] {
        let request = json!({"user_id": user, "expires_in": minutes});
        api.test().post(CREATE, request).await.ok();
    }
    let refused = api.test().post(VERIFY, json!({"user_id": user})).await;
    refused.refuses(400, "missing_field", Some("totp"));
    let refused = api.test().post(RECOVERY, json!({"user_id": user})).await;
    refused.refuses(400, "missing_field", Some("recovery_code"));
    let both = json!({"user_id": user, "totp": "123456", "recovery_code": "aaaaa-aaaaa"});
    let refused = api.test().post(RECOVERY, both).await;
    refused.refuses(400, "invalid_field", Some("totp"));
    for path in [VERIFY, RECOVERY] {
        for (name, odd) in [
            ("totp", json!(123_456)),
            ("session_expires_in", json!(4)),
            ("session_expires_in", json!(525_601)),
            ("device_fingerprint", json!("x")),
        ] {
            let mut request = json!({"user_id": user, "totp": "123456"});
            request[name] = odd;
            let refused = api.test().post(path, request).await;
            refused.refuses(400, "invalid_field", Some(name));
        }
        let request = json!({"user_id": user, "totp": "123456", "session_token": "x"});
        let refused = api.test().post(path, request).await;
        refused.refuses(401, "invalid_session", None);
    }
}

/// One response, byte for byte, so that it reveals nothing (OTP-12).
async fn wrong_used_and_absent_codes_get_one_response(api: &Api) {
    let user = user(api).await;
    let created = verified(api, &user).await;
    let without = json!({"email": "bob@example.com"});
    let without = api.test().post("/v1/auth/users/create", without).await.ok();
    let client = api.test().header("X-Request-Id", "one");
    let mut responses = Vec::new();
    for request in [
        json!({"user_id": user, "totp": shown(&created, 0)}),
        json!({"user_id": user, "totp": "000000"}),
        json!({"user_id": user, "totp": "not digits"}),
        json!({"user_id": without.body["user_id"], "totp": "000000"}),
    ] {
        responses.push(client.post(VERIFY, request.clone()).await);
        responses.push(client.post(RECOVERY, request).await);
    }
    let nothing = json!({"user_id": user, "totp": ""});
    responses.push(client.post(VERIFY, nothing).await);
    for code in ["aaaaa-aaaaa", "x"] {
        let request = json!({"user_id": user, "recovery_code": code});
        responses.push(client.post(RECOVERY, request).await);
    }
    for response in &responses {
        response.refuses(400, "invalid_otp", None);
        assert_eq!(response.text, responses[0].text);
    }
}

async fn guesses_cause_a_lockout(api: &Api) {
    let user = user(api).await;
    let created = verified(api, &user).await;
    let guess = json!({"user_id": user, "totp": "271828"});
    for _ in 0..20 {
        let refused = api.test().post(VERIFY, guess.clone()).await;
        refused.refuses(400, "invalid_otp", None);
    }
    let right = json!({"user_id": user, "totp": shown(&created, 30)});
    let waits = api.test().post(VERIFY, right).await;
    waits.refuses(429, "too_many_attempts", None);
    assert_eq!(waits.header("retry-after"), Some("60"));
}

async fn it_is_deleted_by_its_own_environment(api: &Api) {
    let user = user(api).await;
    let created = verified(api, &user).await;
    let path = format!(
        "/v1/auth/users/totps/{}/delete",
        created.text_at("/totp_id")
    );
    for stranger in [api.live(), api.other_app().await] {
        let refused = stranger.delete(&path, None).await;
        refused.refuses(404, "not_found", Some("totp"));
    }
    let deleted = api.test().delete(&path, None).await.ok();
    assert_response_snapshot!(deleted, @r#"
    {
      "body": {
        "message": "Successfully deleted user totp",
        "user_id": "[user id]"
      },
      "status": 200
    }
    "#);
    assert_eq!(deleted.body["user_id"], user.as_str());
    let again = api.test().delete(&path, None).await;
    again.refuses(404, "not_found", Some("totp"));
    let odd = "/v1/auth/users/totps/anything/delete";
    let odd = api.test().delete(odd, None).await;
    odd.refuses(404, "not_found", Some("totp"));
    let shown = api.test().get(&format!("/v1/auth/users/{user}")).await.ok();
    assert_eq!(shown.body["totps"], json!([]));
}

async fn foreign_users_do_not_exist(api: &Api) {
    let user = user(api).await;
    let created = verified(api, &user).await;
    for stranger in [api.live(), api.other_app().await] {
        for (path, request) in [
            (CREATE, json!({"user_id": user})),
            (
                VERIFY,
                json!({"user_id": user, "totp": shown(&created, 30)}),
            ),
            (
                RECOVERY,
                json!({"user_id": user, "recovery_code": created.body["recovery_codes"][0]}),
            ),
            (CODES, json!({"user_id": user})),
        ] {
            let refused = stranger.post(path, request).await;
            refused.refuses(404, "not_found", Some("user"));
        }
    }
}
