//! `GET /v1/test/clock`

use vestry_edge::{Call, Code, Json, Problem};

use super::clock::Clock;

pub(crate) const ERRORS: &[Code] = &[Code::NotFound];

/// Get the test clock
///
/// With a live key this endpoint does not exist.
///
/// Needs the scope `auth:write`.
#[utoipa::path(
    get,
    path = "/v1/test/clock",
    operation_id = "readTestClock",
    tag = "Test environment",
    responses((status = 200, description = "The test clock", body = Clock))
)]
pub(crate) async fn handle(call: Call) -> Result<Json<Clock>, Problem> {
    let reading = call
        .run(|service, caller| async move { service.read_test_clock(&caller).await })
        .await?;
    Ok(Json(reading.into()))
}
