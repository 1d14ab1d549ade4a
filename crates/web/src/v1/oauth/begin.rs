//! `GET /v1/auth/oauth/{provider}/begin`

use actix_web::http::header::{LOCATION, REFERRER_POLICY, SET_COOKIE};
use actix_web::web::{Data, Path};
use actix_web::{HttpRequest, HttpResponse};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use vestry_app::SignInBinding;
use vestry_app::identity::oauth::{BeginOauth, TestAnswer, TestChoice};
use vestry_domain::session::DeviceFingerprint;
use vestry_edge::{Call, Code, Problem, Query, State, client};

use super::browser;

pub(crate) const ERRORS: &[Code] = &[
    Code::MissingField,
    Code::InvalidField,
    Code::ProviderNotConfigured,
    Code::RedirectUrlMissing,
    Code::RedirectUrlNotAllowed,
    Code::NotFound,
    Code::Sealed,
];

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct Begin {
    /// Whether to send the browser to the provider with a 302 instead of returning JSON. The sign-in is bound to this browser by a cookie.
    ///
    /// Errors are then shown as a page, unless the request has an `Authorization` header.
    #[param(nullable = false)]
    redirect: Option<bool>,
    /// Where an existing user lands after sign-in. Must be registered; defaults to the App's login URL.
    #[param(nullable = false)]
    login_redirect_url: Option<String>,
    /// Where a new user lands after sign-in. Must be registered; defaults to the App's registration URL.
    #[param(nullable = false)]
    registration_redirect_url: Option<String>,
    /// PKCE code challenge: SHA-256 of the code verifier, in base64url (43 characters). `oauth/verify` then accepts the token only with
    /// that verifier. Required if the App's setting `require_code_challenge` is on.
    #[param(nullable = false, pattern = "^[0-9A-Za-z_-]{43}$")]
    code_challenge: Option<String>,
    /// Method of the code challenge. Only `S256` is supported, which is also the default.
    #[param(nullable = false, pattern = "^S256$")]
    code_challenge_method: Option<String>,
    /// Opaque value that is returned to the redirect URL together with `token` or `error`: 1 to 512 printable ASCII characters. It is not
    /// the `state` in the response.
    #[param(
        nullable = false,
        min_length = 1,
        max_length = 512,
        pattern = "^[ -~]+$"
    )]
    state: Option<String>,
    /// The App's own callback URL, as registered with the provider. It must also be registered as a login URL of the App. Secret keys only.
    ///
    /// The App sends the `code` and `state` that arrive there to `oauth/verify`. If a request with a secret key sets no URL at all, the
    /// callback from the App's settings applies, if there is one.
    #[param(nullable = false)]
    redirect_uri: Option<String>,
    /// Test environment only: the result that the provider returns without showing its page. One of `verified`, `unverified`, `changed`,
    /// `denied` or `error`.
    #[param(nullable = false)]
    identity: Option<String>,
    /// Test environment only, with `identity`: the person's e-mail address.
    #[param(nullable = false)]
    email: Option<String>,
    /// Test environment only, with `identity`: the person's id at the provider.
    #[param(nullable = false)]
    subject: Option<String>,
}

/// Where to send the browser: `url` and `state` for a secret key, `redirect_url` for a public token.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
#[schema(as = OauthBeginResponse)]
pub(crate) enum Response {
    Secret(ForBackend),
    Public(ForPage),
}

/// The response to a secret key. The backend keeps the state and compares it later.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = OauthBeginForBackend)]
pub(crate) struct ForBackend {
    /// URL at the provider to send the browser to.
    #[schema(min_length = 1)]
    url: String,
    /// The provider's name, a hyphen, and 48 letters and digits. Single-use; expires after ten minutes.
    #[schema(pattern = "^[a-z][a-z0-9-]{0,31}-[0-9A-Za-z]{48}$")]
    state: String,
}

/// The response to a public token.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = OauthBeginForPage)]
pub(crate) struct ForPage {
    /// URL at the provider to send the browser to.
    #[schema(min_length = 1)]
    redirect_url: String,
}

/// Begin a sign-in through an identity provider
///
/// Accepts a secret key or, from a page, a public token (`?public_token=pk_…` or `Authorization: PublicToken pk_…`). If both are sent and
/// belong to the same App and environment, the token decides. Pages of any origin may make the call with a public token.
///
/// With `redirect=true`, a link is enough: `<a href="…/v1/auth/oauth/google/begin?public_token=pk_…&redirect=true">`.
///
/// After the provider, the browser lands on the App's login URL (existing users) or registration URL (new users) with a `?token=` for
/// `oauth/verify`. If the sign-in fails, it lands on the login URL with `?error=`.
///
/// A secret key needs the scope `auth:write`.
#[utoipa::path(
    get,
    path = "/v1/auth/oauth/{provider}/begin",
    operation_id = "beginOauth",
    tag = "OAuth",
    params(
        ("provider" = String, Path, description = "Name of the provider, such as `google`. Test keys also have `test`.", pattern = "^[a-z][a-z0-9-]{0,31}$"),
        Begin
    ),
    responses(
        (status = 200, description = "Where to send the browser", body = Response),
        (status = 302, description = "Redirect to the provider, with `redirect=true`")
    )
)]
pub(crate) async fn handle(
    state: Data<State>,
    request: HttpRequest,
    call: Call,
    provider: Path<String>,
    Query(query): Query<Begin>,
) -> Result<HttpResponse, Problem> {
    let is_public = call.has_public_token();
    let sends_browser = query.redirect.unwrap_or(false);
    let from = request.peer_addr().map(|peer| {
        let proxies = &state.settings.trusted_proxies.current();
        client::address(peer.ip(), request.headers(), proxies).to_string()
    });
    let command = BeginOauth {
        provider: provider.into_inner(),
        test_choice: test_choice(query.identity, query.email, query.subject)?,
        login_redirect_url: query.login_redirect_url,
        registration_redirect_url: query.registration_redirect_url,
        redirect_uri: query.redirect_uri,
        started_by: SignInBinding {
            code_challenge: query.code_challenge,
            code_challenge_method: query.code_challenge_method,
            state: query.state,
        },
        sends_browser,
        from: DeviceFingerprint::new(from, None)?,
    };
    let begun = call
        .run(move |service, caller| async move { service.begin_oauth(&caller, command).await })
        .await?;
    if sends_browser {
        let mut answer = HttpResponse::Found();
        answer
            .insert_header((LOCATION, begun.url))
            .insert_header((REFERRER_POLICY, "no-referrer"));
        if let Some(value) = &begun.browser {
            let cookie = browser::set(&state.service, &begun.state, value, begun.is_posted_back);
            answer.insert_header((SET_COOKIE, cookie));
        }
        return Ok(answer.finish());
    }
    Ok(HttpResponse::Ok().json(if is_public {
        Response::Public(ForPage {
            redirect_url: begun.url,
        })
    } else {
        Response::Secret(ForBackend {
            url: begun.url,
            state: begun.state.expose().clone(),
        })
    }))
}

fn test_choice(
    identity: Option<String>,
    email: Option<String>,
    subject: Option<String>,
) -> Result<Option<TestChoice>, Problem> {
    let Some(identity) = identity else {
        return Ok(None);
    };
    let answer: TestAnswer = identity.parse()?;
    Ok(Some(TestChoice::new(answer, email, subject)?))
}
