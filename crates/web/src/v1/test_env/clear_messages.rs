//! `DELETE /v1/test/messages`

use serde::Serialize;
use utoipa::ToSchema;
use vestry_edge::{Call, Code, Json, Problem};

pub(crate) const ERRORS: &[Code] = &[Code::NotFound];

/// Confirmation that the messages were deleted.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = TestMessagesDeletedResponse)]
pub(crate) struct Response {
    /// Confirmation for people; it may change.
    #[schema(min_length = 1)]
    message: &'static str,
    /// Number of deleted messages.
    #[schema(minimum = 0)]
    deleted_count: u64,
}

/// Delete captured messages
///
/// Empties the mailbox of the test environment. With a live key this endpoint does not exist.
///
/// Needs the scope `auth:write`.
#[utoipa::path(
    delete,
    path = "/v1/test/messages",
    operation_id = "deleteTestMessages",
    tag = "Test environment",
    responses((status = 200, description = "The messages were deleted", body = Response))
)]
pub(crate) async fn handle(call: Call) -> Result<Json<Response>, Problem> {
    let deleted_count = call
        .run(|service, caller| async move { service.clear_captured(&caller).await })
        .await?;
    Ok(Json(Response {
        message: "Successfully deleted all messages",
        deleted_count,
    }))
}
