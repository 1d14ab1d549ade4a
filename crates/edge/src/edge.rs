//! The outermost layer: the request id, the HTTPS rule, the bodies of error responses, and one log line per request.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use actix_web::body::{BodySize, BoxBody, MessageBody};
use actix_web::dev::{Extensions, ServiceRequest, ServiceResponse};
use actix_web::http::header::{
    ALLOW, CACHE_CONTROL, CONNECTION, CONTENT_TYPE, ETAG, HeaderMap, HeaderName, HeaderValue,
    RETRY_AFTER, WWW_AUTHENTICATE,
};
use actix_web::http::{ConnectionType, StatusCode};
use actix_web::middleware::Next;
use actix_web::web::Data;
use actix_web::{Error, HttpMessage, HttpResponse};
use vestry_app::{Caller, Principal};

use crate::https;
use crate::problem::{Code, PageWanted, Problem, page_headers};
use crate::request_id::{self, RequestId};
use crate::route::Route;
use crate::settings::RequestLog;
use crate::state::State;
use crate::{measure, trace};

/// The path under which the pages of the console are.
pub const CONSOLE: &str = "/console";
const NOSNIFF: HeaderName = HeaderName::from_static("x-content-type-options");

/// Runs a request through all inner layers.
pub(crate) async fn edge(
    state: Data<State>,
    mut request: ServiceRequest,
    next: Next<BoxBody>,
) -> Result<ServiceResponse, Error> {
    let started = Instant::now();
    detach(request.headers_mut());
    let id = state.request_ids.of(request.headers());
    let traceparent = trace::parent(request.headers());
    request.extensions_mut().insert(id.clone());
    // Inner layers return an error as a response with the error attached, never as `Err`.
    let response = match https::check(&request, &state.settings) {
        Ok(()) if is_misplaced(&request, state.settings.console_listener) => {
            request.error_response(Problem::no_route())
        }
        Ok(()) => next.call(request).await?,
        Err(problem) => request.error_response(problem),
    };
    let (request, response) = response.into_parts();
    let is_page = request.extensions().contains::<PageWanted>();
    // A probe fails for as long as its cause lasts. The calls that it affects report it.
    let is_probe = request
        .extensions()
        .get::<Route>()
        .is_some_and(|route| https::is_probe(route.as_str()));
    let (mut response, code) = present(response, &id, is_page, is_probe);
    finish_headers(response.headers_mut(), &id);
    if state.settings.draining.has_begun() {
        // Otherwise a client could send its next request just as the connection is closed.
        response
            .head_mut()
            .set_connection_type(ConnectionType::Close);
    }
    let response = ServiceResponse::new(request, response);
    let took = started.elapsed();
    let line = Line {
        id: &id,
        traceparent: traceparent.as_deref(),
        code,
        took,
    };
    let extensions = response.request().extensions();
    let route = extensions.get::<Route>();
    measure::responded(&state, route, &response, code, took);
    line.log(&state, &response, &extensions, route);
    drop(extensions);
    Ok(response)
}

/// Whether a page of the console was requested on the listener of the API, or the reverse, if the console has a listener of its own.
fn is_misplaced(request: &ServiceRequest, console: Option<SocketAddr>) -> bool {
    console.is_some_and(|console| {
        // The decoded path, as the router reads it.
        let path = request.match_info().as_str().strip_prefix(CONSOLE);
        let is_page = path.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        is_page != (request.app_config().local_addr() == console)
    })
}

/// Copies each header value into memory of its own (M-11).
///
/// The framework keeps request heads for reuse. Their values are slices of the read buffer and would keep all of it alive, including a body
/// with passwords and tokens.
fn detach(headers: &mut HeaderMap) {
    headers.retain(|_, value| match HeaderValue::from_bytes(value.as_bytes()) {
        Ok(copy) => {
            *value = copy;
            true
        }
        Err(_not_a_value) => false,
    });
}

/// Writes the body of an error response. Errors that are not a [`Problem`] are mapped to a code of the table.
fn present(
    response: HttpResponse,
    id: &RequestId,
    is_page: bool,
    is_probe: bool,
) -> (HttpResponse, Option<Code>) {
    let Some(error) = response.error() else {
        return (response, None);
    };
    let foreign;
    let problem = match error.as_error::<Problem>() {
        Some(problem) => problem,
        None => {
            foreign = of_the_framework(error.as_response_error().status_code(), error);
            &foreign
        }
    };
    if !is_probe {
        problem.report(id.as_str());
    }
    let (body, form) = if is_page {
        (problem.page(id.as_str()).into_bytes(), page_headers())
    } else {
        let body = serde_json::to_vec(&problem.body(id.as_str())).unwrap_or_default();
        let json = HeaderValue::from_static("application/json");
        (body, vec![(CONTENT_TYPE, json)])
    };
    let code = problem.code;
    let headers = form.into_iter().chain(refusal_headers(problem));
    let mut response = response.set_body(BoxBody::new(body));
    *response.status_mut() = code.status();
    for (name, value) in headers {
        response.headers_mut().insert(name, value);
    }
    (response, Some(code))
}

