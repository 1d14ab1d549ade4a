//! `magic_links/*`.

use serde_json::json;

use super::Flow;
use crate::Failure;
use crate::api::{Call, text};
use crate::people::{Person, address};

pub(super) async fn run(flow: Flow<'_>) -> Result<(), Failure> {
    let post = |path: &str, body| Call::post(format!("/v1/auth/magic_links/{path}"), body);
    for (name, path) in [
        (
            "magic_links email login_or_create (new user)",
            "email/login_or_create",
        ),
        ("magic_links email invite", "email/invite"),
    ] {
        flow.numbered(name, |number| {
            post(path, json!({"email": address("links", number)}))
        })
        .await?;
    }
    let people = flow.people("linked").await?;
    let create = |one: &Person| Ok(post("create", json!({"user_id": one.user_id})));
    let links = flow.each("magic_links create", &people, create).await?;
    flow.each("magic_links verify", &links, |link| {
        let body = json!({"token": text(link, "/token")?, "session_expires_in": 60});
        Ok(post("verify", body))
    })
    .await?;
    flow.each("magic_links email login_status", &links, |link| {
        let body = json!({
            "email_id": text(link, "/email_id")?,
            "request_origin_token": text(link, "/request_origin_token")?,
        });
        Ok(post("email/login_status", body))
    })
    .await?;
    Ok(())
}
