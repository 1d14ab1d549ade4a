//! The sender against a scripted provider on this machine (F4).

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a panic is how a test fails"
)]

mod faults;
mod taking;

#[path = "../provider/mod.rs"]
mod provider;

use vestry_domain::Timestamp;
use vestry_domain::ids::{Id, JobId};
use vestry_domain::message::{Message, otp_text};
use vestry_domain::timestamp::Seconds;
use vestry_ports::sms::{SmsError, SmsSender};
use vestry_sms_http::{HttpSms, Settings};

use crate::provider::{Provider, SID, TOKEN};

pub(crate) const TO: &str = "+14155552671";
pub(crate) const FROM: &str = "+14155550100";

pub(crate) fn settings(provider: &Provider) -> Settings {
    Settings::new(provider.url.clone(), SID, TOKEN.to_owned(), FROM)
}

pub(crate) fn sender(provider: &Provider) -> HttpSms {
    HttpSms::new(&settings(provider)).unwrap()
}

pub(crate) fn text() -> Message {
    otp_text("Tom & Jerry", TO, "012345", Seconds(600))
}

pub(crate) async fn send(sms: &HttpSms) -> Result<(), SmsError> {
    let id = JobId::new(Timestamp::from_unix(1_800_000_000), [7; 16]);
    sms.send(id, &text()).await
}

/// Returns the requested wait of an error that must be transient.
pub(crate) fn transient(outcome: Result<(), SmsError>) -> Option<i64> {
    match outcome {
        Err(SmsError::Transient { retry_after, cause }) => {
            silent(&cause.to_string());
            retry_after.map(|wait| wait.0)
        }
        other => panic!("{other:?}"),
    }
}

pub(crate) fn is_final(outcome: Result<(), SmsError>) {
    match outcome {
        Err(SmsError::Permanent(cause)) => silent(&format!("{cause:?} {cause}")),
        other => panic!("{other:?}"),
    }
}

/// OTP-9: no number, code, account or token in an error.
fn silent(said: &str) {
    for secret in [TO, &TO[1..], "012345", SID, TOKEN] {
        assert!(!said.contains(secret), "{said}");
    }
}
