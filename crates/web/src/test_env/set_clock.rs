//! `POST /v1/test/clock`

use actix_web::web::Json;
use serde::Deserialize;
use utoipa::ToSchema;
use vestry_domain::test_clock::ClockChange;

use super::clock::Clock;
use crate::body::Body;
use crate::call::Call;
use crate::problem::{Code, Problem};

pub(crate) const ERRORS: &[Code] = &[Code::NotFound];

/// What the clock shall show. At least one field; `now` and `advance_seconds` exclude each other.
#[derive(Deserialize, ToSchema)]
#[schema(as = SetTestClockRequest)]
pub(crate) struct Request {
    /// This time, in Unix seconds.
    #[schema(minimum = 1_400_000_000, maximum = 4_102_444_800_i64)]
    now: Option<i64>,
    /// So many seconds later than it shows now.
    #[schema(minimum = 0, maximum = 2_702_444_800_i64, examples(604_801))]
    advance_seconds: Option<i64>,
    /// Whether it shall stand still. As before when absent; a clock set for the first time runs.
    frozen: Option<bool>,
}

/// Set the test clock
///
/// Codes, links, sessions, authenticator apps, JWTs and limits of the App's test environment follow this clock: a link of
/// seven days can be tested in a moment. The process that answers follows at once, other replicas within a second.
/// Delivery of messages keeps the machine's time. A clock that nobody sets for seven days is given up. With a live key this
/// path does not exist.
///
/// Needs the scope `auth:write`.
#[utoipa::path(
    post,
    path = "/v1/test/clock",
    operation_id = "setTestClock",
    tag = "Test environment",
    request_body = Request,
    responses((status = 200, description = "The time of the test environment", body = Clock))
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
