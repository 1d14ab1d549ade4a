//! Responses: pages with their security headers, redirects and error pages (CON-2).

use actix_web::body::BoxBody;
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue, LOCATION,
    REFERRER_POLICY, RETRY_AFTER, SET_COOKIE, STRICT_TRANSPORT_SECURITY,
};
use actix_web::http::{Method, StatusCode};
use actix_web::middleware::Next;
use actix_web::web::Path;
use actix_web::{Error, HttpResponse};
use askama::Template;
use url::form_urlencoded;
use vestry_app::{Principal, Refusal};
use vestry_domain::action::Action;
use vestry_domain::app::App;
use vestry_domain::extent::Extent;
use vestry_edge::{CONSOLE, Code, Problem, Route};

use crate::assets;
use crate::cookie::Cookie;
use crate::filters;
use crate::flash::Flash;
use crate::form::{Form, Posted, Unread};
use crate::frame::Outer;
use crate::visit::{Signed, Visit};

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; \
    form-action 'self'; frame-ancestors 'none'; base-uri 'none'; require-trusted-types-for 'script'; trusted-types 'none'";
/// Everything off except passkeys.
const PERMISSIONS: &str = "publickey-credentials-get=(self), publickey-credentials-create=(self), accelerometer=(), autoplay=(), camera=(), \
    display-capture=(), encrypted-media=(), fullscreen=(), geolocation=(), gyroscope=(), magnetometer=(), microphone=(), midi=(), payment=(), \
    picture-in-picture=(), screen-wake-lock=(), usb=(), xr-spatial-tracking=()";

/// A page that reports an error.
#[derive(Template)]
#[template(path = "error.html")]
struct ErrorPage<'a> {
    outer: Outer,
    status: u16,
    title: &'a str,
    text: &'a str,
    code: &'a str,
    /// The page to go on with, and its name.
    back: &'a str,
    back_text: &'a str,
}

