//! `otps/*`.

use serde_json::{Value, json};

use crate::Failure;
use crate::api::{Api, Call, text};
use crate::people::{CODE, address, people};
use crate::stopwatch::Stopwatch;

/// Area codes over which numbers are spread, so that the circuit breaker of a prefix stays closed.
const AREAS: [u16; 30] = [
    201, 202, 203, 205, 206, 207, 208, 209, 210, 212, 213, 214, 215, 216, 217, 218, 219, 224, 225,
    228, 229, 231, 234, 239, 240, 248, 251, 252, 253, 254,
];
/// The number of text messages, below the limit of a country's circuit breaker.
const TEXTS: usize = 240;

const SMS: &str = "/v1/auth/otps/sms/login_or_create";
const VERIFY: &str = "/v1/auth/otps/verify";

pub(super) async fn run(api: &Api, stopwatch: Stopwatch) -> Result<(), Failure> {
    let begin = (0..stopwatch.calls)
        .map(|number| {
            Call::post(
                "/v1/auth/otps/email/login_or_create",
                json!({"email": address("codes", number)}),
            )
        })
        .collect();
    stopwatch
        .measure(api, "otps email login_or_create (new user)", begin)
        .await?;
    let people = people(api, stopwatch, "sends").await?;
    let send = people
        .iter()
        .map(|one| {
            let body = json!({"email": one.address, "expires_in": 10});
            Call::post("/v1/auth/otps/email/send", body)
        })
        .collect();
    stopwatch.measure(api, "otps email send", send).await?;
    let verify = people
        .iter()
        .map(|one| proof(&one.email_id, CODE))
        .collect();
    stopwatch
        .measure(api, "otps verify (e-mail)", verify)
        .await?;
    texts(api, stopwatch).await
}

fn proof(method: &str, code: &str) -> Call {
    let proof = json!({"method_id": method, "otp": code, "session_expires_in": 60});
    Call::post(VERIFY, proof)
}

async fn texts(api: &Api, stopwatch: Stopwatch) -> Result<(), Failure> {
    let numbers: Vec<_> = AREAS
        .iter()
        .cycle()
        .enumerate()
        .take(TEXTS.min(stopwatch.calls))
        .map(|(place, area)| format!("+1{area}555{:04}", 2_000 + place))
        .collect();
    let begin = numbers
        .iter()
        .map(|number| Call::post(SMS, json!({"phone_number": number, "expires_in": 10})))
        .collect();
    let begun = stopwatch
        .measure(api, "otps sms login_or_create (new user)", begin)
        .await?;
    let read = numbers.iter().map(|number| captured(number)).collect();
    let texts = stopwatch.prepare(api, read).await?;
    let verify = begun
        .iter()
        .zip(&texts)
        .map(|(begun, message)| {
            let code = text(message, "/messages/0/code")?;
            Ok(proof(&text(begun, "/phone_number_id")?, &code))
        })
        .collect::<Result<_, Failure>>()?;
    stopwatch.measure(api, "otps verify (SMS)", verify).await?;
    let send = numbers
        .iter()
        .map(|number| Call::post("/v1/auth/otps/sms/send", json!({"phone_number": number})))
        .collect();
    stopwatch.measure(api, "otps sms send", send).await?;
    let gone = begun
        .iter()
        .map(|begun: &Value| {
            let user = text(begun, "/user_id")?;
            Ok(Call::delete(format!("/v1/auth/users/{user}/delete")))
        })
        .collect::<Result<_, Failure>>()?;
    stopwatch.prepare(api, gone).await?;
    Ok(())
}

/// The newest message to a recipient, as soon as there is one.
pub(super) fn captured(to: &str) -> Call {
    let to = to.replace('+', "%2B");
    Call::get(format!("/v1/test/messages?to={to}&wait=30"))
}
