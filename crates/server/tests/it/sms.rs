//! Live text messages over a Twilio-compatible provider.

use serde_json::json;
use vestry_contract::words::reveals;

use crate::on_both_databases;
use crate::support::installation::{Installation, text};

/// The provider of the sender's own tests.
#[path = "../../../adapters/sms-http/tests/provider/mod.rs"]
#[expect(dead_code, reason = "its own tests ask more of it")]
mod provider;

use provider::{Provider, Reply, SID, TOKEN};

const LOGIN: &str = "/v1/auth/otps/sms/login_or_create";

on_both_databases! {
    /// A live sign-in: the code is sent to the provider only, also after a failed attempt.
    a_live_code_arrives_by_text => super::a_live_code_arrives_by_text;
}

fn with_sms(installation: &mut Installation, provider: &Provider) {
    installation.set("sms.kind", "http");
    installation.set("sms.http.base_url", &provider.url);
    installation.set("sms.http.account_sid", SID);
    installation.set("sms.http.auth_token", TOKEN);
    installation.set("sms.http.from", "+14155550100");
}

async fn a_live_code_arrives_by_text(mut installation: Installation) {
    let provider = Provider::start().await;
    with_sms(&mut installation, &provider);
    let keys = installation.set_up();
    let checked = tokio::task::block_in_place(|| installation.run(&["check", "--json"]))
        .done()
        .json();
    assert_eq!(checked["ok"], true, "{checked}");
    assert!(provider.arrived().remove(0).line.starts_with("GET "));
    let server = installation.serve().await;
    let api = server.api(&keys.live);
    provider.then([Reply::Says(500, "", "")]);
    let body = json!({ "phone_number": "+14155552671", "expires_in": 10 });
    let sent = api.post(LOGIN, &body).await.ok();
    let mut look = tokio::time::interval(std::time::Duration::from_millis(50));
    while provider.arrived().len() < 3 {
        look.tick().await;
    }
    let arrived = provider.arrived();
    assert_eq!(arrived[1].body, arrived[2].body, "the same text again");
    assert!(
        arrived[2]
            .line
            .starts_with(&format!("POST /2010-04-01/Accounts/{SID}/Messages.json"))
    );
    let (_, output) = arrived[2].body.split_once("Body=").unwrap();
    let code = &output[..6];
    let verify = json!({ "method_id": text(&sent, "phone_number_id"), "otp": code });
    api.post("/v1/auth/otps/verify", &verify).await.ok();
    // OTP-9: neither the code, the number nor the login is in the log.
    let log = server.process.stop().await;
    for secret in [code, "4155552671", TOKEN, SID] {
        assert!(!reveals(&log, secret), "{log}");
    }
    assert_eq!(provider.arrived().len(), 3, "and no more");
}

/// `vestry check` reports when the provider rejects the login.
#[tokio::test(flavor = "multi_thread")]
async fn check_reports_a_provider_that_rejects_the_login() {
    let mut installation = Installation::sqlite();
    let provider = Provider::start().await;
    with_sms(&mut installation, &provider);
    installation.set_up();
    provider.always(Reply::Says(401, "", r#"{"code": 20003, "status": 401}"#));
    let output = tokio::task::block_in_place(|| installation.run(&["check", "--json"]));
    assert_eq!(output.code, 1, "{output:?}");
    let checks = output.json()["checks"].as_array().unwrap().clone();
    let sms = checks.iter().find(|check| check["name"] == "sms").unwrap();
    assert_eq!(sms["ok"], false);
    assert!(
        sms["detail"]
            .as_str()
            .unwrap()
            .contains("SMS provider check failed"),
        "{sms}"
    );
}

/// PR-89: another token of the provider is in use after SIGHUP.
#[tokio::test(flavor = "multi_thread")]
async fn pr_89_sighup_reloads_the_login_at_the_provider() {
    let mut installation = Installation::sqlite();
    let provider = Provider::start().await;
    with_sms(&mut installation, &provider);
    installation.unset("sms.http.auth_token");
    let write = |token: &str| {
        let text = format!("[sms.http]\nauth_token = \"{token}\"\n");
        std::fs::write(installation.file("vestry.toml"), text).unwrap();
    };
    write(TOKEN);
    let keys = tokio::task::block_in_place(|| installation.set_up());
    let mut server = installation.serve().await;
    let api = server.api(&keys.live);
    let login = async |number: u32| {
        let body = json!({ "phone_number": format!("+141555526{number}"), "expires_in": 10 });
        api.post(LOGIN, &body).await.ok();
        let mut look = tokio::time::interval(std::time::Duration::from_millis(50));
        while provider.arrived().len() <= usize::try_from(number - 71).unwrap() {
            look.tick().await;
        }
        let headers = provider.arrived().pop().unwrap().headers;
        let mut lines = headers.lines().map(str::to_owned);
        lines.find(|line| line.starts_with("authorization:"))
    };
    let first = login(71).await;
    assert!(first.is_some());
    write("another-token");
    server.process.signal(rustix::process::Signal::HUP);
    server
        .process
        .logged("settings reloaded: sms.http.auth_token")
        .await;
    assert_ne!(login(72).await, first);
    let log = server.process.stop().await;
    assert!(!reveals(&log, "another-token"), "{log}");
}
