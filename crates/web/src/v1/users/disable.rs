//! `POST /v1/auth/users/{user_id}/disable`

use serde::Deserialize;
use utoipa::ToSchema;
use vestry_domain::ids::UserId;
use vestry_edge::{Call, Code, Json, OptionalBody, PathId, Problem};

use crate::v1::shapes::User;

pub(crate) const ERRORS: &[Code] = &[Code::InvalidField, Code::NotFound, Code::Sealed];

/// The reason for disabling a user.
#[derive(Deserialize, ToSchema, Default)]
#[schema(as = DisableUserRequest)]
pub(crate) struct Request {
    /// Reason for your own records; the user is not notified. At most 255 characters, no control characters.
    #[schema(max_length = 255, examples("chargeback"))]
    reason: Option<String>,
}

/// Disable a user
///
/// The user cannot sign in until enabled again, and all of the user's sessions end at once.
///
/// Sign-in attempts fail exactly as with wrong credentials. Calls that send a code or link respond as before, but what they send cannot be
/// used to sign in. Your backend can still use the user's wallets.
///
/// A user who is already disabled keeps `disabled_at` and `disabled_reason`.
///
/// Needs the scope `users:write`.
#[utoipa::path(
    post,
    path = "/v1/auth/users/{user_id}/disable",
    operation_id = "disableUser",
    tag = "Users",
    params(("user_id" = String, Path, description = "Id of the user", pattern = "^user_[0-9A-Za-z]{27}$")),
    request_body(content = Option<Request>, content_type = "application/json"),
    responses((status = 200, description = "The disabled user", body = User))
)]
pub(crate) async fn handle(
    call: Call,
    PathId(id): PathId<UserId>,
    OptionalBody(request): OptionalBody<Request>,
) -> Result<Json<User>, Problem> {
    let reason = request.unwrap_or_default().reason.unwrap_or_default();
    let user = call
        .run(move |service, caller| async move { service.disable_user(&caller, id, &reason).await })
        .await?;
    Ok(Json(user.into()))
}