/// Maps an error raised by the framework.
fn of_the_framework(status: StatusCode, error: &Error) -> Problem {
    match status {
        StatusCode::NOT_FOUND => Problem::no_route(),
        StatusCode::PAYLOAD_TOO_LARGE => Problem::new(Code::BodyTooLarge),
        StatusCode::UNSUPPORTED_MEDIA_TYPE => Problem::new(Code::UnsupportedMediaType),
        status if status.is_client_error() => Problem::new(Code::InvalidRequest),
        _ => Problem::internal(format!("{error:?}")),
    }
}

fn refusal_headers(problem: &Problem) -> Vec<(HeaderName, HeaderValue)> {
    let mut headers = Vec::new();
    if let Some(seconds) = problem.retry_after {
        headers.push((RETRY_AFTER, HeaderValue::from(seconds)));
    }
    if let Some(Ok(methods)) = problem.allow.as_deref().map(HeaderValue::from_str) {
        headers.push((ALLOW, methods));
    }
    if problem.code.status() == StatusCode::UNAUTHORIZED {
        headers.push((WWW_AUTHENTICATE, HeaderValue::from_static("Bearer")));
    }
    if let Some(Ok(etag)) = problem.etag.as_deref().map(HeaderValue::from_str) {
        headers.push((ETAG, etag));
    }
    if problem.closes {
        headers.push((CONNECTION, HeaderValue::from_static("close")));
    }
    headers
}

fn finish_headers(headers: &mut HeaderMap, id: &RequestId) {
    if let Ok(value) = HeaderValue::from_str(id.as_str()) {
        headers.insert(request_id::HEADER, value);
    }
    headers.insert(NOSNIFF, HeaderValue::from_static("nosniff"));
    // Responses contain codes, tokens and personal data, so no intermediary may store them.
    if !headers.contains_key(CACHE_CONTROL) {
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
}

/// What the log line of a request says besides its response.
struct Line<'a> {
    id: &'a RequestId,
    /// The trace that the caller belongs to (PR-141).
    traceparent: Option<&'a str>,
    code: Option<Code>,
    took: Duration,
}

impl Line<'_> {
    /// Logs the route's pattern, never the path: paths contain ids, and queries may contain secrets.
    fn log(
        &self,
        state: &State,
        response: &ServiceResponse,
        extensions: &Extensions,
        route: Option<&Route>,
    ) {
        let status = response.status().as_u16();
        let is_logged = match state.settings.logged.current() {
            RequestLog::All => true,
            RequestLog::Errors => status >= 400,
            RequestLog::Off => false,
        };
        if !is_logged {
            return;
        }
        let caller = extensions.get::<Arc<Caller>>();
        let manager = extensions.get::<Principal>();
        let key_id = match (caller.and_then(|caller| caller.key()), manager) {
            (Some(key), _) => Some(key.id.to_string()),
            (None, Some(manager)) => manager.as_management_key().map(|key| key.id.to_string()),
            (None, None) => None,
        };
        let bytes_out = match response.response().body().size() {
            BodySize::None => Some(0),
            BodySize::Sized(bytes) => Some(bytes),
            BodySize::Stream => None,
        };
        let route = route.map_or(measure::NO_ROUTE, Route::as_str);
        macro_rules! line {
            ($level:ident) => {
                tracing::$level!(
                    request_id = self.id.as_str(),
                    traceparent = self.traceparent,
                    app_id = caller.map(|caller| tracing::field::display(caller.world.app_id)),
                    environment = caller.map(|caller| caller.world.environment.as_str()),
                    key_id,
                    method = method_of(response),
                    route,
                    status,
                    code = self.code.map(Code::as_str),
                    duration_ms = milliseconds(self.took),
                    bytes_out,
                    "request"
                )
            };
        }
        if https::is_probe(route) {
            line!(debug);
        } else {
            line!(info);
        }
    }
}

/// The method, unless the client made it up.
fn method_of(response: &ServiceResponse) -> &'static str {
    let method = response.request().method();
    let known = [
        "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "CONNECT", "TRACE",
    ];
    let mut known = known.into_iter();
    known
        .find(|known| *known == method.as_str())
        .unwrap_or("other")
}

/// Milliseconds, rounded to the microsecond.
fn milliseconds(took: Duration) -> f64 {
    (took.as_secs_f64() * 1_000_000.0).round() / 1_000.0
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;

    use super::*;

    /// With a listener of its own, the console is on that one only, and the API on the others only.
    #[test]
    fn the_console_keeps_to_its_listener() {
        let of = |path: &str, console: Option<&str>| {
            let request = TestRequest::with_uri(path).to_srv_request();
            is_misplaced(&request, console.map(|address| address.parse().unwrap()))
        };
        let here = TestRequest::default().to_srv_request();
        let here = here.app_config().local_addr().to_string();
        let elsewhere = "192.0.2.1:8081";
        for path in ["/console", "/console/", "/console/me?x=1", "/%63onsole/me"] {
            assert!(!of(path, None) && !of(path, Some(&here)), "{path}");
            assert!(of(path, Some(elsewhere)), "{path}");
        }
        for path in ["/", "/v1/users", "/consoles", "/%76%31/users"] {
            assert!(!of(path, None) && !of(path, Some(elsewhere)), "{path}");
            assert!(of(path, Some(&here)), "{path}");
        }
    }
}
