//! Live mail over real SMTP, with STARTTLS and a login.

use serde_json::json;
use tokio::task::block_in_place;
use vestry_contract::words::reveals;

use crate::on_both_databases;
use crate::support::flow::send_code;
use crate::support::installation::{Installation, text};

/// The server of the mailer's own tests.
#[path = "../../../adapters/mail-smtp/tests/smtp_server/mod.rs"]
mod smtp_server;

on_both_databases! {
    /// A live sign-in: the code arrives at a mail server, and nowhere else.
    a_live_code_arrives_by_mail => super::a_live_code_arrives_by_mail;
}

fn with_mail(installation: &mut Installation, server: &smtp_server::SmtpServer) {
    installation.set("mail.kind", "smtp");
    installation.set("mail.smtp.url", &server.url());
    installation.set("mail.smtp.from", "Shop <no-reply@shop.example.com>");
    installation.set("mail.smtp.ca_file", server.ca_file().to_str().unwrap());
}

async fn a_live_code_arrives_by_mail(mut installation: Installation) {
    let Some(mail_server) = smtp_server::start(smtp_server::Behaviour::default()) else {
        return;
    };
    with_mail(&mut installation, &mail_server);
    let keys = installation.set_up();
    let checked = installation.run(&["check", "--json"]).done().json();
    assert_eq!(checked["ok"], true, "{checked}");
    let server = installation.serve().await;
    let api = server.api(&keys.live);
    let method_id = send_code(&api, "Ada@Example.com").await;
    let mail = block_in_place(|| mail_server.next_mail());
    assert!(mail.encrypted, "it came over TLS");
    assert_eq!(mail.login.as_deref(), Some(smtp_server::USER));
    // The local part as it was entered, not as it is compared. A domain is case-insensitive.
    assert_eq!(mail.recipients, ["Ada@example.com"]);
    assert_eq!(mail.header("from"), "Shop <no-reply@shop.example.com>");
    assert!(mail.header("message-id").starts_with("<evt_"));
    let plain = mail.text.clone().unwrap();
    let code: String = plain
        .split(|c: char| !c.is_ascii_digit())
        .find(|word| word.len() == 6)
        .unwrap()
        .to_owned();
    // OTP-9: neither the code nor the address is logged; live mail is not captured.
    let body = json!({ "method_id": method_id, "otp": code, "session_expires_in": 60 });
    let verified = api.post("/v1/auth/otps/verify", &body).await.ok();
    let token = json!({ "session_token": text(&verified, "session_token") });
    api.post("/v1/auth/sessions/verify", &token).await.ok();
    assert_eq!(api.get("/v1/test/messages").await.error(404), "not_found");
    let log = server.process.stop().await;
    for secret in [code.as_str(), "xample.com", smtp_server::PASSWORD] {
        assert!(!reveals(&log, secret), "{log}");
    }
    let received = block_in_place(|| mail_server.finish());
    assert_eq!(received.mails.len(), 0, "one mail and no more");
}

/// "Live mail without a configured transport: the send call answers 503 `unavailable`, says so in the log, and creates
/// nothing."
#[tokio::test(flavor = "multi_thread")]
async fn a_live_send_without_mail_configured_creates_nothing() {
    let installation = Installation::sqlite();
    let keys = installation.set_up();
    let server = installation.serve().await;
    let api = server.api(&keys.live);
    let body = json!({ "email": "ada@example.com" });
    let refused = api.post("/v1/auth/otps/email/login_or_create", &body).await;
    assert_eq!(refused.error(503), "unavailable");
    let users = installation
        .database
        .pairs("SELECT id AS one, status AS two FROM users")
        .await;
    assert!(users.is_empty());
    let log = server.process.stop().await;
    assert!(
        log.contains("no mail transport is configured for live messages"),
        "{log}"
    );
}
