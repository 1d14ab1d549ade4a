//! `DELETE /v1/test/messages`

use actix_web::web::Json;
use serde::Serialize;
use utoipa::ToSchema;

use crate::call::Call;
use crate::problem::{Code, Problem};

pub(crate) const ERRORS: &[Code] = &[Code::NotFound];

/// The messages are gone.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = TestMessagesDeletedResponse)]
pub(crate) struct Answer {
    #[schema(min_length = 1)]
    message: &'static str,
    /// How many there were.
    #[schema(minimum = 0)]
    deleted_count: u64,
}

/// Delete captured messages
///
/// Empties the test environment's mailbox. With a live key this path does not exist.
///
/// Needs the scope `auth:write`.
#[utoipa::path(
    delete,
    path = "/v1/test/messages",
    operation_id = "deleteTestMessages",
    tag = "Test environment",
    responses((status = 200, description = "The messages are gone", body = Answer))
)]
pub(crate) async fn handle(call: Call) -> Result<Json<Answer>, Problem> {
    let deleted_count = call
        .run(|service, caller| async move { service.clear_captured(&caller).await })
        .await?;
    Ok(Json(Answer {
        message: "Successfully deleted all messages",
        deleted_count,
    }))
}
