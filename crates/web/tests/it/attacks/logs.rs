//! OTP-9: an attacker reads the log.

use serde_json::json;
use vestry_contract::words::has_word;

use super::people::{self, PASSWORD};
use crate::flows::{sent, signed_in, verified};
use crate::harness::{Api, on_both};
use crate::logs::log;

on_both! {
    otp_9_no_code_reaches_the_log
}

/// Every mailed or texted secret, right and wrong, at the most verbose level, by request and by worker.
async fn otp_9_no_code_reaches_the_log(api: &Api) {
    let log = log();
    people::with_urls(api).await;
    let mut secrets = Vec::new();
    for number in 0..5 {
        let email = format!("otp-9-{number}@example.com");
        let code = sent(api, &api.test(), &email).await;
        let wrong = json!({"method_id": code.method_id, "otp": "271828"});
        api.test()
            .post("/v1/auth/otps/verify", wrong)
            .await
            .refuses(400, "invalid_otp", None);
        let session = verified(&api.test(), &code, json!({"session_expires_in": 60}))
            .await
            .ok();
        secrets.push(code.code);
        secrets.push(session.text_at("/session_token"));
        secrets.push(session.text_at("/session_jwt"));
    }
    let number = json!({"phone_number": "+14155552671"});
    let path = "/v1/auth/otps/sms/login_or_create";
    api.test().post(path, number).await.ok();
    let link = json!({"email": "otp-9-link@example.com"});
    let path = "/v1/auth/magic_links/email/login_or_create";
    api.test().post(path, link).await.ok();
    let live = json!({"email": "otp-9-live@example.com"});
    let path = "/v1/auth/otps/email/login_or_create";
    api.live().post(path, live).await.ok();
    api.deliver().await;
    let captured = api.test().get("/v1/test/messages").await.ok();
    for message in captured.body["messages"].as_array().unwrap() {
        for field in ["code", "token"] {
            secrets.extend(message[field].as_str().map(str::to_owned));
        }
    }
    let (_, mail) = api.mailer.sent().pop().expect("a mail to the live address");
    secrets.push(mail.code.clone());
    let user = signed_in(api, "otp-9-totp@example.com")
        .await
        .text_at("/user_id");
    let totp = json!({ "user_id": user });
    let totp = api.test().post("/v1/auth/totps/create", totp).await.ok();
    secrets.push(totp.text_at("/secret"));
    secrets.push(totp.text_at("/recovery_codes/0"));
    people::with_password(api, "otp-9-password@example.com").await;
    secrets.push(PASSWORD.to_owned());
    let text = log.text();
    assert!(text.contains("/v1/auth/otps/verify"), "nothing was logged");
    for secret in secrets.iter().filter(|secret| !secret.is_empty()) {
        let line = text.lines().find(|line| has_word(line, secret));
        assert_eq!(line, None, "OTP-9: a code is in the log");
    }
    assert!(secrets.len() >= 20, "{}", secrets.len());
}
