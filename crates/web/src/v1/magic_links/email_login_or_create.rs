//! `POST /v1/auth/magic_links/email/login_or_create`

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use vestry_app::SignInBinding;
use vestry_app::identity::links::LoginByLink;
use vestry_edge::{Body, Call, Code, Json, Problem};

use crate::v1::shapes::{Device, UserStatusName};

pub(crate) const ERRORS: &[Code] = &[
    Code::RedirectUrlMissing,
    Code::RedirectUrlNotAllowed,
    Code::NotFound,
    Code::TooManyAttempts,
    Code::Sealed,
];

/// The address to send a link to, and the redirect URLs.
#[derive(Deserialize, ToSchema)]
#[schema(as = MagicLinkLoginOrCreateRequest)]
pub(crate) struct Request {
    /// E-mail address that the link is sent to, at most 254 characters.
    #[schema(
        min_length = 1,
        max_length = 254,
        format = "email",
        examples("ok@vestry.test")
    )]
    email: String,
    /// URL that an existing user's link leads to; `?token=<token>` is appended. It must be a registered URL of kind `login`. Defaults to
    /// the App's login URL.
    #[serde(default, deserialize_with = "vestry_edge::json::text_or_absent")]
    login_redirect_url: Option<String>,
    /// URL that a new user's link leads to. It must be a registered URL of kind `registration`. Defaults to the App's registration URL.
    #[serde(default, deserialize_with = "vestry_edge::json::text_or_absent")]
    registration_redirect_url: Option<String>,
    /// Minutes until the link of an existing user expires. Default: 60.
    #[schema(minimum = 5, maximum = 10_080, examples(15))]
    login_expires_in: Option<i64>,
    /// Minutes until the link of a new user expires. Default: 60.
    #[schema(minimum = 5, maximum = 10_080, examples(60))]
    registration_expires_in: Option<i64>,
    /// Replaces `login_expires_in` or `registration_expires_in` where absent, in minutes.
    #[schema(minimum = 5, maximum = 10_080, examples(15))]
    expires_in: Option<i64>,
    /// Whether a user created by this call stays `pending` until the link is verified. Defaults to the App's setting, which is initially
    /// true.
    requires_verification: Option<bool>,
    /// PKCE code challenge: SHA-256 of the code verifier, in base64url (43 characters). `magic_links/verify` then accepts the token only
    /// with that verifier. Required if the App's setting `require_code_challenge` is on.
    #[schema(pattern = "^[0-9A-Za-z_-]{43}$")]
    code_challenge: Option<String>,
    /// Method of the code challenge. Only `S256` is supported, which is also the default.
    #[schema(pattern = "^S256$")]
    code_challenge_method: Option<String>,
    /// Opaque value that the link carries in addition to `token`: 1 to 512 printable ASCII characters.
    #[schema(min_length = 1, max_length = 512, pattern = "^[ -~]+$")]
    state: Option<String>,
    /// The end user's device. If sent, the App's settings decide which parts of it the verify call must match.
    device_fingerprint: Option<Device>,
}

/// The link that was sent.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = MagicLinkLoginOrCreateResponse)]
pub(crate) struct Response {
    /// Id of the user.
    #[schema(pattern = "^user_[0-9A-Za-z]{27}$")]
    user_id: String,
    #[schema(value_type = UserStatusName)]
    status: &'static str,
    /// Whether this call created the user.
    user_created: bool,
    /// Id of the address; send it as `method_id` to `otps/verify` to use the code in the mail instead of the link.
    #[schema(pattern = "^email_[0-9A-Za-z]{27}$")]
    email_id: String,
    /// When the user was created, in Unix seconds.
    created_at: i64,
    /// When the user was last changed, in Unix seconds.
    updated_at: i64,
}

/// Mail a link, creating the user if needed
///
/// Mails a link to an address, and creates a user if no user has it. A new link replaces an earlier one.
///
/// The link is a registered redirect URL with `?token=<token>`. The page behind it passes the token to the App's backend, which calls
/// `magic_links/verify`. Opening the link does not use it up.
///
/// The mail also contains a code for `otps/verify`, valid for at most ten minutes. In the test environment nothing is sent; read the link
/// from `GET /v1/test/messages`.
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
    responses((status = 200, description = "The link was sent", body = Response))
)]
pub(crate) async fn handle(
    call: Call,
    Body(request): Body<Request>,
) -> Result<Json<Response>, Problem> {
    let command = LoginByLink {
        email: request.email,
        login_redirect_url: request.login_redirect_url,
        registration_redirect_url: request.registration_redirect_url,
        login_expires_in: request.login_expires_in,
        registration_expires_in: request.registration_expires_in,
        expires_in: request.expires_in,
        requires_verification: request.requires_verification,
        started_by: SignInBinding {
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
    Ok(Json(Response {
        user_id: sent.user_id.to_string(),
        status: sent.status.as_str(),
        user_created: sent.user_created,
        email_id: sent.email_id.to_string(),
        created_at: sent.created_at.unix(),
        updated_at: sent.updated_at.unix(),
    }))
}
