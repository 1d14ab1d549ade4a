//! `sessions/*`, without `verify`, which wrk measures.

use serde_json::json;

use super::Flow;
use crate::Failure;
use crate::api::Call;

pub(super) async fn run(flow: Flow<'_>) -> Result<(), Failure> {
    let people = flow.people("sessions").await?;
    flow.each("sessions list", &people, |one| {
        let user = &one.user_id;
        Ok(Call::get(format!("/v1/auth/sessions/list?user_id={user}")))
    })
    .await?;
    flow.each("sessions delete", &people, |one| {
        let body = json!({"session_token": one.session_token});
        Ok(Call::delete_with("/v1/auth/sessions/delete", body))
    })
    .await?;
    flow.each("sessions delete_all", &people, |one| {
        let body = json!({"user_id": one.user_id});
        Ok(Call::delete_with("/v1/auth/sessions/delete_all", body))
    })
    .await?;
    Ok(())
}
