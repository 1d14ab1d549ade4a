//! What the configuration says about the provider, and what of it can be used.

use std::time::Duration;

use ipnet::IpNet;
use url::{Host, Url};
use vestry_domain::Secret;
use vestry_outbound::{Limits, NotSetUp};

/// `sms.http` of the configuration.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The start of every URL, such as `https://api.twilio.com`; plain `http` for this machine only.
    pub base_url: String,
    /// The account.
    pub account_sid: String,
    /// Its token.
    pub auth_token: Secret<String>,
    /// Whom texts come from: a number, a short code, or a name that the provider knows.
    pub from: String,
    /// Networks within which the provider may be, beside public addresses and an address that stands in `base_url`.
    pub allowed_networks: Vec<IpNet>,
    /// How long to wait.
    pub limits: Limits,
}

impl Settings {
    /// Settings with the usual limits: five seconds to connect, 25 in all. A worker holds a message for a minute, so that there
    /// is room for a second worker to notice that the first one died.
    pub fn new(
        base_url: impl Into<String>,
        account_sid: impl Into<String>,
        auth_token: impl Into<Secret<String>>,
        from: impl Into<String>,
    ) -> Self {
        Self {
            base_url: base_url.into(),
            account_sid: account_sid.into(),
            auth_token: auth_token.into(),
            from: from.into(),
            allowed_networks: Vec::new(),
            limits: Limits {
                connect: Duration::from_secs(5),
                whole: Duration::from_secs(25),
                body: 64 * 1024,
            },
        }
    }
}

/// The settings cannot be used. Names the key and never repeats a value.
#[derive(Debug, thiserror::Error)]
pub enum BadSettings {
    /// The URL cannot be used, or would send codes in clear.
    #[error("sms.http.base_url {0}")]
    Url(&'static str),
    /// There is no account.
    #[error("sms.http.account_sid must not be empty")]
    Account,
    /// There is no token.
    #[error("sms.http.auth_token must not be empty")]
    Token,
    /// The sender cannot be one.
    #[error("sms.http.from must be a number, a short code or a name of at most 34 characters")]
    From,
    /// The HTTP client cannot be made.
    #[error("the SMS provider cannot be called")]
    Client(#[from] NotSetUp),
}

/// The base of every URL.
pub(crate) fn base_url(text: &str) -> Result<Url, BadSettings> {
    let wanted = "must be a URL such as https://api.twilio.com, without login, query and fragment";
    let url = Url::parse(text).map_err(|_unparsable| BadSettings::Url(wanted))?;
    let bare = url.username().is_empty()
        && url.password().is_none()
        && url.query().is_none()
        && url.fragment().is_none();
    if !bare || !url.has_host() || !matches!(url.scheme(), "http" | "https") {
        return Err(BadSettings::Url(wanted));
    }
    let is_this_machine = match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    };
    if url.scheme() == "http" && !is_this_machine {
        return Err(BadSettings::Url(
            "must begin with https: codes would travel in clear",
        ));
    }
    Ok(url)
}

/// The sender as it can be sent.
pub(crate) fn sender(text: &str) -> Result<String, BadSettings> {
    let printable = text
        .bytes()
        .all(|byte| byte.is_ascii_graphic() || byte == b' ');
    if text.trim().is_empty() || text.len() > 34 || !printable {
        return Err(BadSettings::From);
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests;
