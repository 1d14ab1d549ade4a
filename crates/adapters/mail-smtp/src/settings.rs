//! What the configuration says about SMTP, and what of it can be used.

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
    /// The server: `smtp://user:password@host:port` begins in clear and must change to TLS with STARTTLS (port 587 when
    /// there is none), `smtps://…` is TLS from the first byte (465). User and password are percent-encoded; without
    /// them there is no login. `?tls=required` says what holds anyway; `?tls=none` switches TLS off and is taken only
    /// for a host that is this machine.
    pub url: Secret<String>,
    /// The mailbox that mails come from: `Vestry <no-reply@example.com>` or only the address. Its domain is also the
    /// name we greet with and the right half of every `Message-ID`.
    pub from: String,
    /// A PEM file of certificate authorities to trust beside those of this machine and Mozilla's.
    pub ca_file: Option<PathBuf>,
    /// How long to wait.
    pub timeouts: Timeouts,
}

impl Settings {
    /// Settings with the usual waits and no authorities of one's own.
    pub fn new(url: impl Into<Secret<String>>, from: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            from: from.into(),
            ca_file: None,
            timeouts: Timeouts::default(),
        }
    }
}

/// How long to wait for the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// For the look-up of the name, the connection and the greeting.
    pub connect: Duration,
    /// For the answer to one command, and for the change to TLS. The answer to the content is the exception: servers
    /// that scan a mail before they take it need longer, so only `whole` limits it.
    pub command: Duration,
    /// For everything that one mail, or one probe, takes, waiting for a free connection included.
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

/// The settings cannot be used. Names the key and never repeats a value: the URL holds a password.
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
    /// The file of authorities holds none, or one that is not a certificate.
    #[error("mail.smtp.ca_file must hold certificates in PEM")]
    CaFileContent,
    /// TLS cannot be set up for this host.
    #[error("TLS cannot be set up for the host of mail.smtp.url")]
    Tls(#[source] lettre::transport::smtp::Error),
}

/// The server that the URL names.
#[derive(Debug, Clone)]
pub(crate) struct Server {
    /// Name or address, without the brackets of IPv6.
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) security: Security,
    pub(crate) login: Option<Login>,
}

/// How the conversation is protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Security {
    /// In clear up to STARTTLS, which must succeed.
    StartTls,
    /// TLS from the first byte.
    Implicit,
    /// Not at all; only within this machine.
    None,
}

/// What the server asks us for.
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
    /// Reads the URL.
    ///
    /// # Errors
    /// [`BadSettings::Url`] with what is wrong.
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
            return bad("may say tls=none only for localhost or a loopback address");
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
    // The URL standard leaves the host of a scheme it does not know as it is written.
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
                "knows one parameter after the ?, which is tls",
            ));
        }
        tls = Some(value);
    }
    match (url.scheme(), tls.as_deref()) {
        ("smtp", None | Some("required")) => Ok(Security::StartTls),
        ("smtp", Some("none")) => Ok(Security::None),
        ("smtps", None | Some("required")) => Ok(Security::Implicit),
        ("smtps", Some("none")) => Err(BadSettings::Url("contradicts itself: smtps is TLS")),
        ("smtp" | "smtps", Some(_)) => Err(BadSettings::Url("knows tls=required and tls=none")),
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
                "must hold user and password as percent-encoded UTF-8 without NUL",
            ))
    };
    match (url.username(), url.password()) {
        ("", None) => Ok(None),
        ("", Some(_)) | (_, None) => Err(BadSettings::Url(
            "must hold both a user and a password, or neither",
        )),
        (user, Some(password)) => Ok(Some(Login {
            user: decoded(user)?,
            password: Secret::new(decoded(password)?),
        })),
    }
}

/// Reads the sender. Its domain becomes ASCII, which every server can take.
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
