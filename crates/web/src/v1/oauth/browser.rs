//! The cookie that binds a sign-in to the browser that started it (O-2).

use actix_web::http::header::{COOKIE, HeaderMap};
use vestry_app::Service;
use vestry_domain::Secret;
use vestry_domain::provider::{FLOW_LIFETIME, browser_cookie};
use vestry_domain::token::TokenHash;

/// Only over `https` can a cookie have the `__Host-` prefix, which keeps sibling hosts from setting it.
fn name(service: &Service, state: &Secret<String>) -> String {
    let prefix = if service.is_https() { "__Host-" } else { "" };
    let state = TokenHash::of(state.expose());
    format!("{prefix}{}", browser_cookie(&state))
}

/// `Set-Cookie` for the browser that is sent to the provider.
///
/// If the provider will post back cross-site, the cookie must be sent with that request too, which browsers allow over `https` only.
pub(super) fn set(
    service: &Service,
    state: &Secret<String>,
    value: &Secret<String>,
    is_posted_back: bool,
) -> String {
    let (name, value) = (name(service, state), value.expose());
    let attributes = attributes(service, is_posted_back);
    format!("{name}={value}; Max-Age={}{attributes}", FLOW_LIFETIME.0)
}

/// `Set-Cookie` that removes the cookie.
pub(super) fn unset(service: &Service, state: &Secret<String>) -> String {
    let attributes = attributes(service, false);
    format!("{}=; Max-Age=0{attributes}", name(service, state))
}

fn attributes(service: &Service, is_posted_back: bool) -> &'static str {
    match (service.is_https(), is_posted_back) {
        (true, true) => "; Path=/; HttpOnly; Secure; SameSite=None",
        (true, false) => "; Path=/; HttpOnly; Secure; SameSite=Lax",
        (false, _) => "; Path=/; HttpOnly; SameSite=Lax",
    }
}

/// The value of this sign-in's cookie, if the browser sent one.
pub(super) fn get(
    service: &Service,
    headers: &HeaderMap,
    state: &Secret<String>,
) -> Option<Secret<String>> {
    let wanted = name(service, state);
    let lines = headers
        .get_all(COOKIE)
        .filter_map(|line| line.to_str().ok());
    let mut cookies = lines.flat_map(|line| line.split(';'));
    cookies.find_map(|cookie| {
        let (name, value) = cookie.trim().split_once('=')?;
        (name == wanted).then(|| Secret::new(value.to_owned()))
    })
}
