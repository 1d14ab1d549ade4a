//! Forms: a size limit, a check that one of our own pages sent them, a limit by client address, and their fields (CON-3).

use std::future::Future;
use std::pin::Pin;

use actix_web::dev::Payload;
use actix_web::http::header::{CONTENT_TYPE, HeaderMap, HeaderName, ORIGIN};
use actix_web::{FromRequest, HttpRequest};
use subtle::ConstantTimeEq;
use url::form_urlencoded;
use vestry_domain::Secret;
use vestry_domain::token::TokenHash;
use vestry_edge::{CONSOLE, Problem, body};

use crate::visit::Visit;

const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// The name of the field with the token that each form carries.
pub(crate) const TOKEN: &str = "form_token";

/// Why a form is not read.
#[derive(Debug)]
pub(crate) enum Unread {
    /// Another site sent it, or it belongs to another session.
    Foreign,
    /// It is too large or no form, or too many were sent.
    Bad(Problem),
}

/// The fields of a form that one of our pages sent in this session.
pub(crate) struct Form {
    fields: Vec<(String, Secret<String>)>,
}

/// A posted form, accepted or not. Handlers answer with a page in both cases.
pub(crate) struct Posted(pub(crate) Result<Form, Unread>);

impl FromRequest for Posted {
    type Error = Problem;
    type Future = Pin<Box<dyn Future<Output = Result<Self, Problem>>>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let (request, payload) = (request.clone(), payload.take());
        Box::pin(async move { Ok(Self(read(&request, payload).await)) })
    }
}

async fn read(request: &HttpRequest, payload: Payload) -> Result<Form, Unread> {
    let visit = Visit::extract(request).await.map_err(Unread::Bad)?;
    if !is_from_us(request.headers(), &visit.settings.origin) {
        return Err(Unread::Foreign);
    }
    let kind = request.headers().get(CONTENT_TYPE);
    if kind.is_none_or(|kind| kind.as_bytes() != b"application/x-www-form-urlencoded") {
        return Err(Unread::Foreign);
    }
    let bytes = body::read(request, payload).await.map_err(Unread::Bad)?;
    let fields = form_urlencoded::parse(&bytes)
        .map(|(name, value)| (name.into_owned(), Secret::new(value.into_owned())));
    let form = Form {
        fields: fields.collect(),
    };
    let presented = form.secret(TOKEN);
    // Forms that are shown before signing in are bound to the browser, all others to the session.
    let base = match is_before_sign_in(&visit.route) {
        true => &visit.browser,
        false => &visit.token,
    };
    let is_ours = base.as_ref().is_some_and(|base| {
        let expected = token_of(base);
        bool::from(expected.as_bytes().ct_eq(presented.expose().as_bytes()))
    });
    if !is_ours {
        return Err(Unread::Foreign);
    }
    // Counted only now, so that a page of another site does not use up the limit of its visitor.
    if is_before_sign_in(&visit.route) {
        let asked = visit.request.clone();
        let admitted = visit
            .run(|service| async move { service.admit_form_before_sign_in(&asked).await })
            .await;
        admitted.map_err(|refusal| Unread::Bad(refusal.into()))?;
    }
    Ok(form)
}

/// Decided by the route: a path can name the same page in several ways, such as `/console/%73ign-in`.
fn is_before_sign_in(route: &str) -> bool {
    let page = route.strip_prefix(CONSOLE).unwrap_or_default();
    page == "/join" || page.starts_with("/sign-in")
}

/// The token of the forms of a session, or of a browser without one. It does not reveal the value it is made from.
pub(crate) fn token_of(base: &Secret<String>) -> String {
    let TokenHash(hash) = TokenHash::of(&format!("console form {}", base.expose()));
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Whether a page of our origin sent the request.
fn is_from_us(headers: &HeaderMap, origin: &str) -> bool {
    match headers.get(FETCH_SITE) {
        Some(site) => site.as_bytes() == b"same-origin",
        None => headers
            .get(ORIGIN)
            .is_some_and(|from| from.as_bytes() == origin.as_bytes()),
    }
}

impl Form {
    /// The value of a field; `""` if it is missing. The first of several counts.
    pub(crate) fn text(&self, name: &str) -> &str {
        let mut fields = self.fields.iter();
        let found = fields.find(|(own, _)| own == name);
        found.map_or("", |(_, value)| value.expose())
    }

    /// The values of a field that can be there several times.
    pub(crate) fn all(&self, name: &str) -> Vec<String> {
        let own = self.fields.iter().filter(|(own, _)| own == name);
        own.map(|(_, value)| value.expose().clone()).collect()
    }

    /// The same as [`Form::text`], for secrets.
    pub(crate) fn secret(&self, name: &str) -> Secret<String> {
        Secret::new(self.text(name).to_owned())
    }
}

#[cfg(test)]
mod tests {
    use actix_web::http::header::HeaderValue;

    use super::*;

    #[test]
    fn only_our_own_pages_may_send_a_form() {
        let origin = "https://console.example.com";
        for (site, from, expected) in [
            (Some("same-origin"), None, true),
            (Some("same-origin"), Some("null"), true),
            (Some("same-site"), Some(origin), false),
            (Some("cross-site"), Some(origin), false),
            (Some("none"), None, false),
            (None, Some(origin), true),
            (
                None,
                Some("https://console.example.com.evil.example"),
                false,
            ),
            (None, Some("null"), false),
            (None, None, false),
        ] {
            let mut headers = HeaderMap::new();
            if let Some(site) = site {
                headers.insert(FETCH_SITE, HeaderValue::from_static(site));
            }
            if let Some(from) = from {
                headers.insert(ORIGIN, HeaderValue::from_str(from).unwrap());
            }
            assert_eq!(is_from_us(&headers, origin), expected, "{site:?} {from:?}");
        }
    }

    #[test]
    fn tokens_differ_by_session() {
        let of = |text: &str| token_of(&Secret::new(text.to_owned()));
        assert_ne!(of("a"), of("b"));
        assert_eq!(of("a"), of("a"));
        assert_eq!(of("a").len(), 64);
    }
}
