//! The page that leads to an identity provider.
//!
//! A redirect would not get there: browsers apply `form-action` to the redirects of a form too (CSP Level 3, section 6.4.1). To allow the
//! provider's origin would not be enough. Many providers redirect to other hosts.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use askama::Template;

use crate::frame::Outer;
use crate::page::page;
use crate::visit::Visit;

#[derive(Template)]
#[template(path = "leave.html")]
struct LeavePage<'a> {
    outer: Outer,
    title: &'a str,
    /// The name of the provider.
    to: &'a str,
    url: &'a str,
}

/// The page with this title that leads to the provider.
pub(crate) fn leave(visit: &Visit, title: &str, to: &str, url: &str) -> HttpResponse {
    let template = LeavePage {
        outer: Outer::of(visit),
        title,
        to,
        url,
    };
    page(visit, StatusCode::OK, &template)
}
