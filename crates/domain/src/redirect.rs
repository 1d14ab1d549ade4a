//! Redirect URLs an App has registered.

use std::fmt;
use std::str::FromStr;

use url::Url;

use crate::Invalid;

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
            .ok_or_else(|| Invalid::value("kind", "kind is login, registration or invite"))
    }
}

/// A URL that may be registered: `https`, or `http` on a loopback host for development; no user, no fragment.
///
/// The registered form `https://*.example.com/path` stands for one label in front of the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RedirectTarget(String);

const MAX_LENGTH: usize = 2048;

impl RedirectTarget {
    /// Checks a URL that somebody wants to register. The text is kept as it was written: matching is exact.
    ///
    /// # Errors
    /// Not an absolute URL, another scheme, plain `http` to another machine, user information or a fragment.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let refuse = |why: &'static str| Err(Invalid::value("url", why));
        if text.len() > MAX_LENGTH
            || text
                .chars()
                .any(|c| c.is_control() || c.is_whitespace() || c == '\\')
        {
            return refuse(
                "url is at most 2048 characters without blanks, backslashes or control characters",
            );
        }
        let concrete = match text.strip_prefix("https://*.") {
            Some(rest) => format!("https://label.{rest}"),
            None => text.to_owned(),
        };
        if concrete.contains('*') {
            return refuse(
                "a wildcard stands only for the first label: https://*.example.com/path",
            );
        }
        let Ok(url) = Url::parse(&concrete) else {
            return refuse("url must be absolute, such as https://app.example.com/callback");
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
        Ok(Self(text.to_owned()))
    }

    /// The URL as registered.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}
