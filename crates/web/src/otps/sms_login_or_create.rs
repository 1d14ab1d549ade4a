//! `POST /v1/auth/otps/sms/login_or_create`

use actix_web::web::Json;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use vestry_app::codes::LoginOrCreateByText;

use crate::body::Body;
use crate::call::Call;
use crate::problem::{Code, Problem};
use crate::shapes::{Device, UserStatusName};

pub(crate) const ERRORS: &[Code] = &[Code::NotFound, Code::TooManyAttempts, Code::Sealed];

/// Who wants to sign in.
#[derive(Deserialize, ToSchema)]
#[schema(as = SmsOtpLoginOrCreateRequest)]
pub(crate) struct Request {
    /// Where the code goes, in E.164 form; a number that people get texts on, in a country that the App sends to.
    #[schema(
        min_length = 1,
        max_length = 16,
        pattern = r"^\+[0-9]{1,15}$",
        examples("+15005550006")
    )]
    phone_number: String,
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
#[schema(as = SmsOtpLoginOrCreateResponse)]
pub(crate) struct Answer {
    #[schema(pattern = "^user_[0-9A-Za-z]{27}$")]
    user_id: String,
    /// The `method_id` of the verify call.
    #[schema(pattern = "^pn_[0-9A-Za-z]{27}$")]
    phone_number_id: String,
    /// Always `pending` while the App's setting `enumeration_safe` is on.
    #[schema(value_type = UserStatusName)]
    status: &'static str,
    /// Whether this call created the user; always false while the App's setting `enumeration_safe` is on.
    user_created: bool,
}

/// Send a code by text message, to anybody
///
/// Sends a one-time passcode to a phone number and creates its user when there is none. A new code takes the place of an
/// earlier one. In the test environment nothing is sent: read the code from `GET /v1/test/messages`.
///
/// Text messages are a restricted way to prove who one is (NIST SP 800-63B-4, section 3.1.3.3): numbers change hands, and
/// messages can be read on their way. Offer passkeys or an authenticator app beside them. Sends are limited for each number,
/// prefix, country, device and App.
///
/// Needs the scope `auth:write`.
#[utoipa::path(
    post,
    path = "/v1/auth/otps/sms/login_or_create",
    operation_id = "loginOrCreateBySms",
    tag = "One-time passcodes",
    request_body = Request,
    responses((status = 200, description = "A code is on its way", body = Answer))
)]
pub(crate) async fn handle(
    call: Call,
    Body(request): Body<Request>,
) -> Result<Json<Answer>, Problem> {
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
    Ok(Json(Answer {
        user_id: sent.phone.user_id.to_string(),
        phone_number_id: sent.phone.id.to_string(),
        status: sent.status.as_str(),
        user_created: sent.user_created,
    }))
}
