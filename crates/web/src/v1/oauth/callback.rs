//! `GET /v1/auth/oauth/callback/{oauthcb_id}`

use actix_web::http::StatusCode;
use actix_web::http::header::{LOCATION, REFERRER_POLICY, SET_COOKIE};
use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};
use vestry_app::identity::oauth::Callback;
use vestry_domain::Secret;
use vestry_domain::ids::OauthCallbackId;
use vestry_edge::{Code, PathId, Problem, Query, State};

use super::browser;

pub(crate) const ERRORS: &[Code] = &[
    Code::InvalidField,
    Code::InvalidState,
    Code::RedirectUrlMissing,
    Code::NotFound,
    Code::FeatureDisabled,
    Code::Sealed,
];

/// The provider's response, carried by the browser.
#[derive(Deserialize, IntoParams, ToSchema)]
#[into_params(parameter_in = Query)]
#[schema(as = OauthCallbackRequest)]
pub(crate) struct Returned {
    /// State of the sign-in.
    #[param(nullable = false)]
    state: Option<String>,
    /// Authorization code.
    #[param(nullable = false)]
    code: Option<String>,
    /// Error code, if there is no authorization code.
    #[param(nullable = false)]
    error: Option<String>,
    /// Issuer of the response (RFC 9207).
    #[param(nullable = false)]
    iss: Option<String>,
    /// Apple only: the person's name, as JSON, at the first sign-in.
    #[param(nullable = false)]
    user: Option<String>,
}

/// Receive a browser from the provider
///
/// Not for integrators: register this URL, as printed by `vestry provider list`, in the provider's console.
///
/// The browser is redirected to the App's login or registration URL with `?token=`. After a failure it is redirected to the login URL with
/// `?error=`: `invalid_state`, `access_denied`, `provider_error`, `provider_refused`, `provider_unavailable`, `provider_misconfigured` or
/// `unavailable`.
#[utoipa::path(
    get,
    path = "/v1/auth/oauth/callback/{oauthcb_id}",
    operation_id = "finishOauth",
    tag = "OAuth",
    params(
        ("oauthcb_id" = String, Path, description = "Id of the connection's callback", pattern = "^oauthcb_[0-9A-Za-z]{27}$"),
        Returned
    ),
    responses((status = 302, description = "Redirect to the App"))
)]
pub(crate) async fn handle(
    state: Data<State>,
    request: HttpRequest,
    PathId(id): PathId<OauthCallbackId>,
    Query(returned): Query<Returned>,
) -> Result<HttpResponse, Problem> {
    come_back(&state, &request, id, returned, StatusCode::FOUND).await
}

/// Handles a query and a form alike. Only the status differs: a 303 never repeats a POST (O-13).
pub(super) async fn come_back(
    state: &State,
    request: &HttpRequest,
    id: OauthCallbackId,
    returned: Returned,
    status: StatusCode,
) -> Result<HttpResponse, Problem> {
    let flow = returned.state.map(Secret::new);
    let cookie = flow
        .as_ref()
        .and_then(|flow| browser::get(&state.service, request.headers(), flow));
    let has_cookie = cookie.is_some();
    let callback = Callback {
        state: flow.clone(),
        code: returned.code.map(Secret::new),
        error: returned.error,
        issuer: returned.iss,
        user: returned.user,
        browser: cookie,
    };
    let back = state
        .service
        .run(move |service| async move { service.finish_oauth(id, callback).await })
        .await??;
    let mut response = HttpResponse::build(status);
    response
        .insert_header((LOCATION, back.url))
        .insert_header((REFERRER_POLICY, "no-referrer"));
    if let Some(flow) = flow.filter(|_| has_cookie) {
        response.insert_header((SET_COOKIE, browser::unset(&state.service, &flow)));
    }
    Ok(response.finish())
}
