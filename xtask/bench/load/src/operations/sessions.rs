//! `sessions/*`, without `verify`, which wrk measures.

use serde_json::json;

use crate::Failure;
use crate::api::{Api, Call};
use crate::people::people;
use crate::stopwatch::Stopwatch;

pub(super) async fn run(api: &Api, stopwatch: Stopwatch) -> Result<(), Failure> {
    let people = people(api, stopwatch, "sessions").await?;
    let list = people
        .iter()
        .map(|one| Call::get(format!("/v1/auth/sessions/list?user_id={}", one.user_id)))
        .collect();
    stopwatch.measure(api, "sessions list", list).await?;
    let delete = people
        .iter()
        .map(|one| {
            let body = json!({"session_token": one.session_token});
            Call::delete_with("/v1/auth/sessions/delete", body)
        })
        .collect();
    stopwatch.measure(api, "sessions delete", delete).await?;
    let all = people
        .iter()
        .map(|one| {
            let body = json!({"user_id": one.user_id});
            Call::delete_with("/v1/auth/sessions/delete_all", body)
        })
        .collect();
    stopwatch.measure(api, "sessions delete_all", all).await?;
    Ok(())
}
