//! Redirect URLs an App has registered.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use url::Url;

use crate::Invalid;
use crate::domain_name::{a_labels, u_labels};

/// What a redirect URL may be used for.
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
/// - `https`, or `http` on a loopback host; no user, no fragment. `https://*.example.com/path` stands for one label in front of the
///   host, and `http://127.0.0.1/path` and `http://[::1]/path` for every port (RFC 8252, section 7.3).
/// - A native app's private-use scheme, `com.example.app:/path` (RFC 8252, section 7.1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RedirectTarget(String);

const MAX_LENGTH: usize = 2048;
/// How the form that stands for many hosts begins.
const PATTERN: &str = "https://*.";
/// How URLs on this machine begin that are admitted on any port: a native app listens on one that is free at the moment. Names
/// are none of them, for a name is what somebody resolves it to (RFC 8252, section 8.3).
const LOOPBACK: [&str; 2] = ["http://127.0.0.1", "http://[::1]"];
/// What the scheme of an app must not be mistaken for; nor for anything that begins with `http`.
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
/// Where the token of a link stands in the query.
const TOKEN_PARAMETER: &str = "token";
/// Where the code of a failure stands in the query.
const ERROR_PARAMETER: &str = "error";
/// Where the caller's own state stands in the query.
const STATE_PARAMETER: &str = "state";
/// Longest state of a caller, in bytes: it travels in URLs.
const STATE_LENGTH: usize = 512;
/// What is escaped in a query: all but the unreserved characters (RFC 3986, section 2.3).
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

impl RedirectTarget {
    /// Checks a URL that somebody wants to register: one that [`RedirectTarget::parse`] takes, without `.` and `..` as segments
    /// of its path. Browsers resolve those before they go anywhere, so that the URL would never be the registered one.
    ///
    /// # Errors
    /// As for [`RedirectTarget::parse`], or a dot segment, percent-encoded or not.
    pub fn register(text: &str) -> Result<Self, Invalid> {
        let target = Self::parse(text)?;
        let path = text.split('?').next().unwrap_or_default();
        if path.split('/').any(is_dot_segment) {
            return refuse(
                "url must not have . or .. (or %2e) as a segment of its path, for browsers resolve them and it would never match; \
                 register what they make of it: https://app.example.com/b in place of https://app.example.com/a/../b",
            );
        }
        Ok(target)
    }

    /// Reads a URL that was registered. The text is kept as it was written: matching is exact.
    ///
    /// # Errors
    /// Not an absolute URL, a scheme that is neither of the web nor a native app's own, plain `http` to another machine, user
    /// information or a fragment.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        if text.len() > MAX_LENGTH
            || text
                .chars()
                .any(|c| c.is_control() || c.is_whitespace() || c == '\\')
        {
            return refuse(
                "url is at most 2048 characters without blanks, backslashes or control characters",
            );
        }
        let url = match text.split_once(':') {
            Some((scheme, rest)) if is_of_an_app(scheme) => private_use(text, scheme, rest)?,
            Some(_) | None => web(text)?,
        };
        if url.query_pairs().any(|(name, _)| name == TOKEN_PARAMETER) {
            return refuse("url must not have a parameter `token` of its own");
        }
        Ok(Self(text.to_owned()))
    }

    /// The URL as registered.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it stands for many URLs, and so names none to redirect to by itself.
    pub fn is_pattern(&self) -> bool {
        self.0.starts_with(PATTERN)
    }

    /// Whether a URL is the registered one: the same text, or for the form with the star, the same text but for one label
    /// of lower-case letters, digits and inner hyphens in its place (ML-4, O-1), or for a loopback address without a port, the same
    /// text with one.
    ///
    /// Nothing else is parsed or normalized: two programs that take a URL apart differently are how open redirects are made. The one
    /// exception is an international host, which is compared in its A-labels.
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

    /// `None` where no port is put in.
    fn admits_with_port(&self, url: &str) -> Option<bool> {
        let host = LOOPBACK.into_iter().find(|host| self.0.starts_with(host))?;
        let registered = self.0.strip_prefix(host)?;
        let ends_with_host = registered.is_empty() || registered.starts_with(['/', '?']);
        let after_colon = url.strip_prefix(host)?.strip_prefix(':')?;
        let digits = after_colon.bytes().take_while(u8::is_ascii_digit).count();
        let (port, rest) = after_colon.split_at_checked(digits)?;
        Some(ends_with_host && is_port(port) && rest == registered)
    }

    /// The URL to redirect to when a call names it, or this one when the call names none.
    ///
    /// `None` when the URL is not admitted, or when there is none and this is a pattern.
    pub fn landing(&self, url: Option<&str>) -> Option<Landing> {
        match url {
            Some(url) => self.admits(url).then(|| Landing::new(url)),
            None => (!self.is_pattern()).then(|| Landing::new(&self.0)),
        }
    }
}

/// A URL that a registered one admits, and so may be redirected to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Landing(String);

