//! Redirect URLs that an App has registered.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use url::Url;

use crate::Invalid;
use crate::domain_name::{a_labels, u_labels};

/// The kind of users that a redirect URL is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RedirectKind {
    /// Existing users.
    Login,
    /// New users.
    Registration,
    /// Invited users.
    Invite,
}

impl RedirectKind {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Login, Self::Registration, Self::Invite];

    /// `login`, `registration` or `invite`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Login => "login",
            Self::Registration => "registration",
            Self::Invite => "invite",
        }
    }
}

impl fmt::Display for RedirectKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for RedirectKind {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        Self::ALL
            .into_iter()
            .find(|kind| kind.as_str() == text)
            .ok_or_else(|| Invalid::value("kind", "kind must be login, registration or invite"))
    }
}

/// A URL that may be registered.
///
/// - `https`, or `http` on a loopback host; no user information, no fragment. `https://*.example.com/path` matches any single label in
///   place of the star. `http://127.0.0.1/path` and `http://[::1]/path` match any port (RFC 8252, section 7.3).
/// - A native app's private-use scheme, `com.example.app:/path` (RFC 8252, section 7.1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RedirectTarget(String);

/// Maximum number of redirect URLs in one environment.
pub const MAX_URLS: usize = 500;
const MAX_LENGTH: usize = 2048;
/// The start of a wildcard URL.
const PATTERN: &str = "https://*.";
/// The start of loopback URLs that match any port, because a native app listens on whichever one is free. Names are not included, because a
/// name can resolve to anything (RFC 8252, section 8.3).
const LOOPBACK: [&str; 2] = ["http://127.0.0.1", "http://[::1]"];
/// Browser schemes that an app's scheme must not resemble; nor may it start with `http`.
const SCHEMES_OF_BROWSERS: [&str; 12] = [
    "about",
    "blob",
    "content",
    "data",
    "file",
    "ftp",
    "intent",
    "javascript",
    "mailto",
    "vbscript",
    "ws",
    "wss",
];
const ABSOLUTE: &str = "url must be absolute, such as https://app.example.com/callback, or com.example.app:/callback for a native app";
/// The query parameter for the token of a link.
const TOKEN_PARAMETER: &str = "token";
/// The query parameter for an error code.
const ERROR_PARAMETER: &str = "error";
/// The query parameter for the caller's own state.
const STATE_PARAMETER: &str = "state";
/// Maximum length of a caller's state in bytes, because it is sent in URLs.
const STATE_LENGTH: usize = 512;
/// The characters that are escaped in a query: all but the unreserved ones (RFC 3986, section 2.3).
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

impl RedirectTarget {
    /// Checks a URL for registration: one that [`RedirectTarget::parse`] accepts, without `.` and `..` segments in its path. Browsers
    /// resolve those before a redirect, so the URL would never match the registered one.
    ///
    /// # Errors
    /// As for [`RedirectTarget::parse`], or if it has a dot segment, percent-encoded or not.
    pub fn register(text: &str) -> Result<Self, Invalid> {
        let target = Self::parse(text)?;
        let path = text.split('?').next().unwrap_or_default();
        if path.split('/').any(is_dot_segment) {
            return refuse(
                "url must not have . or .. (or %2e) as a path segment: browsers resolve them, so it would never match; \
                 register the resolved form, such as https://app.example.com/b instead of https://app.example.com/a/../b",
            );
        }
        Ok(target)
    }

