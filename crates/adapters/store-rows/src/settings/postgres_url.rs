//! Postgres URLs and the TLS settings of their connections.

use std::borrow::Cow;
use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::str::FromStr;

use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

use super::DatabaseUrlError;

/// A parsed Postgres URL.
///
/// `sslmode` is [`verify-full` or `verify-ca`](Tls::Verified), [`require`](Tls::Unverified) or [`disable`](Tls::Off). By default,
/// connections within this machine are not encrypted, and all others are verified. A connection stays on this machine if every host of the
/// URL is a Unix socket, a loopback address or `localhost`, and every `hostaddr` is a loopback address. `sslrootcert=FILE` names a PEM file
/// of authorities to trust instead of those of the machine and of Mozilla. With it, `require` verifies as well, as in libpq.
#[derive(Clone, PartialEq, Eq)]
pub struct PostgresUrl {
    /// Where to connect, and as which user. Its `ssl_mode` never falls back: TLS is either off or required.
    pub config: Config,
    /// The TLS mode of the connections.
    pub tls: Tls,
}

/// The TLS mode of connections to Postgres.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tls {
    /// No TLS.
    Off,
    /// Encrypted, but any certificate is accepted: protects against eavesdropping, not against impersonation.
    Unverified,
    /// Encrypted, with a certificate for that host from a trusted authority.
    Verified {
        /// The PEM file of authorities; if absent, those that the machine and Mozilla trust.
        roots: Option<PathBuf>,
    },
}

/// Prints only the database's name: the rest contains a password.
impl fmt::Debug for PostgresUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.config.get_dbname().unwrap_or_default();
        write!(f, "PostgresUrl({name})")
    }
}

impl PostgresUrl {
    /// Returns a warning to the operator if connections leave this machine without full protection. It repeats nothing of the URL but its
    /// `sslmode`.
    pub fn warning(&self) -> Option<&'static str> {
        if stays_on_this_machine(&self.config) {
            return None;
        }
        match self.tls {
            Tls::Off => Some(
                "connections to Postgres are not encrypted (sslmode=disable): anyone on the network path can read and change \
                 everything; set sslmode=verify-full",
            ),
            Tls::Unverified => Some(
                "the Postgres certificate is not verified (sslmode=require): an attacker on the network path can impersonate the \
                 database; set sslmode=verify-full, with sslrootcert=FILE for a private authority",
            ),
            Tls::Verified { .. } => None,
        }
    }
}

impl FromStr for PostgresUrl {
    type Err = DatabaseUrlError;

    fn from_str(url: &str) -> Result<Self, DatabaseUrlError> {
        let (address, parameters) = split_parameters(url);
        let (mut mode, mut roots, mut others) = (None, None, Vec::new());
        for parameter in parameters.split('&').filter(|part| !part.is_empty()) {
            let (key, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            match &*decoded(key)? {
                "sslmode" => mode = Some(Mode::of(&decoded(value)?)?),
                "sslrootcert" => roots = Some(PathBuf::from(decoded(value)?.as_ref())),
                _ => others.push(parameter),
            }
        }
        let mut config: Config = format!("{address}?{}", others.join("&")).parse().map_err(
            |unreadable: tokio_postgres::Error| DatabaseUrlError::Postgres(unreadable.into()),
        )?;
        let tls = match (mode, &roots) {
            (Some(Mode::Disable), _) => Tls::Off,
            (Some(Mode::Require), None) => Tls::Unverified,
            (None, None) if stays_on_this_machine(&config) => Tls::Off,
            _ => Tls::Verified { roots },
        };
        config.ssl_mode(match tls {
            Tls::Off => SslMode::Disable,
            Tls::Unverified | Tls::Verified { .. } => SslMode::Require,
        });
        Ok(Self { config, tls })
    }
}

/// The values of `sslmode`.
#[derive(Clone, Copy)]
enum Mode {
    Disable,
    Require,
    /// `verify-ca` is stricter than in libpq: a certificate for another host is never accepted.
    Verify,
}

impl Mode {
    fn of(word: &str) -> Result<Self, DatabaseUrlError> {
        match word {
            "disable" => Ok(Self::Disable),
            "require" => Ok(Self::Require),
            "verify-ca" | "verify-full" => Ok(Self::Verify),
            "prefer" | "allow" => Err(DatabaseUrlError::MayFallBack),
            _ => Err(DatabaseUrlError::SslMode),
        }
    }
}

/// Returns whether all connections stay on this machine. A host with a `hostaddr` must be local as well: the certificate would be issued
/// for its name, and the address can be the end of a tunnel.
fn stays_on_this_machine(config: &Config) -> bool {
    let is_here = |host: &Host| match host {
        Host::Unix(_) => true,
        Host::Tcp(name) => {
            // RFC 6761, section 6.3: this name always means the local machine.
            name.eq_ignore_ascii_case("localhost")
                || name.parse().is_ok_and(|address| is_loopback(&address))
        }
    };
    config.get_hosts().iter().all(is_here) && config.get_hostaddrs().iter().all(is_loopback)
}

fn is_loopback(address: &IpAddr) -> bool {
    address.to_canonical().is_loopback()
}

fn decoded(text: &str) -> Result<Cow<'_, str>, DatabaseUrlError> {
    let decoded = percent_encoding::percent_decode_str(text).decode_utf8();
    decoded.map_err(|garbled| DatabaseUrlError::Postgres(garbled.into()))
}

/// Splits a URL at the question mark that begins the parameters. User and password can contain one, too.
fn split_parameters(url: &str) -> (&str, &str) {
    let host = url.find('@').unwrap_or(0);
    let mark = url
        .char_indices()
        .find(|(place, character)| *place > host && *character == '?');
    match mark.and_then(|(place, _)| url.split_at_checked(place)) {
        Some((address, parameters)) => (address, parameters.trim_start_matches('?')),
        None => (url, ""),
    }
}