/// Adds the headers of every response of the console, and shows errors of the framework as a page.
pub(crate) async fn finish(
    visit: Visit,
    request: ServiceRequest,
    next: Next<BoxBody>,
) -> Result<ServiceResponse, Error> {
    if let Some(pattern) = request.match_pattern() {
        Route::note(&request, &pattern);
    }
    let response = next.call(request).await?;
    let mut response = match response.response().error() {
        None => response,
        Some(error) => {
            let problem = match error.as_response_error().status_code() {
                StatusCode::NOT_FOUND => Problem::new(Code::NotFound),
                status if status.is_server_error() => Problem::internal(format!("{error:?}")),
                _ => Problem::new(Code::InvalidField),
            };
            response.into_response(refused(&visit, problem))
        }
    };
    let headers = response.headers_mut();
    for (name, value) in [
        (CONTENT_SECURITY_POLICY, POLICY),
        (REFERRER_POLICY, "no-referrer"),
        (
            HeaderName::from_static("cross-origin-opener-policy"),
            "same-origin",
        ),
        (
            HeaderName::from_static("cross-origin-resource-policy"),
            "same-origin",
        ),
        (HeaderName::from_static("permissions-policy"), PERMISSIONS),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if visit.settings.is_secure() {
        let year = HeaderValue::from_static("max-age=31536000");
        headers.insert(STRICT_TRANSPORT_SECURITY, year);
    }
    Ok(response)
}

/// A page. It has shown the result of the last form, which is then forgotten.
pub(crate) fn page(visit: &Visit, status: StatusCode, template: &impl Template) -> HttpResponse {
    let html = match template.render() {
        Ok(html) => html,
        Err(error) => return refused(visit, Problem::internal(error.to_string())),
    };
    let response = HttpResponse::build(status)
        .insert_header((CONTENT_TYPE, "text/html; charset=utf-8"))
        .body(html);
    match visit.flash {
        Some(_) => with_cookie(response, &Cookie::Flash.remove(&visit.settings)),
        None => response,
    }
}

/// A redirect to a page that shows the result of a form.
pub(crate) fn done(visit: &Visit, done: impl Into<Flash>, to: &str) -> HttpResponse {
    let flash = done.into().cookie();
    with_cookie(
        redirect(to),
        &Cookie::Flash.set_text(&visit.settings, &flash),
    )
}

/// A redirect to a page of the console.
pub(crate) fn redirect(to: &str) -> HttpResponse {
    HttpResponse::SeeOther()
        .insert_header((LOCATION, to))
        .finish()
}

/// The operator who is signed in, with or without a second factor.
///
/// # Errors
/// A redirect to the sign-in page, which leads back here, or an error page.
pub(crate) async fn operator(visit: &Visit) -> Result<Signed, HttpResponse> {
    match visit.session().await {
        Ok(Some(signed)) => Ok(signed),
        Ok(None) => Err(redirect(&with_return("sign-in", &visit.address))),
        Err(refusal) => Err(refused(visit, refusal.into())),
    }
}

/// An operator with a second factor.
pub(crate) struct Entered {
    pub(crate) signed: Signed,
    pub(crate) by: Principal,
}

impl Entered {
    /// The Apps that the operator sees.
    ///
    /// # Errors
    /// The page for a call that was refused.
    pub(crate) async fn apps(&self, visit: &Visit) -> Result<Vec<App>, HttpResponse> {
        let by = self.by.clone();
        let apps = visit.run(|service| async move { service.list_apps(&by).await });
        match apps.await {
            Ok(apps) => Ok(apps),
            Err(refusal) => Err(refused(visit, refusal.into())),
        }
    }

    /// Checks an action on the deployment before its form is shown, and again before the fields of the form are.
    ///
    /// # Errors
    /// The second factor, which leads back here, or the page for a role that lacks the right.
    pub(crate) async fn ready(&self, visit: &Visit, action: Action) -> Result<(), HttpResponse> {
        match self.by.is_ready_for(action, Extent::Deployment) {
            Ok(()) => Ok(()),
            Err(refusal) => Err(refused_action(visit, &self.signed, refusal, &visit.address).await),
        }
    }
}

/// The operator who opens a page that needs a second factor (OPR-5).
///
/// # Errors
/// As [`operator`], or a redirect to where the second factor is proved or set up.
pub(crate) async fn entered(visit: &Visit) -> Result<Entered, HttpResponse> {
    enter(visit, operator(visit).await?).await
}

/// The same for an operator who is known.
async fn enter(visit: &Visit, signed: Signed) -> Result<Entered, HttpResponse> {
    match signed.session.principal() {
        Some(by) => Ok(Entered { signed, by }),
        None if signed.session.may_change_factors() => Err(redirect("/console/me")),
        None => Err(to_step_up(&visit.address)),
    }
}

/// The fields of a form of an operator with a second factor.
///
/// # Errors
/// As [`received`] and [`entered`].
pub(crate) async fn received_inside(
    visit: &Visit,
    posted: Posted,
) -> Result<(Form, Entered), HttpResponse> {
    let (fields, signed) = received(visit, posted).await?;
    Ok((fields, enter(visit, signed).await?))
}

/// The response to an action that was refused to an operator. That the right or a second factor is missing is recorded (OPR-7).
pub(crate) async fn refused_action(
    visit: &Visit,
    signed: &Signed,
    refusal: Refusal,
    back: &str,
) -> HttpResponse {
    let code = match &refusal {
        Refusal::StepUpRequired => Some("step_up_required"),
        Refusal::RoleNotAllowed => Some("role_not_allowed"),
        _ => None,
    };
    // Opening a form is no act yet.
    if let Some(code) = code.filter(|_| visit.method == Method::POST) {
        let (request, session) = (visit.request.clone(), signed.session.clone());
        let call = format!("{} {}", visit.method, visit.route);
        let noted = visit.service.run(|service| async move {
            service
                .note_console_refusal(&request, &session, &call, code)
                .await;
        });
        // A panic is already in the log and does not affect the response.
        drop(noted.await);
    }
    match refusal {
        Refusal::StepUpRequired => to_step_up(back),
        other => refused(visit, other.into()),
    }
}

/// The fields of a form and the operator who sent it, counted against the limit of the session.
///
/// # Errors
/// As [`operator`], or the page for a form that is not read or is one too many.
pub(crate) async fn received(
    visit: &Visit,
    posted: Posted,
) -> Result<(Form, Signed), HttpResponse> {
    let fields = posted.0.map_err(|unread| self::unread(visit, unread))?;
    let signed = operator(visit).await?;
    let session = signed.session.clone();
    let admitted =
        visit.run(|service| async move { service.admit_form_of_session(&session).await });
    match admitted.await {
        Ok(()) => Ok((fields, signed)),
        Err(refusal) => Err(refused(visit, refusal.into())),
    }
}

/// A redirect to the page that asks for the second factor, which leads back to `after`.
pub(crate) fn to_step_up(after: &str) -> HttpResponse {
    redirect(&with_return("step-up", after))
}

fn with_return(page: &str, after: &str) -> String {
    let after: String = form_urlencoded::byte_serialize(safe_return(after).as_bytes()).collect();
    format!("{CONSOLE}/{page}?return={after}")
}

/// The page to return to: a path of the console, or else the start page (CON-8).
pub(crate) fn safe_return(wanted: &str) -> &str {
    let start = "/console/";
    let rest = wanted.strip_prefix(start);
    // Browsers read `\` as `/`, and leave out control characters.
    let is_plain = |text: &str| {
        text.bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_.~/?=&%".contains(&byte))
    };
    // They also read `%2e` as a dot of a path.
    let leaves = |rest: &str| {
        let path = rest.split('?').next().unwrap_or_default();
        let path = path.to_ascii_lowercase().replace("%2e", ".");
        path.split('/').any(|segment| segment == "..")
    };
    let is_safe =
        rest.is_some_and(|rest| is_plain(rest) && !rest.starts_with('/') && !leaves(rest));
    if is_safe { wanted } else { start }
}

/// Adds a cookie to a response.
pub(crate) fn with_cookie(mut response: HttpResponse, set: &str) -> HttpResponse {
    if let Ok(value) = set.parse() {
        response.headers_mut().append(SET_COOKIE, value);
    }
    response
}

/// Removes the cookie of a session that has ended.
pub(crate) fn without_session(visit: &Visit, response: HttpResponse) -> HttpResponse {
    with_cookie(response, &Cookie::Session.remove(&visit.settings))
}

/// The page for a call that was refused.
pub(crate) fn refused(visit: &Visit, problem: Problem) -> HttpResponse {
    let status = problem.code().status();
    let too_many = format!("Too many attempts. Try again in {}.", problem.wait());
    let (title, text) = match status {
        StatusCode::NOT_FOUND => (
            "Page not found",
            "The page does not exist, its object was deleted, or it belongs to another App or environment.",
        ),
        StatusCode::FORBIDDEN => ("Not allowed", "Your role does not include this."),
        StatusCode::TOO_MANY_REQUESTS => ("Please wait", &*too_many),
        StatusCode::PAYLOAD_TOO_LARGE => ("Form too large", "This form is too large."),
        status if status.is_server_error() => (
            "Temporarily unavailable",
            "Something does not answer. Wait a minute and try again.",
        ),
        _ => ("This did not work", problem.message()),
    };
    let error = ErrorPage {
        outer: Outer::of(visit),
        status: status.as_u16(),
        title,
        text,
        code: problem.code().as_str(),
        back: "/console/",
        back_text: "View Apps",
    };
    problem.report(&visit.request.id);
    let mut response = page(visit, status, &error);
    if let Some(seconds) = problem.retry_after() {
        response.headers_mut().insert(RETRY_AFTER, seconds.into());
    }
    response
}

/// The page for a form that is not read (CON-3).
pub(crate) fn unread(visit: &Visit, unread: Unread) -> HttpResponse {
    match unread {
        Unread::Bad(problem) => refused(visit, problem),
        Unread::Foreign => {
            let error = ErrorPage {
                outer: Outer::of(visit),
                status: StatusCode::FORBIDDEN.as_u16(),
                title: "This form has expired",
                text: "This form has expired. Reload the page and try again. Nothing was changed.",
                code: "form_expired",
                back: "/console/",
                back_text: "View Apps",
            };
            page(visit, StatusCode::FORBIDDEN, &error)
        }
    }
}

/// `GET assets/{hash}/{name}`
pub(crate) async fn file(visit: Visit, path: Path<(String, String)>) -> HttpResponse {
    let (hash, name) = path.into_inner();
    match assets::file(&hash, &name) {
        Some((kind, content)) => HttpResponse::Ok()
            .insert_header((CONTENT_TYPE, kind))
            .insert_header((CACHE_CONTROL, "public, max-age=31536000, immutable"))
            .body(content),
        None => unknown(visit).await,
    }
}

/// The page for a path that does not exist.
pub(crate) async fn unknown(visit: Visit) -> HttpResponse {
    refused(&visit, Problem::new(Code::NotFound))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CON-8: the redirect after sign-in leads only to a path of the console.
    #[test]
    fn returns_stay_in_the_console() {
        for good in ["/console/", "/console/me", "/console/a/live?x=1&y=%20"] {
            assert_eq!(safe_return(good), good);
        }
        for bad in [
            "",
            "/",
            "/console",
            "/consoleevil",
            "//evil.example",
            "/console//evil.example",
            "/console/../v1/users",
            "/console/a/../../v1",
            "/console/%2E./v1",
            "https://evil.example/console/",
            "/\\evil.example",
            "/console/\\evil.example",
            "/console/\r\nSet-Cookie: a=b",
            "/console/@evil.example",
            "javascript:alert(1)",
            "/console/#//evil.example",
        ] {
            assert_eq!(safe_return(bad), "/console/", "{bad}");
        }
    }
}
