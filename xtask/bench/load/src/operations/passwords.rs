//! `passwords/*`.

use serde_json::json;

use super::Flow;
use super::codes::captured;
use crate::Failure;
use crate::api::{Call, text};

const PASSWORD: &str = "plum orbit candle wagon";
const ANOTHER: &str = "wagon candle orbit plum";

pub(super) async fn run(flow: Flow<'_>) -> Result<(), Failure> {
    let people = flow.people("passwords").await?;
    let post = |path: &str, body| Ok(Call::post(format!("/v1/auth/passwords/{path}"), body));
    flow.each("passwords session update", &people, |one| {
        let body = json!({"session_token": one.session_token, "password": PASSWORD});
        post("session/update", body)
    })
    .await?;
    flow.each("passwords verify", &people, |one| {
        let body = json!({"user_id": one.user_id, "password": PASSWORD, "session_expires_in": 60});
        post("verify", body)
    })
    .await?;
    let check = post("strength_check", json!({"password": PASSWORD}))?;
    flow.repeat("passwords strength_check", check).await?;
    // Leaves only the links among the messages.
    flow.api.make(Call::delete("/v1/test/messages")).await?;
    flow.each("passwords reset begin", &people, |one| {
        post("reset/begin", json!({"email": one.address}))
    })
    .await?;
    let mails = flow.prepare(&people, |one| Ok(captured(&one.address)));
    flow.each("passwords reset complete", &mails.await?, |mail| {
        let body = json!({"token": text(mail, "/messages/0/token")?, "password": ANOTHER});
        post("reset/complete", body)
    })
    .await?;
    Ok(())
}
