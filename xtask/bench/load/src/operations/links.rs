//! `magic_links/*`.

use serde_json::json;

use crate::Failure;
use crate::api::{Api, Call, text};
use crate::people::{address, people};
use crate::stopwatch::Stopwatch;

pub(super) async fn run(api: &Api, stopwatch: Stopwatch) -> Result<(), Failure> {
    for (name, path) in [
        (
            "magic_links email login_or_create (new user)",
            "/v1/auth/magic_links/email/login_or_create",
        ),
        (
            "magic_links email invite",
            "/v1/auth/magic_links/email/invite",
        ),
    ] {
        let begin = (0..stopwatch.calls)
            .map(|number| Call::post(path, json!({"email": address("links", number)})))
            .collect();
        stopwatch.measure(api, name, begin).await?;
    }
    let people = people(api, stopwatch, "linked").await?;
    let create = people
        .iter()
        .map(|one| {
            Call::post(
                "/v1/auth/magic_links/create",
                json!({"user_id": one.user_id}),
            )
        })
        .collect();
    let links = stopwatch.measure(api, "magic_links create", create).await?;
    let verify = links
        .iter()
        .map(|link| {
            let body = json!({"token": text(link, "/token")?, "session_expires_in": 60});
            Ok(Call::post("/v1/auth/magic_links/verify", body))
        })
        .collect::<Result<_, Failure>>()?;
    stopwatch.measure(api, "magic_links verify", verify).await?;
    let status = links
        .iter()
        .map(|link| {
            let body = json!({
                "email_id": text(link, "/email_id")?,
                "request_origin_token": text(link, "/request_origin_token")?,
            });
            Ok(Call::post("/v1/auth/magic_links/email/login_status", body))
        })
        .collect::<Result<_, Failure>>()?;
    stopwatch
        .measure(api, "magic_links email login_status", status)
        .await?;
    Ok(())
}
