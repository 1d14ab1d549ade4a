//! `POST /v1/auth/magic_links/email/login_or_create`

use actix_web::web::Json;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use vestry_app::StartedBy;
use vestry_app::links::LoginByLink;

use crate::body::Body;
use crate::call::Call;
use crate::problem::{Code, Problem};
use crate::shapes::{Device, UserStatusName};

pub(crate) const ERRORS: &[Code] = &[
    Code::RedirectUrlMissing,
    Code::RedirectUrlNotAllowed,
    Code::NotFound,
    Code::TooManyAttempts,
    Code::Sealed,
];

/// Who wants to sign in, and where the link shall lead.
#[derive(Deserialize, ToSchema)]
#[schema(as = MagicLinkLoginOrCreateRequest)]
pub(crate) struct Request {
    /// Where the link goes.
    #[schema(
        min_length = 1,
        max_length = 254,
        format = "email",
        examples("ok@vestry.test")
    )]
    email: String,
    /// Where the link of an existing user leads; `?token=<token>` is appended. A registered URL of the kind `login`; the
    /// App's default when absent.
    #[serde(default, deserialize_with = "crate::json::text_or_absent")]
    login_redirect_url: Option<String>,
    /// Where the link of a new user leads. A registered URL of the kind `registration`; the App's default when absent.
    #[serde(default, deserialize_with = "crate::json::text_or_absent")]
    registration_redirect_url: Option<String>,
    /// Minutes for which the link of an existing user is good; 60 when absent.
    #[schema(minimum = 5, maximum = 10_080, examples(15))]
    login_expires_in: Option<i64>,
    /// Minutes for which the link of a new user is good; 60 when absent.
    #[schema(minimum = 5, maximum = 10_080, examples(60))]
    registration_expires_in: Option<i64>,
    /// Stands for each of the two that is absent.
    #[schema(minimum = 5, maximum = 10_080, examples(15))]
    expires_in: Option<i64>,
    /// Whether a user that this call creates stays `pending` until the link is verified. When absent, the App's
    /// setting, which is true unless it was changed.
    requires_verification: Option<bool>,
    /// The SHA-256 of a code verifier that stays where the link is asked for, in base64url: `magic_links/verify` takes the token
    /// with that verifier only. The App's setting `require_code_challenge` makes it required.
    #[schema(pattern = "^[0-9A-Za-z_-]{43}$")]
    code_challenge: Option<String>,
    /// `S256`, which is meant when it is absent, too.
    #[schema(pattern = "^S256$")]
    code_challenge_method: Option<String>,
    /// What the link shall carry beside `token`: printable ASCII.
    #[schema(min_length = 1, max_length = 512, pattern = "^[ -~]+$")]
    state: Option<String>,
    /// When it is sent here, the App's setting says what of it the verify step must match.
    device_fingerprint: Option<Device>,
}

/// A link is on its way.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = MagicLinkLoginOrCreateResponse)]
pub(crate) struct Answer {
    #[schema(pattern = "^user_[0-9A-Za-z]{27}$")]
    user_id: String,
    #[schema(value_type = UserStatusName)]
    status: &'static str,
    /// Whether this call created the user.
    user_created: bool,
    /// The `method_id` of `otps/verify`, for the code that the mail holds beside the link.
    #[schema(pattern = "^email_[0-9A-Za-z]{27}$")]
    email_id: String,
    /// When the user was created, Unix seconds.
    created_at: i64,
    /// When the user last changed, Unix seconds.
    updated_at: i64,
}

/// Mail a link, to anybody
///
/// Mails a link to an address and creates its user when there is none. The link is a registered redirect URL with
/// `?token=<token>`; the page behind it hands the token to the App's backend, which calls `magic_links/verify`. Opening the
/// link uses nothing up. The mail also holds a code for `otps/verify`, good for ten minutes at most. A new link takes the place
/// of an earlier one. In the test environment nothing is sent: read the link from `GET /v1/test/messages`.
///
/// Magic links are deprecated: prefer one-time passcodes or passkeys in new applications.
///
/// Needs the scope `auth:write`.
#[utoipa::path(
    post,
    path = "/v1/auth/magic_links/email/login_or_create",
    operation_id = "loginOrCreateByMagicLink",
    tag = "Magic links",
    request_body = Request,
    responses((status = 200, description = "A link is on its way", body = Answer))
)]
pub(crate) async fn handle(
    call: Call,
    Body(request): Body<Request>,
) -> Result<Json<Answer>, Problem> {
    let command = LoginByLink {
        email: request.email,
        login_redirect_url: request.login_redirect_url,
        registration_redirect_url: request.registration_redirect_url,
        login_expires_in: request.login_expires_in,
        registration_expires_in: request.registration_expires_in,
        expires_in: request.expires_in,
        requires_verification: request.requires_verification,
        started_by: StartedBy {
            code_challenge: request.code_challenge,
            code_challenge_method: request.code_challenge_method,
            state: request.state,
        },
        device_fingerprint: request.device_fingerprint.map(Device::check).transpose()?,
    };
    let sent =
        call.run(|service, caller| async move {
            service.login_or_create_by_link(&caller, command).await
        })
        .await?;
    Ok(Json(Answer {
        user_id: sent.user_id.to_string(),
        status: sent.status.as_str(),
        user_created: sent.user_created,
        email_id: sent.email_id.to_string(),
        created_at: sent.created_at.unix(),
        updated_at: sent.updated_at.unix(),
    }))
}
