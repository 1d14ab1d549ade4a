//! One-time passcodes by e-mail.

use serde_json::{Value, json};
use vestry_app::Principal;
use vestry_contract::fakes::FakeMailer;

use crate::flows::{Sent, newest_code, sent, signed_in, verified};
use crate::harness::{Api, Lane, Options, assert_response_snapshot, on_both, on_with};

const LOGIN: &str = "/v1/auth/otps/email/login_or_create";
const SEND: &str = "/v1/auth/otps/email/send";
const VERIFY: &str = "/v1/auth/otps/verify";

on_both! {
    a_code_signs_a_new_user_in
    otp_7_a_code_may_be_bound_to_its_device
    a_code_without_a_session_verifies_the_address
    send_needs_a_user
    minutes_are_whole_and_within_bounds
    a_refused_send_creates_nothing
    otp_3_to_6_wrong_expired_used_and_unknown_codes_get_one_response
    otp_4_five_wrong_attempts_void_a_code
    otp_10_too_many_sends_say_when_to_retry
    m_17_a_malformed_code_is_not_a_guess
    a_verify_names_what_it_refuses
    a_session_of_another_user_is_refused
    a_second_factor_continues_the_session
    a_live_code_goes_by_mail
}

/// Empty, letters, another length: each gets the response of a wrong code, however often. The right code stays valid, even with the spaces
/// that people type.
async fn m_17_a_malformed_code_is_not_a_guess(api: &Api) {
    let code = sent(api, &api.test(), "ada@example.com").await;
    let client = api.test().header("X-Request-Id", "one");
    for otp in [
        "",
        "   ",
        "12345",
        "1234567",
        "123456789",
        "abcdef",
        "123-456",
    ] {
        for _ in 0..5 {
            let request = json!({"method_id": code.method_id, "otp": otp});
            client
                .post(VERIFY, request)
                .await
                .refuses(400, "invalid_otp", None);
        }
    }
    let (front, back) = code.code.split_at(3);
    let request = json!({"method_id": code.method_id, "otp": format!(" {front} {back}\n")});
    client.post(VERIFY, request).await.ok();
}

/// As far as the App requires: nothing, the address, the user agent, or both.
async fn otp_7_a_code_may_be_bound_to_its_device(api: &Api) {
    let (here, there) = ("203.0.113.7", "198.51.100.1");
    let device = |ip: &str, agent: &str| json!({"ip": ip, "user_agent": agent});
    for (rule, ip, agent, fits) in [
        ("off", there, "Other", true),
        ("ip", here, "Other", true),
        ("ip", there, "Own", false),
        ("user_agent", there, "Own", true),
        ("user_agent", here, "Other", false),
        ("ip_and_user_agent", here, "Own", true),
        ("ip_and_user_agent", here, "Other", false),
    ] {
        let bound = [("device_fingerprint_match".to_owned(), rule.to_owned())];
        api.service
            .set_app(Principal::cli(), api.app.id, &bound)
            .await
            .unwrap();
        api.pass(3_600);
        let path = "/v1/auth/otps/email/login_or_create";
        let request = json!({
            "email": "ada@example.com", "expires_in": 10, "device_fingerprint": device(here, "Own"),
        });
        let sent = api.test().post(path, request).await.ok();
        api.deliver().await;
        let sent = Sent {
            user_id: sent.text_at("/user_id"),
            method_id: sent.text_at("/email_id"),
            code: newest_code(&api.test(), "ada@example.com").await,
        };
        let further = json!({"device_fingerprint": device(ip, agent)});
        let response = verified(&api.test(), &sent, further).await;
        if fits {
            response.ok();
        } else {
            response.refuses(400, "invalid_otp", None);
        }
    }
}

