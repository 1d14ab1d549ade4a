//! The configuration of the provider, and which parts of it are usable.

use std::time::Duration;

use ipnet::IpNet;
use url::{Host, Url};
use vestry_domain::Secret;
use vestry_outbound::{Limits, NotSetUp};

/// `sms.http` of the configuration.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The beginning of every URL, such as `https://api.twilio.com`; plain `http` for this machine only.
    pub base_url: String,
    /// The account.
    pub account_sid: String,
    /// Its token.
    pub auth_token: Secret<String>,
    /// The sender of texts: a number, a short code, or a name registered with the provider.
    pub from: String,
    /// Networks that the provider may be in, in addition to public addresses and an address in `base_url`.
    pub allowed_networks: Vec<IpNet>,
    /// The time limits.
    pub limits: Limits,
}

impl Settings {
    /// Creates settings with the default limits: five seconds to connect, 25 in total. A worker leases a message for a minute, which leaves
    /// time for a second worker to notice that the first one died.
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

/// Why the settings cannot be used. Names the key and never repeats a value.
#[derive(Debug, thiserror::Error)]
pub enum BadSettings {
    /// The URL cannot be used, or would send codes unencrypted.
    #[error("sms.http.base_url {0}")]
    Url(&'static str),
    /// The account is empty.
    #[error("sms.http.account_sid must not be empty")]
    Account,
    /// The token is empty.
    #[error("sms.http.auth_token must not be empty")]
    Token,
    /// The sender is malformed.
    #[error("sms.http.from must be a number, a short code or a name of at most 34 characters")]
    From,
    /// The HTTP client cannot be created.
    #[error("the HTTP client for the SMS provider cannot be created")]
    Client(#[from] NotSetUp),
}

/// Parses the base of every URL.
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
            "must begin with https, because codes must be encrypted",
        ));
    }
    Ok(url)
}

/// Normalises the sender for requests.
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
