//! `totps/*`.

use data_encoding::BASE32_NOPAD;
use serde_json::{Value, json};
use vestry_domain::totp;

use super::Flow;
use crate::Failure;
use crate::api::{Call, text};

/// Seconds of a step.
const STEP: i64 = 30;

pub(super) async fn run(flow: Flow<'_>) -> Result<(), Failure> {
    let people = flow.people("totps").await?;
    let post = |path: &str, body| Ok(Call::post(format!("/v1/auth/totps/{path}"), body));
    let made = flow.each("totps create", &people, |one| {
        post("create", json!({"user_id": one.user_id}))
    });
    let made = made.await?;
    // The service's own time, which its codes depend on.
    let clock = flow.api.make(Call::get("/v1/test/clock")).await?;
    let now = clock.pointer("/now").and_then(Value::as_i64);
    let step = now.ok_or("the test clock returned no time")? / STEP;
    flow.each("totps verify", &made, |made| {
        let seed = BASE32_NOPAD.decode(text(made, "/secret")?.as_bytes())?;
        let code = totp::code_at(&seed, step);
        let body = json!({
            "user_id": text(made, "/user_id")?, "totp": code.expose(), "session_expires_in": 60,
        });
        post("verify", body)
    })
    .await?;
    flow.each("totps recovery", &made, |made| {
        let body = json!({
            "user_id": text(made, "/user_id")?,
            "recovery_code": text(made, "/recovery_codes/0")?,
            "session_expires_in": 60,
        });
        post("recovery", body)
    })
    .await?;
    flow.each("totps recovery_codes", &people, |one| {
        post("recovery_codes", json!({"user_id": one.user_id}))
    })
    .await?;
    flow.each("users totps delete", &made, |made| {
        let id = text(made, "/totp_id")?;
        Ok(Call::delete(format!("/v1/auth/users/totps/{id}/delete")))
    })
    .await?;
    Ok(())
}