async fn a_code_signs_a_new_user_in(api: &Api) {
    let request = json!({"email": "Ada@example.com", "expires_in": 5});
    let sent = api.test().post(LOGIN, request).await.ok();
    assert_response_snapshot!(sent, @r#"
    {
      "body": {
        "email_id": "[email id]",
        "status": "pending",
        "user_created": true,
        "user_id": "[user id]"
      },
      "status": 200
    }
    "#);
    api.deliver().await;
    let messages = api.test().get("/v1/test/messages").await.ok();
    let message = &messages.body["messages"][0];
    assert_eq!(message["to"], "Ada@example.com");
    let code = message["code"].as_str().unwrap();
    assert!(
        code.len() == 6 && code.bytes().all(|byte| byte.is_ascii_digit()),
        "{code}"
    );
    let request = json!({
        "method_id": sent.body["email_id"], "otp": code, "session_expires_in": 60,
        "device_fingerprint": {"ip": "203.0.113.7", "user_agent": "Mozilla/5.0"},
    });
    let verified = api.test().post(VERIFY, request).await.ok();
    assert_response_snapshot!(verified, @r#"
    {
      "body": {
        "method_id": "[email id]",
        "method_type": "email",
        "session": {
          "created_at": 1800000000,
          "deleted": false,
          "deleted_at": 0,
          "device_fingerprint": {
            "ip": "203.0.113.7",
            "user_agent": "Mozilla/5.0"
          },
          "expires_at": 1800003600,
          "factors": [
            {
              "delivery_channel": "email",
              "method": {
                "email": "Ada@example.com",
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
        "session_token": "[session token]",
        "user_id": "[user id]"
      },
      "status": 200
    }
    "#);
    // After the address is proved, the user is let in.
    let user = api
        .test()
        .get(&format!("/v1/auth/users/{}", sent.text_at("/user_id")))
        .await
        .ok();
    assert_eq!(user.body["status"], "active");
    assert_eq!(user.body["emails"][0]["verified"], true);
    let again = api
        .test()
        .post(LOGIN, json!({"email": "ada@EXAMPLE.com"}))
        .await
        .ok();
    assert_eq!(again.body["user_id"], sent.body["user_id"]);
    assert_eq!(again.body["user_created"], false);
    assert_eq!(again.body["status"], "active");
}

async fn a_code_without_a_session_verifies_the_address(api: &Api) {
    let code = sent(api, &api.test(), "ada@example.com").await;
    let verified = verified(&api.test(), &code, json!({})).await.ok();
    assert_response_snapshot!(verified, @r#"
    {
      "body": {
        "method_id": "[email id]",
        "method_type": "email",
        "session": null,
        "session_jwt": "",
        "session_token": "",
        "user_id": "[user id]"
      },
      "status": 200
    }
    "#);
}

async fn send_needs_a_user(api: &Api) {
    let request = json!({"email": "ada@example.com"});
    let refused = api.test().post(SEND, request.clone()).await;
    refused.refuses(404, "not_found", Some("email"));
    let created = api
        .test()
        .post("/v1/auth/users/create", request.clone())
        .await
        .ok();
    let sent = api.test().post(SEND, request).await.ok();
    assert_response_snapshot!(sent, @r#"
    {
      "body": {
        "email_id": "[email id]",
        "user_id": "[user id]"
      },
      "status": 200
    }
    "#);
    assert_eq!(sent.body["email_id"], created.body["email_id"]);
    assert_eq!(sent.body["user_id"], created.body["user_id"]);
    api.deliver().await;
    let code = newest_code(&api.test(), "ada@example.com").await;
    let code = Sent {
        user_id: sent.text_at("/user_id"),
        method_id: sent.text_at("/email_id"),
        code,
    };
    verified(&api.test(), &code, json!({})).await.ok();
}

/// The bad-input list: `expires_in` 0, 11, 1.5 and "3".
async fn minutes_are_whole_and_within_bounds(api: &Api) {
    api.test()
        .post("/v1/auth/users/create", json!({"email": "ada@example.com"}))
        .await
        .ok();
    for path in [LOGIN, SEND] {
        for minutes in [
            json!(0),
            json!(11),
            json!(1.5),
            json!("3"),
            json!(-1),
            json!(true),
            json!([5]),
            json!(u64::MAX),
        ] {
            let request = json!({"email": "ada@example.com", "expires_in": minutes});
            api.test()
                .post(path, request)
                .await
                .refuses(400, "invalid_field", Some("expires_in"));
        }
    }
    assert_eq!(mailed(api).await, 0);
    for minutes in [json!(1), json!(10.0), Value::Null] {
        let request = json!({"email": "ada@example.com", "expires_in": minutes});
        api.test().post(LOGIN, request).await.ok();
        api.deliver().await;
        api.pass(20);
    }
    assert_eq!(mailed(api).await, 3);
}

async fn a_refused_send_creates_nothing(api: &Api) {
    let long = format!("{}@example.com", "a".repeat(300));
    let cases = [
        (json!({}), "missing_field", "email"),
        (json!({"email": null}), "missing_field", "email"),
        (json!({"email": ""}), "invalid_field", "email"),
        (json!({"email": "ada"}), "invalid_field", "email"),
        (json!({"email": long}), "invalid_field", "email"),
        (
            json!({"email": "a\u{0}@example.com"}),
            "invalid_field",
            "email",
        ),
        (
            json!({"email": "ada@example.com", "device_fingerprint": "x"}),
            "invalid_field",
            "device_fingerprint",
        ),
        (
            json!({"email": "ada@example.com", "device_fingerprint": {"ip": 7}}),
            "invalid_field",
            "device_fingerprint.ip",
        ),
        (
            json!({"email": "ada@example.com", "device_fingerprint": {"ip": "a".repeat(1025)}}),
            "invalid_field",
            "device_fingerprint.ip",
        ),
        (
            json!({"email": "ada@example.com", "device_fingerprint": {"user_agent": "a\nb"}}),
            "invalid_field",
            "device_fingerprint.user_agent",
        ),
    ];
    for path in [LOGIN, SEND] {
        for (request, code, param) in &cases {
            api.test()
                .post(path, request.clone())
                .await
                .refuses(400, code, Some(param));
        }
    }
    let refused = api
        .test()
        .post(
            LOGIN,
            json!({"email": "ada@example.com", "requires_verification": "yes"}),
        )
        .await;
    refused.refuses(400, "invalid_field", Some("requires_verification"));
    assert_eq!(mailed(api).await, 0);
    let first = api
        .test()
        .post(LOGIN, json!({"email": "ada@example.com"}))
        .await
        .ok();
    assert_eq!(first.body["user_created"], true);
}

/// One and the same response, byte for byte, so that it reveals nothing (OTP-3, OTP-6, OTP-7).
async fn otp_3_to_6_wrong_expired_used_and_unknown_codes_get_one_response(api: &Api) {
    let same_id = api.test().header("X-Request-Id", "one");
    let mut responses = Vec::new();
    let wrong = sent(api, &api.test(), "wrong.digits@example.com").await;
    let digits = if wrong.code == "123456" {
        "654321"
    } else {
        "123456"
    };
    for otp in [
        digits,
        "",
        "12345",
        "1234567",
        "abcdef",
        " 123456",
        "１２３４５６",
    ] {
        let code = Sent {
            code: otp.to_owned(),
            ..sent(
                api,
                &api.test(),
                &format!("{}@example.com", responses.len()),
            )
            .await
        };
        responses.push(verified(&same_id, &code, json!({})).await);
    }
    let used = sent(api, &api.test(), "used@example.com").await;
    verified(&api.test(), &used, json!({})).await.ok();
    responses.push(verified(&same_id, &used, json!({})).await);
    let replaced = sent(api, &api.test(), "replaced@example.com").await;
    let replacing = sent(api, &api.test(), "replaced@example.com").await;
    if replaced.code != replacing.code {
        responses.push(verified(&same_id, &replaced, json!({})).await);
    }
    let expired = sent(api, &api.test(), "expired.code@example.com").await;
    api.pass(600);
    responses.push(verified(&same_id, &expired, json!({})).await);
    let absent = Sent {
        method_id: format!("email_{}", "0".repeat(27)),
        ..used
    };
    responses.push(verified(&same_id, &absent, json!({})).await);
    let phone = Sent {
        method_id: format!("pn_{}", "0".repeat(27)),
        ..absent
    };
    responses.push(verified(&same_id, &phone, json!({})).await);
    assert!(responses.len() >= 11, "{}", responses.len());
    for response in &responses {
        assert_eq!((response.status, &response.text), (400, &responses[0].text));
    }
    assert_response_snapshot!(responses[0], @r#"
    {
      "body": {
        "error": {
          "code": "invalid_otp",
          "message": "the code is wrong, expired or already used; send a new one"
        },
        "error_message": "the code is wrong, expired or already used; send a new one",
        "error_type": "invalid_otp",
        "request_id": "one",
        "status_code": 400
      },
      "status": 400
    }
    "#);
}

async fn otp_4_five_wrong_attempts_void_a_code(api: &Api) {
    let code = sent(api, &api.test(), "ada@example.com").await;
    let wrong = if code.code == "123456" {
        "654321"
    } else {
        "123456"
    };
    for _ in 0..5 {
        let request = json!({"method_id": code.method_id, "otp": wrong});
        api.test()
            .post(VERIFY, request)
            .await
            .refuses(400, "invalid_otp", None);
    }
    verified(&api.test(), &code, json!({}))
        .await
        .refuses(400, "invalid_otp", None);
}

async fn otp_10_too_many_sends_say_when_to_retry(api: &Api) {
    let request = json!({"email": "ada@example.com"});
    // Five, and one beyond the limit (M-5).
    for _ in 0..6 {
        api.test().post(LOGIN, request.clone()).await.ok();
        api.pass(20);
    }
    let refused = api.test().post(LOGIN, request.clone()).await;
    refused.refuses(429, "too_many_attempts", None);
    assert_eq!(refused.header("retry-after"), Some("480"));
    assert_response_snapshot!(refused, @r#"
    {
      "body": {
        "error": {
          "code": "too_many_attempts",
          "message": "too many attempts; wait before the next one"
        },
        "error_message": "too many attempts; wait before the next one",
        "error_type": "too_many_attempts",
        "request_id": "[request id]",
        "status_code": 429
      },
      "status": 429
    }
    "#);
    api.pass(480);
    api.test().post(LOGIN, request).await.ok();
}

async fn a_verify_names_what_it_refuses(api: &Api) {
    let code = sent(api, &api.test(), "ada@example.com").await;
    let (id, otp) = (&code.method_id, &code.code);
    let cases = [
        (json!({}), "missing_field", "method_id"),
        (json!({"otp": otp}), "missing_field", "method_id"),
        (json!({"method_id": id}), "missing_field", "otp"),
        (
            json!({"method_id": "ada@example.com", "otp": otp}),
            "invalid_field",
            "method_id",
        ),
        (
            json!({"method_id": "user_000000000000000000000000000", "otp": otp}),
            "invalid_field",
            "method_id",
        ),
        (
            json!({"method_id": id, "otp": 123_456}),
            "invalid_field",
            "otp",
        ),
        (
            json!({"method_id": id, "otp": "\u{0}"}),
            "invalid_field",
            "otp",
        ),
        (
            json!({"method_id": id, "otp": otp, "session_expires_in": 4}),
            "invalid_field",
            "session_expires_in",
        ),
        (
            json!({"method_id": id, "otp": otp, "session_expires_in": 525_601}),
            "invalid_field",
            "session_expires_in",
        ),
        (
            json!({"method_id": id, "otp": otp, "session_expires_in": "60"}),
            "invalid_field",
            "session_expires_in",
        ),
        (
            json!({"method_id": id, "otp": otp, "session_expires_in": 60.5}),
            "invalid_field",
            "session_expires_in",
        ),
        (
            json!({"method_id": id, "otp": otp, "session_token": 1}),
            "invalid_field",
            "session_token",
        ),
        (
            json!({"method_id": id, "otp": otp, "session_jwt": {}}),
            "invalid_field",
            "session_jwt",
        ),
        (
            json!({"method_id": id, "otp": otp, "device_fingerprint": []}),
            "invalid_field",
            "device_fingerprint",
        ),
    ];
    for (request, code, param) in cases {
        api.test()
            .post(VERIFY, request)
            .await
            .refuses(400, code, Some(param));
    }
    // None of it has cost an attempt, let alone the code.
    verified(&api.test(), &code, json!({})).await.ok();
}

/// Attack 13: a session of another user, environment or App is never upgraded, and the attempt does not cost the code.
async fn a_session_of_another_user_is_refused(api: &Api) {
    let eve = signed_in(api, "eve@example.com").await;
    let ended = signed_in(api, "ended@example.com").await;
    let token = json!({"session_token": ended.body["session_token"]});
    api.test()
        .delete("/v1/auth/sessions/delete", Some(token))
        .await
        .ok();
    let code = sent(api, &api.test(), "ada@example.com").await;
    let sessions = [
        json!({"session_token": eve.body["session_token"]}),
        json!({"session_jwt": eve.body["session_jwt"]}),
        json!({"session_token": ended.body["session_token"]}),
        json!({"session_jwt": ended.body["session_jwt"]}),
        json!({"session_token": "a".repeat(64)}),
        json!({"session_jwt": "a.b.c"}),
    ];
    for session in sessions {
        let refused = verified(&api.test(), &code, session).await;
        refused.refuses(401, "invalid_session", None);
    }
    let ada = verified(&api.test(), &code, json!({"session_expires_in": 60}))
        .await
        .ok();
    let code = sent(api, &api.test(), "ada@example.com").await;
    let two =
        json!({"session_token": ada.body["session_token"], "session_jwt": eve.body["session_jwt"]});
    verified(&api.test(), &code, two)
        .await
        .refuses(400, "invalid_field", Some("session_jwt"));
}

/// S-2: the same session, a fresh token, and the old one is void.
async fn a_second_factor_continues_the_session(api: &Api) {
    let first = signed_in(api, "ada@example.com").await;
    api.pass(100);
    let code = sent(api, &api.test(), "ada@example.com").await;
    let further = json!({"session_token": first.body["session_token"], "session_expires_in": 5});
    let second = verified(&api.test(), &code, further).await.ok();
    let (old, new) = (&first.body["session"], &second.body["session"]);
    assert_eq!(new["id"], old["id"]);
    assert_eq!(new["started_at"], old["started_at"]);
    assert_eq!(new["expires_at"], 1_800_000_100 + 5 * 60);
    assert_ne!(second.body["session_token"], first.body["session_token"]);
    let check = async |token: &Value| {
        let request = json!({"session_token": token});
        api.test().post("/v1/auth/sessions/verify", request).await
    };
    check(&first.body["session_token"])
        .await
        .refuses(401, "invalid_session", None);
    check(&second.body["session_token"]).await.ok();
}

/// A live key sends, and returns none of it (S-17).
async fn a_live_code_goes_by_mail(api: &Api) {
    let request = json!({"email": "ok@vestry.test", "expires_in": 10});
    let sent = api.live().post(LOGIN, request).await.ok();
    api.deliver().await;
    let code = last_code(&api.mailer);
    let request =
        json!({"method_id": sent.body["email_id"], "otp": code, "session_expires_in": 60});
    api.live().post(VERIFY, request).await.ok();
    let messages = api.test().get("/v1/test/messages").await.ok();
    assert_eq!(messages.body["messages"], json!([]));
}

fn last_code(mailer: &FakeMailer) -> String {
    mailer.sent().pop().unwrap().1.code
}

/// OPS-9: live mail without a transport is refused at once and creates nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn live_mail_without_a_transport_is_unavailable() {
    let options = Options {
        has_mailer: false,
        ..Options::default()
    };
    on_with(Lane::Sqlite, options, async |api| {
        let request = json!({"email": "ada@example.com"});
        let refused = api.live().post(LOGIN, request.clone()).await;
        refused.refuses(503, "unavailable", None);
        assert_response_snapshot!(refused, @r#"
        {
          "body": {
            "error": {
              "code": "unavailable",
              "message": "temporarily unavailable; try again"
            },
            "error_message": "temporarily unavailable; try again",
            "error_type": "unavailable",
            "request_id": "[request id]",
            "status_code": 503
          },
          "status": 503
        }
        "#);
        let created = api
            .live()
            .post("/v1/auth/users/create", request.clone())
            .await;
        created.ok();
        api.test().post(LOGIN, request).await.ok();
    })
    .await;
}

async fn mailed(api: &Api) -> usize {
    api.deliver().await;
    let messages = api.test().get("/v1/test/messages").await.ok();
    messages.body["messages"].as_array().unwrap().len()
}
