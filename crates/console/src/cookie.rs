//! The cookies of the console: the session token, a random value that binds the forms shown before signing in, the theme, and the result
//! of the last form.

use actix_web::http::header::{COOKIE, HeaderMap};
use vestry_domain::Secret;

use crate::ConsoleSettings;

/// A cookie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cookie {
    /// The token of the session.
    Session,
    /// A random value of the browser, until it has a session.
    Browser,
    /// The theme.
    Theme,
    /// The result of the last form, until a page shows it.
    Flash,
}

impl Cookie {
    /// Only over HTTPS can a cookie have the `__Host-` prefix, which keeps sibling hosts from setting it.
    const fn name(self, is_secure: bool) -> &'static str {
        match (self, is_secure) {
            (Self::Session, true) => "__Host-vestry_console",
            (Self::Session, false) => "vestry_console_dev",
            (Self::Browser, true) => "__Host-vestry_console_form",
            (Self::Browser, false) => "vestry_console_form_dev",
            (Self::Theme, true) => "__Host-vestry_console_theme",
            (Self::Theme, false) => "vestry_console_theme_dev",
            (Self::Flash, true) => "__Host-vestry_console_flash",
            (Self::Flash, false) => "vestry_console_flash_dev",
        }
    }

    /// `Set-Cookie` for a value. Themes are kept for a year, everything else until the browser closes.
    pub(crate) fn set(self, settings: &ConsoleSettings, value: &Secret<String>) -> String {
        self.set_text(settings, value.expose())
    }

    /// The same for a value that is no secret.
    pub(crate) fn set_text(self, settings: &ConsoleSettings, value: &str) -> String {
        let is_secure = settings.is_secure();
        let secure = if is_secure { "; Secure" } else { "" };
        let age = match self {
            Self::Theme => "; Max-Age=31536000",
            Self::Session | Self::Browser | Self::Flash => "",
        };
        let name = self.name(is_secure);
        format!("{name}={value}; Path=/; HttpOnly; SameSite=Lax{secure}{age}")
    }

    /// `Set-Cookie` that removes it.
    pub(crate) fn remove(self, settings: &ConsoleSettings) -> String {
        format!("{}; Max-Age=0", self.set_text(settings, ""))
    }

    /// The value that the browser sent; `None` if it sent none, or several.
    pub(crate) fn read(
        self,
        settings: &ConsoleSettings,
        headers: &HeaderMap,
    ) -> Option<Secret<String>> {
        let name = self.name(settings.is_secure());
        let lines = headers
            .get_all(COOKIE)
            .filter_map(|line| line.to_str().ok());
        let pairs = lines.flat_map(|line| line.split(';'));
        let mut values = pairs.filter_map(|pair| {
            let (own, value) = pair.trim().split_once('=')?;
            (own == name && is_plain(value)).then_some(value)
        });
        match (values.next(), values.next()) {
            (Some(value), None) => Some(Secret::new(value.to_owned())),
            _ => None,
        }
    }
}

/// Our values consist of letters and digits.
fn is_plain(value: &str) -> bool {
    (1..=200).contains(&value.len()) && value.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use actix_web::http::header::HeaderValue;

    use super::*;

    fn settings(origin: &str) -> ConsoleSettings {
        ConsoleSettings {
            origin: origin.to_owned(),
        }
    }

    #[test]
    fn cookies_are_bound_to_their_host() {
        let token = Secret::new("abc".to_owned());
        for (origin, expected) in [
            (
                "https://console.example.com",
                "__Host-vestry_console=abc; Path=/; HttpOnly; SameSite=Lax; Secure",
            ),
            (
                "http://127.0.0.1:8080",
                "vestry_console_dev=abc; Path=/; HttpOnly; SameSite=Lax",
            ),
        ] {
            assert_eq!(Cookie::Session.set(&settings(origin), &token), expected);
            let removed = Cookie::Session.remove(&settings(origin));
            assert!(removed.ends_with("; Max-Age=0"), "{removed}");
        }
    }

    /// A second value was set by another site, so none of them counts.
    #[test]
    fn a_cookie_is_read_once() {
        let settings = settings("https://console.example.com");
        for (sent, expected) in [
            (&["__Host-vestry_console=abc"][..], Some("abc")),
            (&["a=b; __Host-vestry_console=abc; c=d"], Some("abc")),
            (
                &["__Host-vestry_console=abc; __Host-vestry_console=xyz"],
                None,
            ),
            (
                &["__Host-vestry_console=abc", "__Host-vestry_console=abc"],
                None,
            ),
            (&["vestry_console_dev=abc"], None),
            (&["__Host-vestry_console="], None),
            (&["__Host-vestry_console=a\"b"], None),
            (&[], None),
        ] {
            let mut headers = HeaderMap::new();
            for line in sent {
                headers.append(COOKIE, HeaderValue::from_static(line));
            }
            let read = Cookie::Session.read(&settings, &headers);
            assert_eq!(read.as_ref().map(|value| value.expose().as_str()), expected);
        }
    }
}
