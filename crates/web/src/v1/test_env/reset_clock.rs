//! `DELETE /v1/test/clock`

use vestry_edge::{Call, Code, Json, Problem};

use super::clock::Clock;

pub(crate) const ERRORS: &[Code] = &[Code::NotFound];

/// Reset the test clock
///
/// The test environment uses the machine's clock again. With a live key this endpoint does not exist.
///
/// Needs the scope `auth:write`.
#[utoipa::path(
    delete,
    path = "/v1/test/clock",
    operation_id = "resetTestClock",
    tag = "Test environment",
    responses((status = 200, description = "The test clock", body = Clock))
)]
pub(crate) async fn handle(call: Call) -> Result<Json<Clock>, Problem> {
    let reading = call
        .run(|service, caller| async move { service.reset_test_clock(&caller).await })
        .await?;
    Ok(Json(reading.into()))
}
