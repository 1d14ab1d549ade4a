//! `POST /v1/auth/otps/email/login_or_create`

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use vestry_app::identity::codes::LoginOrCreate;
use vestry_edge::{Body, Call, Code, Json, Problem};

use crate::v1::shapes::{Device, UserStatusName};

pub(crate) const ERRORS: &[Code] = &[Code::NotFound, Code::TooManyAttempts, Code::Sealed];

/// The address to send a code to.
#[derive(Deserialize, ToSchema)]
#[schema(as = EmailOtpLoginOrCreateRequest)]
pub(crate) struct Request {
    /// E-mail address that the code is sent to, at most 254 characters.
    #[schema(
        min_length = 1,
        max_length = 254,
        format = "email",
        examples("ok@vestry.test")
    )]
    email: String,
    /// Minutes until the code expires. Default: 1.
    #[schema(minimum = 1, maximum = 10, examples(5))]
    expires_in: Option<i64>,
    /// Whether a user created by this call stays `pending` until the code is verified. Defaults to the App's setting, which is initially
    /// true.
    requires_verification: Option<bool>,
    /// The end user's device. If sent, the App's settings decide which parts of it the verify call must match.
    device_fingerprint: Option<Device>,
}

/// The code that was sent.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = EmailOtpLoginOrCreateResponse)]
pub(crate) struct Response {
    /// Id of the user.
    #[schema(pattern = "^user_[0-9A-Za-z]{27}$")]
    user_id: String,
    /// Id of the address; send it as `method_id` to the verify call.
    #[schema(pattern = "^email_[0-9A-Za-z]{27}$")]
    email_id: String,
    /// Status of the user; always `pending` while the App's setting `enumeration_safe` is on.
    #[schema(value_type = UserStatusName)]
    status: &'static str,
    /// Whether this call created the user; always false while the App's setting `enumeration_safe` is on.
    user_created: bool,
}

/// Send a code, creating the user if needed
///
/// Sends a one-time passcode to an e-mail address, and creates a user if no user has it. A new code replaces an earlier one.
///
/// In the test environment nothing is sent; read the code from `GET /v1/test/messages`.
///
/// Needs the scope `auth:write`.
#[utoipa::path(
    post,
    path = "/v1/auth/otps/email/login_or_create",
    operation_id = "loginOrCreateByEmail",
    tag = "One-time passcodes",
    request_body = Request,
    responses((status = 200, description = "The code was sent", body = Response))
)]
pub(crate) async fn handle(
    call: Call,
    Body(request): Body<Request>,
) -> Result<Json<Response>, Problem> {
    let command = LoginOrCreate {
        email: request.email,
        expires_in: request.expires_in,
        requires_verification: request.requires_verification,
        device_fingerprint: request.device_fingerprint.map(Device::check).transpose()?,
    };
    let sent =
        call.run(|service, caller| async move {
            service.login_or_create_by_email(&caller, command).await
        })
        .await?;
    Ok(Json(Response {
        user_id: sent.email.user_id.to_string(),
        email_id: sent.email.id.to_string(),
        status: sent.status.as_str(),
        user_created: sent.user_created,
    }))
}
