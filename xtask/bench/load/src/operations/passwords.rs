//! `passwords/*`.

use serde_json::json;

use super::codes::captured;
use crate::Failure;
use crate::api::{Api, Call, text};
use crate::people::people;
use crate::stopwatch::Stopwatch;

const PASSWORD: &str = "plum orbit candle wagon";
const ANOTHER: &str = "wagon candle orbit plum";

pub(super) async fn run(api: &Api, stopwatch: Stopwatch) -> Result<(), Failure> {
    let people = people(api, stopwatch, "passwords").await?;
    let set = people
        .iter()
        .map(|one| {
            let body = json!({"session_token": one.session_token, "password": PASSWORD});
            Call::post("/v1/auth/passwords/session/update", body)
        })
        .collect();
    stopwatch
        .measure(api, "passwords session update", set)
        .await?;
    let verify = people
        .iter()
        .map(|one| {
            let body =
                json!({"user_id": one.user_id, "password": PASSWORD, "session_expires_in": 60});
            Call::post("/v1/auth/passwords/verify", body)
        })
        .collect();
    stopwatch.measure(api, "passwords verify", verify).await?;
    let check = Call::post(
        "/v1/auth/passwords/strength_check",
        json!({"password": PASSWORD}),
    );
    stopwatch
        .measure(
            api,
            "passwords strength_check",
            vec![check; stopwatch.calls],
        )
        .await?;
    // Leaves only the links among the messages.
    api.make(Call::delete("/v1/test/messages")).await?;
    let begin = people
        .iter()
        .map(|one| {
            Call::post(
                "/v1/auth/passwords/reset/begin",
                json!({"email": one.address}),
            )
        })
        .collect();
    stopwatch
        .measure(api, "passwords reset begin", begin)
        .await?;
    let read = people.iter().map(|one| captured(&one.address)).collect();
    let mails = stopwatch.prepare(api, read).await?;
    let complete = mails
        .iter()
        .map(|mail| {
            let body = json!({"token": text(mail, "/messages/0/token")?, "password": ANOTHER});
            Ok(Call::post("/v1/auth/passwords/reset/complete", body))
        })
        .collect::<Result<_, Failure>>()?;
    stopwatch
        .measure(api, "passwords reset complete", complete)
        .await?;
    Ok(())
}
