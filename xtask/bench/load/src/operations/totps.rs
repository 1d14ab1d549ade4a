//! `totps/*`.

use data_encoding::BASE32_NOPAD;
use serde_json::{Value, json};
use vestry_domain::totp;

use crate::Failure;
use crate::api::{Api, Call, text};
use crate::people::people;
use crate::stopwatch::Stopwatch;

/// Seconds of a step.
const STEP: i64 = 30;

pub(super) async fn run(api: &Api, stopwatch: Stopwatch) -> Result<(), Failure> {
    let people = people(api, stopwatch, "totps").await?;
    let create = people
        .iter()
        .map(|one| Call::post("/v1/auth/totps/create", json!({"user_id": one.user_id})))
        .collect();
    let made = stopwatch.measure(api, "totps create", create).await?;
    // The service's own time, which its codes depend on.
    let clock = api.make(Call::get("/v1/test/clock")).await?;
    let now = clock.pointer("/now").and_then(Value::as_i64);
    let step = now.ok_or("the test clock returned no time")? / STEP;
    let verify = made
        .iter()
        .map(|made| {
            let seed = BASE32_NOPAD.decode(text(made, "/secret")?.as_bytes())?;
            let code = totp::code_at(&seed, step);
            let body = json!({
                "user_id": text(made, "/user_id")?, "totp": code.expose(), "session_expires_in": 60,
            });
            Ok(Call::post("/v1/auth/totps/verify", body))
        })
        .collect::<Result<_, Failure>>()?;
    stopwatch.measure(api, "totps verify", verify).await?;
    let recovery = made
        .iter()
        .map(|made| {
            let body = json!({
                "user_id": text(made, "/user_id")?,
                "recovery_code": text(made, "/recovery_codes/0")?,
                "session_expires_in": 60,
            });
            Ok(Call::post("/v1/auth/totps/recovery", body))
        })
        .collect::<Result<_, Failure>>()?;
    stopwatch.measure(api, "totps recovery", recovery).await?;
    let codes = people
        .iter()
        .map(|one| {
            Call::post(
                "/v1/auth/totps/recovery_codes",
                json!({"user_id": one.user_id}),
            )
        })
        .collect();
    stopwatch
        .measure(api, "totps recovery_codes", codes)
        .await?;
    let delete = made
        .iter()
        .map(|made| {
            let id = text(made, "/totp_id")?;
            Ok(Call::delete(format!("/v1/auth/users/totps/{id}/delete")))
        })
        .collect::<Result<_, Failure>>()?;
    stopwatch.measure(api, "users totps delete", delete).await?;
    Ok(())
}
