//! Which responses web pages can read (the CORS protocol: Fetch Standard, section 3.3).
//!
//! Pages of any origin may make the calls marked `for_pages` in the table of endpoints, because their responses are public. Responses to a
//! secret key are never readable, because such a key does not belong in a page.

use actix_web::HttpResponse;
use actix_web::dev::ServiceRequest;
use actix_web::http::Method;
use actix_web::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD,
    HeaderMap, HeaderValue, ORIGIN,
};

/// Seconds for which a browser caches a preflight response. No browser caches one for longer.
const MAX_AGE: &str = "7200";
/// The headers that a page needs to retry at the right time and to report an error.
const EXPOSED: HeaderValue = HeaderValue::from_static(
    "Retry-After, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, X-Request-Id",
);

/// Whether the request is a CORS preflight. Browsers send preflights without the page's key.
pub(crate) fn is_preflight(request: &ServiceRequest) -> bool {
    let headers = request.headers();
    request.method() == Method::OPTIONS
        && headers.contains_key(ORIGIN)
        && headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
}

/// The preflight response: a page may send a GET with the header that carries a public token.
pub(crate) fn preflight() -> HttpResponse {
    HttpResponse::NoContent()
        .insert_header((ACCESS_CONTROL_ALLOW_ORIGIN, "*"))
        .insert_header((ACCESS_CONTROL_ALLOW_METHODS, "GET"))
        // A wildcard would not cover `Authorization`.
        .insert_header((ACCESS_CONTROL_ALLOW_HEADERS, "Authorization"))
        .insert_header((ACCESS_CONTROL_MAX_AGE, MAX_AGE))
        .finish()
}

/// Lets pages of any origin read a response, including an error.
pub(crate) fn open(headers: &mut HeaderMap) {
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
}
