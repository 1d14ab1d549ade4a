//! Requests on the wire, and their destinations.

use vestry_ports::sms::{SmsError, SmsSender};
use vestry_sms_http::{HttpSms, Settings};

use crate::provider::{Provider, Reply, SID, TOKEN};
use crate::{FROM, send, sender, settings};

#[tokio::test]
async fn a_text_is_posted_in_twilios_format() {
    let provider = Provider::start().await;
    let sms = sender(&provider);
    send(&sms).await.unwrap();
    let arrived = provider.arrived().remove(0);
    assert_eq!(
        arrived.line,
        "POST /2010-04-01/Accounts/AC0123456789/Messages.json HTTP/1.1"
    );
    assert_eq!(
        arrived.body,
        "To=%2B14155552671&From=%2B14155550100&\
         Body=012345+is+your+Tom+%26+Jerry+code.+It+is+valid+for+10+minutes.+Do+not+share+it."
    );
    let headers = arrived.headers.to_lowercase();
    assert!(
        headers.contains("content-type: application/x-www-form-urlencoded"),
        "{headers}"
    );
    // AC0123456789:hunter2-token
    assert!(
        arrived
            .headers
            .contains("Basic QUMwMTIzNDU2Nzg5Omh1bnRlcjItdG9rZW4="),
        "{}",
        arrived.headers
    );
    assert_eq!(format!("{sms:?}"), "HttpSms");
    let shown = format!("{:?}", settings(&provider));
    assert!(!shown.contains(TOKEN), "{shown}");
}

/// A path before the API, and an account with characters that a path does not allow.
#[tokio::test]
async fn urls_are_built_from_escaped_segments() {
    let provider = Provider::start().await;
    let odd = Settings::new(
        format!("{}/gateway/", provider.url),
        "a/../b c",
        TOKEN.to_owned(),
        FROM,
    );
    send(&HttpSms::new(&odd).unwrap()).await.unwrap();
    assert_eq!(
        provider.arrived()[0].line,
        "POST /gateway/2010-04-01/Accounts/a%2F..%2Fb%20c/Messages.json HTTP/1.1"
    );
}

#[tokio::test]
async fn a_probe_reads_the_account_and_sends_nothing() {
    let provider = Provider::start().await;
    let sms = sender(&provider);
    sms.probe().await.unwrap();
    let arrived = provider.arrived().remove(0);
    assert_eq!(
        arrived.line,
        "GET /2010-04-01/Accounts/AC0123456789.json HTTP/1.1"
    );
    provider.then([Reply::Says(401, "", r#"{"code": 20003, "status": 401}"#)]);
    let refused = sms.probe().await;
    assert!(
        matches!(refused, Err(SmsError::Permanent(_))),
        "{refused:?}"
    );
}

#[test]
fn errors_about_settings_name_the_key() {
    let good = |url: &str, sid: &str, token: &str, from: &str| {
        HttpSms::new(&Settings::new(url, sid, token.to_owned(), from)).map(drop)
    };
    let url = "https://api.twilio.com";
    assert!(good(url, SID, TOKEN, FROM).is_ok());
    for (outcome, key) in [
        (
            good("http://api.twilio.com", SID, TOKEN, FROM),
            "sms.http.base_url",
        ),
        (good(url, "", TOKEN, FROM), "sms.http.account_sid"),
        (good(url, SID, "", FROM), "sms.http.auth_token"),
        (good(url, SID, TOKEN, ""), "sms.http.from"),
    ] {
        let said = outcome.unwrap_err().to_string();
        assert!(said.starts_with(key), "{said}");
    }
}
