//! One-time passcodes by text message.

use serde_json::{Value, json};

use crate::flows::{Sent, newest_code, verified};
use crate::harness::{Api, Lane, Options, assert_response_snapshot, on_both, on_with};
use vestry_app::Principal;

const LOGIN: &str = "/v1/auth/otps/sms/login_or_create";
const SEND: &str = "/v1/auth/otps/sms/send";
const ADA: &str = "+14155552671";

on_both! {
    a_text_signs_a_new_user_in
    send_needs_a_user
    a_refused_send_names_the_field_and_creates_nothing
    reserved_numbers_work_with_test_keys_only
    otp_10_too_many_texts_say_when_to_retry
    attack_9_with_enumeration_safe_no_user_can_be_distinguished
    attack_25_a_number_of_another_app_is_unknown
    a_live_code_goes_to_the_provider
}

async fn a_text_signs_a_new_user_in(api: &Api) {
    let request = json!({"phone_number": ADA, "expires_in": 5});
    let sent = api.test().post(LOGIN, request).await.ok();
    assert_response_snapshot!(sent, @r#"
    {
      "body": {
        "phone_number_id": "[pn id]",
        "status": "pending",
        "user_created": true,
        "user_id": "[user id]"
      },
      "status": 200
    }
    "#);
    api.deliver().await;
    let messages = api
        .test()
        .get("/v1/test/messages?to=%2B14155552671")
        .await
        .ok();
    let message = &messages.body["messages"][0];
    assert_eq!(
        (&message["channel"], &message["kind"]),
        (&json!("sms"), &json!("otp"))
    );
    let code = Sent {
        user_id: sent.text_at("/user_id"),
        method_id: sent.text_at("/phone_number_id"),
        code: newest_code(&api.test(), ADA).await,
    };
    let verified = verified(&api.test(), &code, json!({"session_expires_in": 60}))
        .await
        .ok();
    assert_response_snapshot!(verified, @r#"
    {
      "body": {
        "method_id": "[pn id]",
        "method_type": "phone_number",
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
              "delivery_channel": "sms",
              "method": {
                "last_verified_at": 1800000000,
                "method_id": "[pn id]",
                "method_type": "phone_number",
                "phone_number": "+14155552671",
                "phone_number_id": "[pn id]"
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
    let again = api
        .test()
        .post(LOGIN, json!({"phone_number": ADA}))
        .await
        .ok();
    assert_eq!(again.body["user_id"], sent.body["user_id"]);
    assert_eq!(again.body["user_created"], false);
    assert_eq!(again.body["status"], "active");
}

async fn send_needs_a_user(api: &Api) {
    let request = json!({"phone_number": ADA});
    let refused = api.test().post(SEND, request.clone()).await;
    refused.refuses(404, "not_found", Some("phone_number"));
    let created = api.test().post(LOGIN, request.clone()).await.ok();
    let sent = api.test().post(SEND, request).await.ok();
    assert_response_snapshot!(sent, @r#"
    {
      "body": {
        "phone_number_id": "[pn id]",
        "user_id": "[user id]"
      },
      "status": 200
    }
    "#);
    assert_eq!(sent.body["user_id"], created.body["user_id"]);
}

/// Bounds of every field, in both calls, including OTP-11.
async fn a_refused_send_names_the_field_and_creates_nothing(api: &Api) {
    let cases: Vec<(Value, &str, &str)> = vec![
        (json!({}), "missing_field", "phone_number"),
        (
            json!({"phone_number": null}),
            "missing_field",
            "phone_number",
        ),
        (json!({"phone_number": ""}), "invalid_field", "phone_number"),
        (
            json!({"phone_number": 14_155_552_671_i64}),
            "invalid_field",
            "phone_number",
        ),
        (
            json!({"phone_number": "4155552671"}),
            "invalid_field",
            "phone_number",
        ),
        (
            json!({"phone_number": "+1 415 555 2671"}),
            "invalid_field",
            "phone_number",
        ),
        (
            json!({"phone_number": "+18007233456"}),
            "invalid_field",
            "phone_number",
        ),
        (
            json!({"phone_number": ADA, "expires_in": 0}),
            "invalid_field",
            "expires_in",
        ),
        (
            json!({"phone_number": ADA, "expires_in": 11}),
            "invalid_field",
            "expires_in",
        ),
        (
            json!({"phone_number": ADA, "expires_in": "5"}),
            "invalid_field",
            "expires_in",
        ),
        (
            json!({"phone_number": ADA, "device_fingerprint": []}),
            "invalid_field",
            "device_fingerprint",
        ),
    ];
    for path in [LOGIN, SEND] {
        for (request, code, param) in &cases {
            let refused = api.test().post(path, request.clone()).await;
            refused.refuses(400, code, Some(param));
        }
    }
    let request = json!({"phone_number": ADA, "requires_verification": "yes"});
    let refused = api.test().post(LOGIN, request).await;
    refused.refuses(400, "invalid_field", Some("requires_verification"));
    let unknown = api.test().post(SEND, json!({"phone_number": ADA})).await;
    unknown.refuses(404, "not_found", Some("phone_number"));
}

/// OPS-12.
async fn reserved_numbers_work_with_test_keys_only(api: &Api) {
    for (number, taken) in [
        ("+15005550006", true),
        ("+15005550001", false),
        ("+15005550002", false),
    ] {
        let sent = api
            .test()
            .post(LOGIN, json!({"phone_number": number}))
            .await
            .ok();
        let request = json!({"method_id": sent.body["phone_number_id"], "otp": "000000"});
        let verified = api.test().post("/v1/auth/otps/verify", request).await;
        if taken {
            verified.ok();
        } else {
            verified.refuses(400, "invalid_otp", None);
        }
        let live = api
            .live()
            .post(LOGIN, json!({"phone_number": number}))
            .await;
        live.refuses(400, "invalid_field", Some("phone_number"));
    }
}

async fn otp_10_too_many_texts_say_when_to_retry(api: &Api) {
    let request = json!({"phone_number": ADA});
    // Five, and one beyond the limit (M-5).
    for _ in 0..6 {
        api.test().post(LOGIN, request.clone()).await.ok();
        api.pass(20);
    }
    for path in [LOGIN, SEND] {
        let refused = api.test().post(path, request.clone()).await;
        refused.refuses(429, "too_many_attempts", None);
        assert_eq!(refused.header("retry-after"), Some("480"));
    }
    api.pass(480);
    api.test().post(LOGIN, request).await.ok();
}

/// Attack 9, over HTTP: the bodies are the same once the ids are masked.
async fn attack_9_with_enumeration_safe_no_user_can_be_distinguished(api: &Api) {
    let known = api
        .test()
        .post(LOGIN, json!({"phone_number": "+15005550006"}))
        .await
        .ok();
    let verify = json!({"method_id": known.body["phone_number_id"], "otp": "000000"});
    api.test().post("/v1/auth/otps/verify", verify).await.ok();
    let safe = [("enumeration_safe".to_owned(), "true".to_owned())];
    api.service
        .set_app(Principal::cli(), api.app.id, &safe)
        .await
        .unwrap();
    api.pass(60);
    for number in ["+15005550006", ADA] {
        let sent = api
            .test()
            .post(SEND, json!({"phone_number": number}))
            .await
            .ok();
        assert_response_snapshot!(sent, @r#"
        {
          "body": {
            "phone_number_id": "[pn id]",
            "user_id": "[user id]"
          },
          "status": 200
        }
        "#);
        let again = api
            .test()
            .post(SEND, json!({"phone_number": number}))
            .await
            .ok();
        assert_eq!(sent.body, again.body, "{number}");
        let wrong = json!({"method_id": sent.body["phone_number_id"], "otp": "271828"});
        let refused = api.test().post("/v1/auth/otps/verify", wrong).await;
        refused.refuses(400, "invalid_otp", None);
    }
    for number in ["+15005550006", ADA] {
        let sent = api
            .test()
            .post(LOGIN, json!({"phone_number": number}))
            .await
            .ok();
        assert_response_snapshot!(sent, @r#"
        {
          "body": {
            "phone_number_id": "[pn id]",
            "status": "pending",
            "user_created": false,
            "user_id": "[user id]"
          },
          "status": 200
        }
        "#);
    }
    api.deliver().await;
}

async fn attack_25_a_number_of_another_app_is_unknown(api: &Api) {
    let sent = api
        .test()
        .post(LOGIN, json!({"phone_number": "+15005550006"}))
        .await
        .ok();
    let other = api.other_app().await;
    let unknown = other
        .post(SEND, json!({"phone_number": "+15005550006"}))
        .await;
    unknown.refuses(404, "not_found", Some("phone_number"));
    let request = json!({"method_id": sent.body["phone_number_id"], "otp": "000000"});
    let foreign = other.post("/v1/auth/otps/verify", request).await;
    foreign.refuses(400, "invalid_otp", None);
}

async fn a_live_code_goes_to_the_provider(api: &Api) {
    let request = json!({"phone_number": ADA, "expires_in": 10});
    let sent = api.live().post(LOGIN, request).await.ok();
    api.deliver().await;
    let (_, message) = api.sms.sent().pop().unwrap();
    assert_eq!(message.to, ADA);
    let request = json!({"method_id": sent.body["phone_number_id"], "otp": message.code});
    api.live().post("/v1/auth/otps/verify", request).await.ok();
    let messages = api.test().get("/v1/test/messages").await.ok();
    assert_eq!(messages.body["messages"], json!([]));
    assert!(api.mailer.sent().is_empty());
}

/// OPS-9: a live text without a provider is refused at once and creates nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn live_texts_without_a_provider_are_unavailable() {
    let options = Options {
        has_sms: false,
        ..Options::default()
    };
    on_with(Lane::Sqlite, options, async |api| {
        let request = json!({"phone_number": ADA});
        for path in [LOGIN, SEND] {
            let refused = api.live().post(path, request.clone()).await;
            refused.refuses(503, "unavailable", None);
        }
        let ready = api.anonymous().get("/readyz").await.ok();
        assert_eq!(
            (&ready.body["mail"], &ready.body["sms"]),
            (&json!("ok"), &json!("not_configured"))
        );
        api.live()
            .post("/v1/auth/users/create", request.clone())
            .await
            .ok();
        api.test().post(LOGIN, request).await.ok();
    })
    .await;
}
