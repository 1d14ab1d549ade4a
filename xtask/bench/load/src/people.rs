//! Users for the calls, with a verified address and a session.

use serde_json::json;

use crate::Failure;
use crate::api::{Api, Call, text};
use crate::stopwatch::Stopwatch;

/// The code of the reserved addresses.
pub(crate) const CODE: &str = "000000";

/// A signed-in user.
pub(crate) struct Person {
    pub(crate) address: String,
    pub(crate) user_id: String,
    pub(crate) email_id: String,
    pub(crate) session_token: String,
}

/// A reserved address, to which sends are not limited. `label` separates operations.
pub(crate) fn address(label: &str, number: usize) -> String {
    format!("ok+load{label}{number}@vestry.test")
}

/// Creates as many users as an operation has calls.
pub(crate) async fn people(
    api: &Api,
    stopwatch: Stopwatch,
    label: &str,
) -> Result<Vec<Person>, Failure> {
    let addresses: Vec<_> = (0..stopwatch.calls)
        .map(|number| address(label, number))
        .collect();
    let send = |address: &String| {
        Call::post(
            "/v1/auth/otps/email/login_or_create",
            json!({"email": address, "expires_in": 10}),
        )
    };
    let sent = stopwatch
        .prepare(api, addresses.iter().map(send).collect())
        .await?;
    let verify = |email_id: &String| {
        let proof = json!({"method_id": email_id, "otp": CODE, "session_expires_in": 600});
        Call::post("/v1/auth/otps/verify", proof)
    };
    let emails = sent
        .iter()
        .map(|answer| text(answer, "/email_id"))
        .collect::<Result<Vec<_>, _>>()?;
    let verified = stopwatch
        .prepare(api, emails.iter().map(verify).collect())
        .await?;
    let all = addresses.into_iter().zip(emails).zip(verified);
    all.map(|((address, email_id), answer)| {
        Ok(Person {
            address,
            user_id: text(&answer, "/user_id")?,
            email_id,
            session_token: text(&answer, "/session_token")?,
        })
    })
    .collect()
}