    /// Parses a registered URL. The text is kept as written: matching is exact.
    ///
    /// # Errors
    /// If it is not an absolute URL, or has user information or a fragment. Also if its scheme is neither a web scheme nor a native app's
    /// own, or if it uses plain `http` to another machine.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        if text.len() > MAX_LENGTH
            || text
                .chars()
                .any(|c| c.is_control() || c.is_whitespace() || c == '\\')
        {
            return refuse(
                "url must have at most 2048 characters and no spaces, backslashes or control characters",
            );
        }
        let url = match text.split_once(':') {
            Some((scheme, rest)) if is_of_an_app(scheme) => private_use(text, scheme, rest)?,
            Some(_) | None => web(text)?,
        };
        if url.query_pairs().any(|(name, _)| name == TOKEN_PARAMETER) {
            return refuse("url must not contain a `token` parameter");
        }
        Ok(Self(text.to_owned()))
    }

    /// The URL as registered.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it matches many URLs, and therefore cannot be redirected to as it is.
    pub fn is_pattern(&self) -> bool {
        self.0.starts_with(PATTERN)
    }

    /// Whether a URL matches the registered one, which means the same text. In a wildcard URL, the star matches one label of lower-case
    /// letters, digits and inner hyphens (ML-4, O-1). A loopback URL without a port also matches the same text with one.
    ///
    /// Nothing else is parsed or normalized: open redirects arise when two programs parse a URL differently. The only exception is an
    /// international host, which is compared by its A-labels.
    pub fn admits(&self, url: &str) -> bool {
        if let Some(registered) = self.0.strip_prefix(PATTERN) {
            let after_scheme = url.strip_prefix("https://");
            let split = after_scheme.and_then(|rest| rest.split_once('.'));
            return split.is_some_and(|(label, rest)| {
                is_label(label) && in_a_labels(rest) == in_a_labels(registered)
            });
        }
        with_a_labels(&self.0) == with_a_labels(url) || self.admits_with_port(url).unwrap_or(false)
    }

    /// `None` if the URL does not add a port.
    fn admits_with_port(&self, url: &str) -> Option<bool> {
        let host = LOOPBACK.into_iter().find(|host| self.0.starts_with(host))?;
        let registered = self.0.strip_prefix(host)?;
        let ends_with_host = registered.is_empty() || registered.starts_with(['/', '?']);
        let after_colon = url.strip_prefix(host)?.strip_prefix(':')?;
        let digits = after_colon.bytes().take_while(u8::is_ascii_digit).count();
        let (port, rest) = after_colon.split_at_checked(digits)?;
        Some(ends_with_host && is_port(port) && rest == registered)
    }

    /// The URL to redirect to: the one that a call names, or else this one.
    ///
    /// `None` if the named URL does not match, or if none is named and this is a pattern.
    pub fn landing(&self, url: Option<&str>) -> Option<Landing> {
        match url {
            Some(url) => self.admits(url).then(|| Landing::new(url)),
            None => (!self.is_pattern()).then(|| Landing::new(&self.0)),
        }
    }
}

/// A URL that matches a registered one and can therefore be redirected to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Landing(String);

impl Landing {
    /// Converts the host to A-labels, because browsers disagree on those of `ß` and a few other letters.
    fn new(url: &str) -> Self {
        Self(with_a_labels(url).into_owned())
    }

    /// The URL as built by [`Landing::with_token`], but without the token.
    pub fn without_token(&self, state: Option<&CallerState>) -> String {
        self.with_token("", state)
    }

    /// The URL with `?token=…` appended, or `&token=…` if it already has a query, followed by the caller's state. The token is alphanumeric
    /// and needs no escaping.
    pub fn with_token(&self, token: &str, state: Option<&CallerState>) -> String {
        self.with(TOKEN_PARAMETER, token, state)
    }

    /// Same with `error=…`. The code must not need escaping.
    pub fn with_error(&self, code: &str, state: Option<&CallerState>) -> String {
        self.with(ERROR_PARAMETER, code, state)
    }

    fn with(&self, parameter: &str, value: &str, state: Option<&CallerState>) -> String {
        let url = &self.0;
        let separator = match url.split_once('?') {
            None => "?",
            Some((_, query)) if query.is_empty() || query.ends_with('&') => "",
            Some(_) => "&",
        };
        let landing = format!("{url}{separator}{parameter}={value}");
        match state {
            None => landing,
            Some(state) => {
                let state = utf8_percent_encode(&state.0, ESCAPED);
                format!("{landing}&{STATE_PARAMETER}={state}")
            }
        }
    }
}

/// The state from a start call, returned to the App with the redirect: 1 to 512 printable ASCII characters. It is the App's own and is not
/// interpreted here; the `state` that a provider sees is a different one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallerState(String);

impl CallerState {
    /// Checks a caller's state.
    ///
    /// # Errors
    /// If it is empty, too long, or contains anything but printable ASCII.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let is_printable = text.bytes().all(|byte| (b' '..=b'~').contains(&byte));
        if (1..=STATE_LENGTH).contains(&text.len()) && is_printable {
            return Ok(Self(text.to_owned()));
        }
        Err(Invalid::value(
            STATE_PARAMETER,
            "state must be 1 to 512 printable ASCII characters",
        ))
    }

    /// The state as sent.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for CallerState {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        Self::parse(text)
    }
}

fn refuse<T>(why: &'static str) -> Result<T, Invalid> {
    Err(Invalid::value("url", why))
}

/// The URL with an international host converted to A-labels.
fn with_a_labels(url: &str) -> Cow<'_, str> {
    match url.strip_prefix("https://") {
        Some(rest) if !rest.is_ascii() => Cow::Owned(format!("https://{}", in_a_labels(rest))),
        Some(_) | None => Cow::Borrowed(url),
    }
}

