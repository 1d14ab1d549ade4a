//! Errors as a page, for browsers that follow a link, which have no use for JSON.

use std::sync::LazyLock;

use actix_web::http::StatusCode;
use actix_web::http::header::{
    CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue, REFERRER_POLICY,
    X_FRAME_OPTIONS,
};
use sha2::{Digest, Sha256};
use vestry_domain::message::escape_html;

use super::Problem;
use crate::binary::to_base64;

/// Follows the browser's light or dark mode. Long words such as a `request_id` wrap on narrow screens.
const STYLE: &str = ":root{color-scheme:light dark}body{font:1rem/1.5 system-ui,sans-serif;max-width:34rem;margin:15vh auto;\
    padding:0 1rem;color:#1b1b1b;background:#fff;overflow-wrap:anywhere}h1{font-size:1.4rem}small{color:#555}\
    @media(prefers-color-scheme:dark){body{color:#e8e8e8;background:#161616}small{color:#a8a8a8}}";

/// Marks a request of a browser that follows a link, as opposed to a program.
pub(crate) struct PageWanted;

/// Headers of an error page: no scripts, no frames, no styles other than its own, and no referrer for the next site.
pub(crate) fn page_headers() -> Vec<(HeaderName, HeaderValue)> {
    static POLICY: LazyLock<Option<HeaderValue>> = LazyLock::new(|| {
        let style = to_base64(&Sha256::digest(STYLE.as_bytes()));
        let policy = format!(
            "default-src 'none'; style-src 'sha256-{style}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        );
        HeaderValue::from_str(&policy).ok()
    });
    let policy = POLICY
        .clone()
        .map(|policy| (CONTENT_SECURITY_POLICY, policy));
    let fixed = [
        (CONTENT_TYPE, "text/html; charset=utf-8"),
        (REFERRER_POLICY, "no-referrer"),
        (X_FRAME_OPTIONS, "DENY"),
    ];
    let fixed = fixed.map(|(name, value)| (name, HeaderValue::from_static(value)));
    fixed.into_iter().chain(policy).collect()
}

impl Problem {
    /// Renders the page: advice for the visitor, followed by the details for the site's operator.
    pub(crate) fn page(&self, request_id: &str) -> String {
        let (title, advice) = self.advice();
        let code = self.code.as_str();
        let (message, request_id) = (escape_html(&self.message), escape_html(request_id));
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n\
             <h1>{title}</h1>\n<p>{advice}</p>\n\
             <p><small>{code}: {message}<br>{request_id}</small></p>\n</body>\n</html>\n"
        )
    }

    fn advice(&self) -> (&'static str, String) {
        match self.code.status() {
            StatusCode::TOO_MANY_REQUESTS => {
                let wait = self.wait();
                let advice = format!(
                    "Too many sign-ins were started but not finished, from your network or on this site. \
                     Wait {wait}, go back, and try again."
                );
                ("Please wait a little", advice)
            }
            status if status.is_server_error() => {
                let advice = "Wait a minute, go back, and try again.";
                ("Sign-in is temporarily unavailable", advice.to_owned())
            }
            _ => {
                let advice = "Go back to the page you came from and try again. If it fails again, send the details below to the \
                     operator of that page.";
                ("This sign-in could not be started", advice.to_owned())
            }
        }
    }
}

#[cfg(test)]
mod tests;
