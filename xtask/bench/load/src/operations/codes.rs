//! `otps/*`.

use serde_json::json;

use super::Flow;
use crate::Failure;
use crate::api::{Call, text};
use crate::people::{CODE, address};

/// Area codes over which numbers are spread, so that the circuit breaker of a prefix stays closed.
const AREAS: [u16; 30] = [
    201, 202, 203, 205, 206, 207, 208, 209, 210, 212, 213, 214, 215, 216, 217, 218, 219, 224, 225,
    228, 229, 231, 234, 239, 240, 248, 251, 252, 253, 254,
];
/// The number of text messages, below the limit of a country's circuit breaker.
const TEXTS: usize = 240;

const SMS: &str = "/v1/auth/otps/sms/login_or_create";
const VERIFY: &str = "/v1/auth/otps/verify";

pub(super) async fn run(flow: Flow<'_>) -> Result<(), Failure> {
    flow.numbered("otps email login_or_create (new user)", |number| {
        let body = json!({"email": address("codes", number)});
        Call::post("/v1/auth/otps/email/login_or_create", body)
    })
    .await?;
    let people = flow.people("sends").await?;
    flow.each("otps email send", &people, |one| {
        let body = json!({"email": one.address, "expires_in": 10});
        Ok(Call::post("/v1/auth/otps/email/send", body))
    })
    .await?;
    flow.each("otps verify (e-mail)", &people, |one| {
        Ok(proof(&one.email_id, CODE))
    })
    .await?;
    texts(flow).await
}

fn proof(method: &str, code: &str) -> Call {
    let proof = json!({"method_id": method, "otp": code, "session_expires_in": 60});
    Call::post(VERIFY, proof)
}

async fn texts(flow: Flow<'_>) -> Result<(), Failure> {
    let areas = AREAS.iter().cycle().enumerate();
    let numbers: Vec<_> = areas
        .take(TEXTS.min(flow.stopwatch.calls))
        .map(|(place, area)| format!("+1{area}555{:04}", 2_000 + place))
        .collect();
    let begin = |number: &String| {
        let body = json!({"phone_number": number, "expires_in": 10});
        Ok(Call::post(SMS, body))
    };
    let begun = flow.each("otps sms login_or_create (new user)", &numbers, begin);
    let begun = begun.await?;
    let texts = flow.prepare(&numbers, |number| Ok(captured(number)));
    let proofs: Vec<_> = begun.iter().zip(texts.await?).collect();
    flow.each("otps verify (SMS)", &proofs, |(begun, message)| {
        let code = text(message, "/messages/0/code")?;
        Ok(proof(&text(begun, "/phone_number_id")?, &code))
    })
    .await?;
    flow.each("otps sms send", &numbers, |number| {
        let body = json!({"phone_number": number});
        Ok(Call::post("/v1/auth/otps/sms/send", body))
    })
    .await?;
    let delete = flow.prepare(&begun, |begun| {
        let user = text(begun, "/user_id")?;
        Ok(Call::delete(format!("/v1/auth/users/{user}/delete")))
    });
    delete.await.map(drop)
}

/// The newest message to a recipient, as soon as there is one.
pub(super) fn captured(to: &str) -> Call {
    let to = to.replace('+', "%2B");
    Call::get(format!("/v1/test/messages?to={to}&wait=30"))
}
