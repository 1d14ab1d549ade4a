//! `POST /v1/auth/otps/sms/login_or_create`

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use vestry_app::identity::codes::LoginOrCreateByText;
use vestry_edge::{Body, Call, Code, Json, Problem};

use crate::v1::shapes::{Device, UserStatusName};

pub(crate) const ERRORS: &[Code] = &[Code::NotFound, Code::TooManyAttempts, Code::Sealed];

/// The phone number to send a code to.
#[derive(Deserialize, ToSchema)]
#[schema(as = SmsOtpLoginOrCreateRequest)]
pub(crate) struct Request {
    /// Phone number that the code is sent to, in E.164 format. It must be a number that can receive SMS, in a country that the App sends
    /// to.
    #[schema(
        min_length = 1,
        max_length = 16,
        pattern = r"^\+[0-9]{1,15}$",
        examples("+15005550006")
    )]
    phone_number: String,
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
#[schema(as = SmsOtpLoginOrCreateResponse)]
pub(crate) struct Response {
    /// Id of the user.
    #[schema(pattern = "^user_[0-9A-Za-z]{27}$")]
    user_id: String,
    /// Id of the phone number; send it as `method_id` to the verify call.
    #[schema(pattern = "^pn_[0-9A-Za-z]{27}$")]
    phone_number_id: String,
    /// Status of the user; always `pending` while the App's setting `enumeration_safe` is on.
    #[schema(value_type = UserStatusName)]
    status: &'static str,
    /// Whether this call created the user; always false while the App's setting `enumeration_safe` is on.
    user_created: bool,
}

/// Send a code by SMS, creating the user if needed
///
/// Sends a one-time passcode to a phone number, and creates a user if no user has it. A new code replaces an earlier one.
///
/// In the test environment nothing is sent; read the code from `GET /v1/test/messages`.
///
/// SMS is a restricted authenticator (NIST SP 800-63B-4, section 3.1.3.3): numbers change hands, and messages can be intercepted. Offer
/// passkeys or an authenticator app as well. Sends are limited per number, prefix, country, device and App.
///
/// Needs the scope `auth:write`.
#[utoipa::path(
    post,
    path = "/v1/auth/otps/sms/login_or_create",
    operation_id = "loginOrCreateBySms",
    tag = "One-time passcodes",
    request_body = Request,
    responses((status = 200, description = "The code was sent", body = Response))
)]
pub(crate) async fn handle(
    call: Call,
    Body(request): Body<Request>,
) -> Result<Json<Response>, Problem> {
    let command = LoginOrCreateByText {
        phone_number: request.phone_number,
        expires_in: request.expires_in,
        requires_verification: request.requires_verification,
        device_fingerprint: request.device_fingerprint.map(Device::check).transpose()?,
    };
    let sent =
        call.run(|service, caller| async move {
            service.login_or_create_by_text(&caller, command).await
        })
        .await?;
    Ok(Json(Response {
        user_id: sent.phone.user_id.to_string(),
        phone_number_id: sent.phone.id.to_string(),
        status: sent.status.as_str(),
        user_created: sent.user_created,
    }))
}
