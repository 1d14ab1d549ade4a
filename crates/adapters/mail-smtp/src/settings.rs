//! The SMTP configuration, and which parts of it are usable.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use lettre::Address;
use lettre::message::Mailbox;
use percent_encoding::percent_decode_str;
use url::Url;
use vestry_domain::Secret;

/// `mail.smtp` of the configuration.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The server: `smtp://user:password@host:port` begins unencrypted and must switch to TLS with STARTTLS (default port 587); `smtps://…`
    /// uses TLS from the first byte (465). User and password are percent-encoded; without them there is no login. `?tls=required` states
    /// the default; `?tls=none` switches TLS off and is accepted only for a host that is this machine.
    pub url: Secret<String>,
    /// The mailbox that mails come from: `Vestry <no-reply@example.com>` or only the address. Its domain is also our name in EHLO and the
    /// right half of every `Message-ID`.
    pub from: String,
    /// A PEM file of certificate authorities to trust in addition to those of this machine and Mozilla's.
    pub ca_file: Option<PathBuf>,
    /// The timeouts.
    pub timeouts: Timeouts,
}

impl Settings {
    /// Creates settings with the default timeouts and no additional authorities.
    pub fn new(url: impl Into<Secret<String>>, from: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            from: from.into(),
            ca_file: None,
            timeouts: Timeouts::default(),
        }
    }
}

/// Timeouts of an SMTP conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// For the name look-up, the connection and the greeting.
    pub connect: Duration,
    /// For the reply to one command, and for the switch to TLS. The reply to the content is the exception: servers that scan a mail before
    /// they accept it need longer, so only `whole` limits it.
    pub command: Duration,
    /// For everything that one mail, or one probe, takes, including the wait for a free connection.
    pub whole: Duration,
}

impl Default for Timeouts {
    /// 10, 10 and 30 seconds.
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            command: Duration::from_secs(10),
            whole: Duration::from_secs(30),
        }
    }
}

/// Why the settings cannot be used. Names the key and never repeats a value: the URL contains a password.
#[derive(Debug, thiserror::Error)]
pub enum BadSettings {
    /// The URL cannot be used, or asks for something unsafe.
    #[error("mail.smtp.url {0}")]
    Url(&'static str),
    /// The sender is not a mailbox.
    #[error("mail.smtp.from must be a mailbox such as `Vestry <no-reply@example.com>`")]
    From,
    /// The file of authorities cannot be read.
    #[error("mail.smtp.ca_file cannot be read")]
    CaFile(#[source] std::io::Error),
    /// The file of authorities contains none, or an invalid certificate.
    #[error("mail.smtp.ca_file must contain certificates in PEM format")]
    CaFileContent,
    /// TLS cannot be set up for this host.
    #[error("TLS cannot be set up for the host of mail.smtp.url")]
    Tls(#[source] lettre::transport::smtp::Error),
}

/// The server in the URL.
#[derive(Debug, Clone)]
pub(crate) struct Server {
    /// Name or address, without IPv6 brackets.
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) security: Security,
    pub(crate) login: Option<Login>,
}

/// The encryption of the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Security {
    /// Unencrypted up to STARTTLS, which must succeed.
    StartTls,
    /// TLS from the first byte.
    Implicit,
    /// No encryption; only within this machine.
    None,
}

/// The login that the server requires.
#[derive(Clone)]
pub(crate) struct Login {
    pub(crate) user: String,
    pub(crate) password: Secret<String>,
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Login([redacted])")
    }
}

impl Server {
    /// Parses the URL.
    ///
    /// # Errors
    /// [`BadSettings::Url`] with the reason.
    pub(crate) fn parse(url: &str) -> Result<Self, BadSettings> {
        let bad = |why| Err(BadSettings::Url(why));
        let Ok(url) = Url::parse(url) else {
            return bad("must be a URL such as smtp://user:password@mail.example.com:587");
        };
        if !matches!(url.path(), "" | "/") || url.fragment().is_some() {
            return bad("must end after host, port and ?tls=");
        }
        let host = host(&url)?;
        let security = security(&url)?;
        if security == Security::None && !is_this_machine(&host) {
            return bad("allows tls=none only for localhost or a loopback address");
        }
        let default_port = match security {
            Security::Implicit => 465,
            Security::StartTls | Security::None => 587,
        };
        Ok(Self {
            host,
            port: url.port().unwrap_or(default_port),
            security,
            login: login(&url)?,
        })
    }
}

fn host(url: &Url) -> Result<String, BadSettings> {
    let host = url.host_str().unwrap_or_default();
    let bare = host
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
        .unwrap_or(host);
    if bare.is_empty() {
        return Err(BadSettings::Url("must name a host"));
    }
    // The URL standard leaves the host unchanged if the scheme is unknown.
    if !bare.is_ascii() || bare.contains('%') {
        return Err(BadSettings::Url(
            "must name its host in ASCII (xn--… for an international name)",
        ));
    }
    Ok(bare.to_ascii_lowercase())
}

fn security(url: &Url) -> Result<Security, BadSettings> {
    let mut tls = None;
    for (key, value) in url.query_pairs() {
        if key != "tls" || tls.is_some() {
            return Err(BadSettings::Url(
                "has an unknown parameter; only tls is supported",
            ));
        }
        tls = Some(value);
    }
    match (url.scheme(), tls.as_deref()) {
        ("smtp", None | Some("required")) => Ok(Security::StartTls),
        ("smtp", Some("none")) => Ok(Security::None),
        ("smtps", None | Some("required")) => Ok(Security::Implicit),
        ("smtps", Some("none")) => Err(BadSettings::Url("cannot combine smtps with tls=none")),
        ("smtp" | "smtps", Some(_)) => Err(BadSettings::Url(
            "has an unknown tls value; use tls=required or tls=none",
        )),
        _ => Err(BadSettings::Url("must begin with smtp:// or smtps://")),
    }
}

fn is_this_machine(host: &str) -> bool {
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

fn login(url: &Url) -> Result<Option<Login>, BadSettings> {
    let decoded = |text: &str| {
        percent_decode_str(text)
            .decode_utf8()
            .map(std::borrow::Cow::into_owned)
            .ok()
            .filter(|text| !text.contains('\0'))
            .ok_or(BadSettings::Url(
                "must contain user and password as percent-encoded UTF-8 without NUL",
            ))
    };
    match (url.username(), url.password()) {
        ("", None) => Ok(None),
        ("", Some(_)) | (_, None) => Err(BadSettings::Url(
            "must contain both a user and a password, or neither",
        )),
        (user, Some(password)) => Ok(Some(Login {
            user: decoded(user)?,
            password: Secret::new(decoded(password)?),
        })),
    }
}

/// Parses the sender. Its domain becomes ASCII, which every server accepts.
///
/// # Errors
/// [`BadSettings::From`].
pub(crate) fn sender(from: &str) -> Result<Mailbox, BadSettings> {
    if from.chars().any(char::is_control) {
        return Err(BadSettings::From);
    }
    let Ok(Mailbox { name, email }) = from.trim().parse() else {
        return Err(BadSettings::From);
    };
    let Ok(domain) = idna::domain_to_ascii_strict(email.domain()) else {
        return Err(BadSettings::From);
    };
    match Address::new(email.user(), domain) {
        Ok(email) => Ok(Mailbox::new(name, email)),
        Err(_) => Err(BadSettings::From),
    }
}

#[cfg(test)]
mod tests;
