//! Allowed origins of authenticator responses.

use url::Url;

use super::PasskeyDomain;
use crate::Invalid;

/// Maximum length of a registered origin.
const MAX_LENGTH: usize = 300;
/// The prefix that Android browsers put before the fingerprint of an app that acts for a website.
const ANDROID: &str = "android:apk-key-hash:";

/// The origins that may use passkeys of one domain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origins {
    /// The domain.
    pub domain: PasskeyDomain,
    /// Exactly these origins, if the App listed any; otherwise `https` on the domain and its subdomains, on the default port.
    pub listed: Vec<String>,
    /// Origins of other sites that may embed the App in a frame.
    pub embedders: Vec<String>,
}

impl Origins {
    /// Whether a ceremony is allowed on this origin, compared exactly as the browser wrote it.
    ///
    /// On `localhost`, which only test worlds have, any port is allowed, with `http` or `https`.
    pub fn allow(&self, origin: &str) -> bool {
        if self.domain.is_localhost() {
            return plain(origin).is_some_and(|url| {
                matches!(url.scheme(), "http" | "https")
                    && url.host_str() == Some(self.domain.as_str())
            });
        }
        if !self.listed.is_empty() {
            return self.listed.iter().any(|listed| listed == origin);
        }
        plain(origin).is_some_and(|url| {
            url.scheme() == "https"
                && url.port().is_none()
                && url.host_str().is_some_and(|host| self.domain.covers(host))
        })
    }

    /// Whether the App may be framed at all.
    pub fn may_be_framed(&self) -> bool {
        !self.embedders.is_empty()
    }

    /// Whether a page of this origin may frame the App.
    pub fn allow_around(&self, top: &str) -> bool {
        self.embedders.iter().any(|embedder| embedder == top)
    }
}

/// Parses an origin in the form that browsers write: nothing after the port, and no default port.
fn plain(origin: &str) -> Option<Url> {
    let url = Url::parse(origin).ok()?;
    (url.origin().ascii_serialization() == origin).then_some(url)
}

/// Checks an origin that an App wants to list.
///
/// # Errors
/// If it is neither `https://` with a host and an optional port, nor `android:apk-key-hash:` with a fingerprint.
pub fn check_origin(param: &'static str, text: &str) -> Result<(), Invalid> {
    let is_site = plain(text).is_some_and(|url| url.scheme() == "https");
    let is_app = text.strip_prefix(ANDROID).is_some_and(|hash| {
        !hash.is_empty()
            && hash
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
    });
    if text.len() <= MAX_LENGTH && !text.contains('*') && (is_site || is_app) {
        return Ok(());
    }
    Err(Invalid::value(
        param,
        format!("{param} must list origins such as https://app.example.com"),
    ))
}
