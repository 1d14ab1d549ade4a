//! Where the answer of an authenticator may come from.

use url::Url;

use super::PasskeyDomain;
use crate::Invalid;

/// Longest origin anybody may register.
const MAX_LENGTH: usize = 300;
/// What browsers on Android put before the fingerprint of an app that stands for a website.
const ANDROID: &str = "android:apk-key-hash:";

/// The origins that may use passkeys of one domain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origins {
    /// The domain.
    pub domain: PasskeyDomain,
    /// Exactly these, where the App named any; else `https` on the domain and below it, on the default port.
    pub listed: Vec<String>,
    /// Pages of other sites in which the App may stand as a frame.
    pub embedders: Vec<String>,
}

impl Origins {
    /// Whether a ceremony may have taken place on this origin, which is compared as the browser wrote it.
    ///
    /// On `localhost`, which only test worlds have, every port will do, with `http` as with `https`.
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

    /// Whether the App may stand in a frame at all.
    pub fn may_be_framed(&self) -> bool {
        !self.embedders.is_empty()
    }

    /// Whether the App may stand in a frame of a page of this origin.
    pub fn allow_around(&self, top: &str) -> bool {
        self.embedders.iter().any(|embedder| embedder == top)
    }
}

/// An origin, if it is written as browsers write it: nothing after the port, and no port that goes without saying.
fn plain(origin: &str) -> Option<Url> {
    let url = Url::parse(origin).ok()?;
    (url.origin().ascii_serialization() == origin).then_some(url)
}

/// Checks an origin that an App wants to list.
///
/// # Errors
/// Neither `https://` with a host and perhaps a port, nor `android:apk-key-hash:` with a fingerprint.
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