impl Landing {
    /// In A-labels, for not all browsers make the same ones of `ß` and a few more letters.
    fn new(url: &str) -> Self {
        Self(with_a_labels(url).into_owned())
    }

    /// The URL as [`Landing::with_token`] makes it, with the token left out.
    pub fn without_token(&self, state: Option<&CallerState>) -> String {
        self.with_token("", state)
    }

    /// The URL with `?token=…`, or `&token=…` where it has a query already, and the caller's state behind it. The token needs no
    /// escaping: it is alphanumeric.
    pub fn with_token(&self, token: &str, state: Option<&CallerState>) -> String {
        self.with(TOKEN_PARAMETER, token, state)
    }

    /// The URL with `error=…` likewise. The code must need no escaping.
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

/// What a start call sent to have it back where the browser lands: 1 to 512 printable ASCII characters. It is the App's own, and
/// means nothing here; the `state` that a provider sees is another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallerState(String);

impl CallerState {
    /// Checks what was sent.
    ///
    /// # Errors
    /// Empty, too long, or with anything but printable ASCII.
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

    /// As it was sent.
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

/// The URL with an international host in A-labels.
fn with_a_labels(url: &str) -> Cow<'_, str> {
    match url.strip_prefix("https://") {
        Some(rest) if !rest.is_ascii() => Cow::Owned(format!("https://{}", in_a_labels(rest))),
        Some(_) | None => Cow::Borrowed(url),
    }
}

/// The same for a URL without its scheme. A host in any other spelling than its U-labels stays as it is: only exact text is compared.
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

/// A URL of the web, or of this machine; one with a star with a label in its place.
fn web(text: &str) -> Result<Url, Invalid> {
    if !names_its_host(text) {
        return refuse(ABSOLUTE);
    }
    let concrete = match text.strip_prefix(PATTERN) {
        Some(rest) => format!("https://label.{rest}"),
        None => text.to_owned(),
    };
    if concrete.contains('*') {
        return refuse("a wildcard stands only for the first label: https://*.example.com/path");
    }
    let Ok(url) = Url::parse(&concrete) else {
        return refuse(ABSOLUTE);
    };
    let loopback = match url.host() {
        Some(url::Host::Domain(name)) => name == "localhost",
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        None => return refuse("url needs a host"),
    };
    match url.scheme() {
        "https" => {}
        "http" if loopback => {}
        _ => return refuse("url must be https; plain http is for localhost only"),
    }
    if !url.username().is_empty() || url.password().is_some() || url.fragment().is_some() {
        return refuse("url must not carry user information or a fragment");
    }
    // `https://*.com/` would be everybody's. Which domains are open to the public beyond that only their owner knows.
    let is_pattern = text.starts_with(PATTERN);
    if is_pattern && url.domain().is_none_or(|host| labels(host) < 3) {
        return refuse("a wildcard needs a domain below it: https://*.example.com/path");
    }
    Ok(url)
}

/// Whether a scheme can be an app's own: it has a dot, for it is a domain name of the app's maker in reverse order (RFC 8252,
/// section 7.1). No scheme of a browser has one.
fn is_of_an_app(scheme: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    scheme.contains('.') && scheme.bytes().all(allowed)
}

/// `com.example.app:/path`. Apps and systems compare schemes in lower case, and so a registered one has no other.
fn private_use(text: &str, scheme: &str, rest: &str) -> Result<Url, Invalid> {
    let top = scheme.split('.').next().unwrap_or_default();
    if !scheme.split('.').all(is_label) || !top.starts_with(|c: char| c.is_ascii_lowercase()) {
        return refuse(
            "the scheme of a native app is a domain name in reverse order and lower case, such as com.example.app:/callback",
        );
    }
    // To a person who reads it, not to a browser.
    if top.starts_with("http") || SCHEMES_OF_BROWSERS.contains(&top) {
        return refuse("the scheme of a native app must not begin like one of a browser");
    }
    // There is nobody to name between two slashes.
    if !rest.starts_with('/') || rest.starts_with("//") {
        return refuse("one slash follows the scheme of a native app: com.example.app:/callback");
    }
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~!$&'()+,;=:@/?%".contains(&byte);
    if !rest.bytes().all(allowed) {
        return refuse(
            "the path and query of a native app's URL take the characters of RFC 3986, without a star and without a fragment",
        );
    }
    Url::parse(text).or_else(|_no_url| refuse(ABSOLUTE))
}

/// Whether a browser takes it for `.` or `..` (URL Standard, section 4.4).
fn is_dot_segment(segment: &str) -> bool {
    let decoded = segment.to_ascii_lowercase().replace("%2e", ".");
    decoded == "." || decoded == ".."
}

/// Whether the host stands right behind `https://` or `http://`. Parsers of URLs also take fewer slashes or more of them, and to a
/// browser `https:/app.example.com` on a page of `https` is a path of that page's own site.
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

/// A number of a port, as everybody writes it.
fn is_port(text: &str) -> bool {
    !text.starts_with('0') && text.parse::<u16>().is_ok()
}

#[cfg(test)]
mod tests;
