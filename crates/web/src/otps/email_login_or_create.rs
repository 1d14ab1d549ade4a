//! `POST /v1/auth/otps/email/login_or_create`

use actix_web::web::Json;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use vestry_app::codes::LoginOrCreate;

use crate::body::Body;
use crate::call::Call;
use crate::problem::{Code, Problem};
use crate::shapes::{Device, UserStatusName};

pub(crate) const ERRORS: &[Code] = &[Code::NotFound, Code::TooManyAttempts, Code::Sealed];

/// Who wants to sign in.
#[derive(Deserialize, ToSchema)]
#[schema(as = EmailOtpLoginOrCreateRequest)]
pub(crate) struct Request {
    /// Where the code goes.
    #[schema(
        min_length = 1,
        max_length = 254,
        format = "email",
        examples("ok@vestry.test")
    )]
    email: String,
    /// Minutes for which the code is good; 1 when absent.
    #[schema(minimum = 1, maximum = 10, examples(5))]
    expires_in: Option<i64>,
    /// Whether a user that this call creates stays `pending` until the code is verified. When absent, the App's
    /// setting, which is true unless it was changed.
    requires_verification: Option<bool>,
    /// When it is sent here, the App's setting says what of it the verify step must match.
    device_fingerprint: Option<Device>,
}

/// A code is on its way.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = EmailOtpLoginOrCreateResponse)]
pub(crate) struct Answer {
    #[schema(pattern = "^user_[0-9A-Za-z]{27}$")]
    user_id: String,
    /// The `method_id` of the verify call.
    #[schema(pattern = "^email_[0-9A-Za-z]{27}$")]
    email_id: String,
    /// Always `pending` while the App's setting `enumeration_safe` is on.
    #[schema(value_type = UserStatusName)]
    status: &'static str,
    /// Whether this call created the user; always false while the App's setting `enumeration_safe` is on.
    user_created: bool,
}

/// Send a code, to anybody
///
/// Sends a one-time passcode to an address and creates its user when there is none. A new code takes the place of an
/// earlier one. In the test environment nothing is sent: read the code from `GET /v1/test/messages`.
///
/// Needs the scope `auth:write`.
#[utoipa::path(
    post,
    path = "/v1/auth/otps/email/login_or_create",
    operation_id = "loginOrCreateByEmail",
    tag = "One-time passcodes",
    request_body = Request,
    responses((status = 200, description = "A code is on its way", body = Answer))
)]
pub(crate) async fn handle(
    call: Call,
    Body(request): Body<Request>,
) -> Result<Json<Answer>, Problem> {
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
    Ok(Json(Answer {
        user_id: sent.email.user_id.to_string(),
        email_id: sent.email.id.to_string(),
        status: sent.status.as_str(),
        user_created: sent.user_created,
    }))
}
