//! `GET /v1/auth/oauth/test/{oauthcb_id}/authorize`

use actix_web::HttpResponse;
use actix_web::http::header::{CONTENT_SECURITY_POLICY, HeaderName, LOCATION, REFERRER_POLICY};
use actix_web::web::Data;
use serde::Deserialize;
use utoipa::IntoParams;
use vestry_app::identity::oauth::{TestAnswer, TestChoice};
use vestry_domain::Secret;
use vestry_domain::ids::OauthCallbackId;
use vestry_domain::message::escape_html;
use vestry_edge::{Code, PathId, Problem, Query, State};

pub(crate) const ERRORS: &[Code] = &[
    Code::InvalidField,
    Code::MissingField,
    Code::NotFound,
    Code::FeatureDisabled,
    Code::Sealed,
];

/// Allows no script, no frame, and only our own style sheet. `form-action` stays open because browsers also apply it to the redirect that
/// follows, which leads to the App.
const POLICY: &str =
    "default-src 'none'; style-src 'self'; base-uri 'none'; frame-ancestors 'none'";

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct Authorize {
    /// State of the sign-in.
    state: String,
    /// The result to return at once: `verified`, `unverified`, `changed`, `denied` or `error`. Without it, a page asks for it.
    #[param(nullable = false)]
    identity: Option<String>,
    /// The person's e-mail address.
    #[param(nullable = false)]
    email: Option<String>,
    /// The person's id at the provider; derived from the address if absent.
    #[param(nullable = false)]
    subject: Option<String>,
}

/// Authorize at the test provider
///
/// The URL that `oauth/test/begin` sends a browser to. It accepts only sign-ins that were begun with a test key.
#[utoipa::path(
    get,
    path = "/v1/auth/oauth/test/{oauthcb_id}/authorize",
    operation_id = "authorizeTestOauth",
    tag = "OAuth",
    params(
        ("oauthcb_id" = String, Path, description = "Id of the callback", pattern = "^oauthcb_[0-9A-Za-z]{27}$"),
        Authorize
    ),
    responses(
        (status = 200, description = "A page that asks who is signing in", body = String, content_type = "text/html"),
        (status = 302, description = "Redirect to the callback, with a code or an error")
    )
)]
pub(crate) async fn handle(
    state: Data<State>,
    PathId(id): PathId<OauthCallbackId>,
    Query(query): Query<Authorize>,
) -> Result<HttpResponse, Problem> {
    let flow = Secret::new(query.state);
    let Some(identity) = query.identity else {
        let page = page(flow.expose());
        state
            .service
            .run(move |service| async move { service.show_test_sign_in(id, &flow).await })
            .await??;
        return Ok(HttpResponse::Ok()
            .content_type("text/html; charset=utf-8")
            .insert_header((CONTENT_SECURITY_POLICY, POLICY))
            .insert_header((REFERRER_POLICY, "no-referrer"))
            .insert_header((HeaderName::from_static("x-frame-options"), "DENY"))
            .body(page));
    };
    let answer: TestAnswer = identity.parse()?;
    let choice = TestChoice::new(answer, query.email, query.subject)?;
    let url = state
        .service
        .run(move |service| async move { service.answer_test_sign_in(id, &flow, &choice).await })
        .await??;
    Ok(HttpResponse::Found()
        .insert_header((LOCATION, url))
        .insert_header((REFERRER_POLICY, "no-referrer"))
        .finish())
}

fn page(state: &str) -> String {
    let state = escape_html(state);
    let buttons: String = TestAnswer::ALL
        .into_iter()
        .map(|answer| {
            let (value, label) = (answer.as_str(), label(answer));
            format!("<p><button type=\"submit\" name=\"identity\" value=\"{value}\">{label}</button></p>\n")
        })
        .collect();
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>Test provider</title>\n<link rel=\"stylesheet\" href=\"/docs/style.css\">\n</head>\n<body>\n<main>\n\
         <h1>Test provider</h1>\n\
         <p>This stands in for an identity provider in the test environment. Who is signing in?</p>\n\
         <form method=\"get\">\n<input type=\"hidden\" name=\"state\" value=\"{state}\">\n\
         <p><label>E-mail <input name=\"email\" type=\"email\" value=\"ada@example.com\"></label></p>\n\
         {buttons}</form>\n</main>\n</body>\n</html>\n"
    )
}

const fn label(answer: TestAnswer) -> &'static str {
    match answer {
        TestAnswer::Verified => "Sign in with a verified address",
        TestAnswer::Unverified => "Sign in with an unverified address",
        TestAnswer::Changed => "Sign in with a changed address",
        TestAnswer::Denied => "Deny access",
        TestAnswer::Error => "Simulate a provider error",
    }
}
