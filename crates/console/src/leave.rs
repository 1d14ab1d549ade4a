//! The page that leads to an identity provider, and the query with which the browser comes back.
//!
//! A redirect would not get there: browsers apply `form-action` to the redirects of a form too (CSP Level 3, section 6.4.1). To allow the
//! provider's origin would not be enough. Many providers redirect to other hosts.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use askama::Template;
use serde::Deserialize;
use vestry_app::identity::oauth::Callback;
use vestry_domain::Secret;

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

/// The query with which the browser comes back.
#[derive(Deserialize)]
pub(crate) struct Returned {
    pub(crate) state: Option<String>,
    code: Option<String>,
    error: Option<String>,
    iss: Option<String>,
    user: Option<String>,
}

impl Returned {
    /// The same for the use case. `browser` is the random value of the browser, if the flow is bound to one.
    pub(crate) fn callback(self, browser: Option<Secret<String>>) -> Callback {
        Callback {
            state: self.state.map(Secret::new),
            code: self.code.map(Secret::new),
            error: self.error,
            issuer: self.iss,
            user: self.user,
            browser,
        }
    }
}
