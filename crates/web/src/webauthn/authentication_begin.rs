//! `POST /v1/auth/webauthn/authentication/begin`

use actix_web::web::Json;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use vestry_app::passkeys::BeginAuthentication;

use super::options::RequestOptions;
use crate::body::Body;
use crate::call::Call;
use crate::problem::{Code, Problem};
use crate::shapes::parse_id;

pub(crate) const ERRORS: &[Code] = &[Code::NotFound];

/// Who shall sign in, and on which domain.
#[derive(Deserialize, ToSchema)]
#[schema(as = WebauthnAuthenticationBeginRequest)]
pub(crate) struct Request {
    /// The relying party id: on the App's list `webauthn_domains`, or `localhost` with a test key.
    #[schema(min_length = 1, max_length = 253, examples("localhost"))]
    domain: String,
    /// The user, when it is known already. Absent or `""`: the passkey tells who it is.
    #[schema(pattern = "^(user_[0-9A-Za-z]{27})?$")]
    #[serde(default, deserialize_with = "crate::json::text_or_absent")]
    user_id: Option<String>,
}

/// Options for the browser.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = WebauthnAuthenticationBeginResponse)]
pub(crate) struct Answer {
    /// `""` when no user was named.
    #[schema(pattern = "^(user_[0-9A-Za-z]{27})?$")]
    user_id: String,
    public_key_credential_request_options: RequestOptions,
}

/// Begin a sign-in by passkey
///
/// Gives the options for `navigator.credentials.get()`, with a challenge that is good for five minutes and one answer.
///
/// Needs the scope `auth:write`.
#[utoipa::path(
    post,
    path = "/v1/auth/webauthn/authentication/begin",
    operation_id = "beginWebauthnAuthentication",
    tag = "Passkeys",
    request_body = Request,
    responses((status = 200, description = "Options for the browser", body = Answer))
)]
pub(crate) async fn handle(
    call: Call,
    Body(request): Body<Request>,
) -> Result<Json<Answer>, Problem> {
    let named = request.user_id;
    let user_id = named.map(|user| parse_id("user_id", &user));
    let command = BeginAuthentication {
        domain: request.domain,
        user_id: user_id.transpose()?,
    };
    let options = call
        .run(|service, caller| async move {
            service.begin_passkey_authentication(&caller, command).await
        })
        .await?;
    Ok(Json(Answer {
        user_id: options
            .user_id
            .map(|user| user.to_string())
            .unwrap_or_default(),
        public_key_credential_request_options: options.into(),
    }))
}
