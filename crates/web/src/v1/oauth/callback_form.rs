//! `POST /v1/auth/oauth/callback/{oauthcb_id}`

use actix_web::http::StatusCode;
use actix_web::http::header::CONTENT_TYPE;
use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse};
use vestry_domain::ids::OauthCallbackId;
use vestry_edge::{Code, PathId, Problem, State, body, query};

use super::callback::{Returned, come_back};

pub(crate) const ERRORS: &[Code] = &[
    Code::InvalidField,
    Code::InvalidState,
    Code::RedirectUrlMissing,
    Code::NotFound,
    Code::FeatureDisabled,
    Code::BodyTooLarge,
    Code::UnsupportedMediaType,
    Code::Sealed,
];

/// Receive a form post from the provider
///
/// Not for integrators: the counterpart of the `GET` for providers that post a form, such as Apple.
#[utoipa::path(
    post,
    path = "/v1/auth/oauth/callback/{oauthcb_id}",
    operation_id = "finishOauthByForm",
    tag = "OAuth",
    params(("oauthcb_id" = String, Path, description = "Id of the connection's callback", pattern = "^oauthcb_[0-9A-Za-z]{27}$")),
    request_body(content = Returned, content_type = "application/x-www-form-urlencoded"),
    responses((status = 303, description = "Redirect to the App"))
)]
pub(crate) async fn handle(
    state: Data<State>,
    request: HttpRequest,
    PathId(id): PathId<OauthCallbackId>,
    payload: Payload,
) -> Result<HttpResponse, Problem> {
    let kind = request.headers().get(CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let essence = kind.split(';').next().unwrap_or_default().trim();
    if !essence.eq_ignore_ascii_case("application/x-www-form-urlencoded") {
        return Err(Problem::new(Code::UnsupportedMediaType));
    }
    let bytes = body::read(&request, payload.into_inner()).await?;
    let form =
        std::str::from_utf8(&bytes).map_err(|_other| Problem::request("the form must be UTF-8"))?;
    let returned: Returned = query::parse(form)?;
    come_back(&state, &request, id, returned, StatusCode::SEE_OTHER).await
}
