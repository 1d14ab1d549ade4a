//! Which answers pages may read (the CORS protocol: Fetch Standard, section 3.3).
//!
//! Pages of any origin may make the calls that are marked `for_pages` in the table of endpoints, for everybody may know what
//! those answer. An answer to a secret key is none of them: such a key has no place in a page.

use actix_web::HttpResponse;
use actix_web::dev::ServiceRequest;
use actix_web::http::Method;
use actix_web::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD,
    HeaderMap, HeaderValue, ORIGIN,
};

/// For so many seconds a browser does not ask again; no browser keeps the answer for longer.
const MAX_AGE: &str = "7200";
/// What a page needs to wait for the right time, and to report what went wrong.
const EXPOSED: HeaderValue = HeaderValue::from_static(
    "Retry-After, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, X-Request-Id",
);

/// Whether a browser asks what a page may send. It asks without the key that the page has.
pub(crate) fn is_preflight(request: &ServiceRequest) -> bool {
    let headers = request.headers();
    request.method() == Method::OPTIONS
        && headers.contains_key(ORIGIN)
        && headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
}

/// A page may send a GET, with the header that a public token goes into.
pub(crate) fn preflight() -> HttpResponse {
    HttpResponse::NoContent()
        .insert_header((ACCESS_CONTROL_ALLOW_ORIGIN, "*"))
        .insert_header((ACCESS_CONTROL_ALLOW_METHODS, "GET"))
        // A star would leave this very header out.
        .insert_header((ACCESS_CONTROL_ALLOW_HEADERS, "Authorization"))
        .insert_header((ACCESS_CONTROL_MAX_AGE, MAX_AGE))
        .finish()
}

/// Lets pages of any origin read an answer, which may be a refusal.
pub(crate) fn open(headers: &mut HeaderMap) {
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
}