/// Same for a URL without its scheme. A host that is not spelled in its U-labels stays as it is: only exact text is compared.
fn in_a_labels(rest: &str) -> Cow<'_, str> {
    let end = rest.find(['/', '?', '#', ':']).unwrap_or(rest.len());
    let (host, tail) = rest.split_at(end);
    let (star, host) = match host.strip_prefix("*.") {
        Some(host) => ("*.", host),
        None => ("", host),
    };
    match a_labels(host).filter(|name| u_labels(name) == host) {
        Some(name) if !host.is_ascii() => Cow::Owned(format!("{star}{name}{tail}")),
        Some(_) | None => Cow::Borrowed(rest),
    }
}

/// Checks a web or loopback URL; the star of a wildcard URL is replaced by a label for parsing.
fn web(text: &str) -> Result<Url, Invalid> {
    if !names_its_host(text) {
        return refuse(ABSOLUTE);
    }
    let concrete = match text.strip_prefix(PATTERN) {
        Some(rest) => format!("https://label.{rest}"),
        None => text.to_owned(),
    };
    if concrete.contains('*') {
        return refuse(
            "a wildcard is only allowed as the whole first label: https://*.example.com/path",
        );
    }
    let Ok(url) = Url::parse(&concrete) else {
        return refuse(ABSOLUTE);
    };
    let loopback = match url.host() {
        Some(url::Host::Domain(name)) => name == "localhost",
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        None => return refuse("url must have a host"),
    };
    match url.scheme() {
        "https" => {}
        "http" if loopback => {}
        _ => return refuse("url must use https; plain http is only allowed for localhost"),
    }
    if !url.username().is_empty() || url.password().is_some() || url.fragment().is_some() {
        return refuse("url must not contain user information or a fragment");
    }
    // `https://*.com/` would match every site. Beyond that, only the App's developer knows which domains are open to the public.
    let is_pattern = text.starts_with(PATTERN);
    if is_pattern && url.domain().is_none_or(|host| labels(host) < 3) {
        return refuse(
            "a wildcard must be followed by a domain of at least two labels: https://*.example.com/path",
        );
    }
    Ok(url)
}

/// Whether a scheme can be an app's own. It must contain a dot, as it is the reversed domain name of the app's maker (RFC 8252, section
/// 7.1). No browser scheme has one.
fn is_of_an_app(scheme: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    scheme.contains('.') && scheme.bytes().all(allowed)
}

/// Checks a URL such as `com.example.app:/path`. Apps and systems compare schemes in lower case, so a registered one must be in lower case.
fn private_use(text: &str, scheme: &str, rest: &str) -> Result<Url, Invalid> {
    let top = scheme.split('.').next().unwrap_or_default();
    if !scheme.split('.').all(is_label) || !top.starts_with(|c: char| c.is_ascii_lowercase()) {
        return refuse(
            "the scheme of a native app must be a reversed domain name in lower case, such as com.example.app:/callback",
        );
    }
    // Guards against confusing people, not browsers.
    if top.starts_with("http") || SCHEMES_OF_BROWSERS.contains(&top) {
        return refuse("the scheme of a native app must not start like a browser scheme");
    }
    // There is no authority to name after two slashes.
    if !rest.starts_with('/') || rest.starts_with("//") {
        return refuse(
            "the scheme of a native app must be followed by exactly one slash: com.example.app:/callback",
        );
    }
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~!$&'()+,;=:@/?%".contains(&byte);
    if !rest.bytes().all(allowed) {
        return refuse(
            "the path and query of a native app's URL must have only RFC 3986 characters, no star and no fragment",
        );
    }
    Url::parse(text).or_else(|_no_url| refuse(ABSOLUTE))
}

/// Whether a browser treats the segment as `.` or `..` (URL Standard, section 4.4).
fn is_dot_segment(segment: &str) -> bool {
    let decoded = segment.to_ascii_lowercase().replace("%2e", ".");
    decoded == "." || decoded == ".."
}

/// Whether the host directly follows `https://` or `http://`. URL parsers also accept fewer or more slashes. On an `https` page, browsers
/// resolve `https:/app.example.com` to a path of that page's own site.
fn names_its_host(text: &str) -> bool {
    text.split_once("://").is_some_and(|(scheme, rest)| {
        let is_known = ["https", "http"]
            .iter()
            .any(|known| scheme.eq_ignore_ascii_case(known));
        is_known && !rest.starts_with('/')
    })
}

/// One label of a host name in its ASCII form (RFC 1123, section 2.1), lower case.
fn is_label(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=63).contains(&text.len())
        && text.bytes().all(allowed)
        && !text.starts_with('-')
        && !text.ends_with('-')
}

fn labels(host: &str) -> usize {
    host.split('.').filter(|label| !label.is_empty()).count()
}

/// Whether the text is a port number in its usual form.
fn is_port(text: &str) -> bool {
    !text.starts_with('0') && text.parse::<u16>().is_ok()
}

#[cfg(test)]
mod tests;
