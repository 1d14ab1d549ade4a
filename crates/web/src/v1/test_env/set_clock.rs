//! `POST /v1/test/clock`

use serde::Deserialize;
use utoipa::ToSchema;
use vestry_domain::test_clock::ClockChange;
use vestry_edge::{Body, Call, Code, Json, Problem};

use super::clock::Clock;

pub(crate) const ERRORS: &[Code] = &[Code::NotFound];

/// Changes to the test clock. At least one field is required; `now` and `advance_seconds` cannot be combined.
#[derive(Deserialize, ToSchema)]
#[schema(as = SetTestClockRequest)]
pub(crate) struct Request {
    /// The new time, in Unix seconds.
    #[schema(minimum = 1_400_000_000, maximum = 4_102_444_800_i64)]
    now: Option<i64>,
    /// Number of seconds to advance the clock by.
    #[schema(minimum = 0, maximum = 2_702_444_800_i64, examples(604_801))]
    advance_seconds: Option<i64>,
    /// Whether the clock is stopped. Unchanged if absent; a newly set clock runs.
    frozen: Option<bool>,
}

/// Set the test clock
///
/// Codes, links, sessions, authenticator apps, JWTs and limits of the App's test environment follow this clock. The expiry of a seven-day
/// link can thus be tested immediately.
///
/// The process that handles the call applies the change at once, other replicas within a second. Message delivery keeps using the machine's
/// clock. A clock that is not set for seven days is reset.
///
/// With a live key this endpoint does not exist.
///
/// Needs the scope `auth:write`.
#[utoipa::path(
    post,
    path = "/v1/test/clock",
    operation_id = "setTestClock",
    tag = "Test environment",
    request_body = Request,
    responses((status = 200, description = "The test clock", body = Clock))
)]
pub(crate) async fn handle(
    call: Call,
    Body(request): Body<Request>,
) -> Result<Json<Clock>, Problem> {
    let change = ClockChange {
        now: request.now,
        advance_seconds: request.advance_seconds,
        frozen: request.frozen,
    };
    let reading = call
        .run(|service, caller| async move { service.set_test_clock(&caller, change).await })
        .await?;
    Ok(Json(reading.into()))
}
