//! The URL of a Postgres database, and how its connections are protected.

use std::borrow::Cow;
use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::str::FromStr;

use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

use super::DatabaseUrlError;

/// A URL of Postgres, taken apart.
///
/// `sslmode` is [`verify-full` or `verify-ca`](Tls::Verified), [`require`](Tls::Unverified) or [`disable`](Tls::Off).
/// Without it, connections that stay on this machine are not encrypted, and all others are verified. They stay if every
/// host of the URL is a Unix socket, a loopback address or `localhost`, and every `hostaddr` a loopback address.
/// `sslrootcert=FILE` names a PEM file with the authorities to trust in place of those of the machine and of Mozilla;
/// with it `require` verifies as well, as in libpq.
#[derive(Clone, PartialEq, Eq)]
pub struct PostgresUrl {
    /// Where to connect, and as whom. Its `ssl_mode` never falls back: it is off or required.
    pub config: Config,
    /// How connections are protected.
    pub tls: Tls,
}

/// How connections to Postgres are protected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tls {
    /// Not at all.
    Off,
    /// Encrypted, towards whoever shows any certificate: good against who listens, not against who pretends.
    Unverified,
    /// Encrypted, towards a certificate of that very host from an authority that is trusted.
    Verified {
        /// The PEM file with the authorities; without, those that the machine and Mozilla trust.
        roots: Option<PathBuf>,
    },
}

/// Only the database's name: the rest holds a password.
impl fmt::Debug for PostgresUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.config.get_dbname().unwrap_or_default();
        write!(f, "PostgresUrl({name})")
    }
}

impl PostgresUrl {
    /// What the operator should know about how weakly connections are protected that leave this machine. Repeats nothing
    /// of the URL but its `sslmode`.
    pub fn warning(&self) -> Option<&'static str> {
        if stays_on_this_machine(&self.config) {
            return None;
        }
        match self.tls {
            Tls::Off => Some(
                "connections to Postgres leave this machine in clear text (sslmode=disable): whoever is on the way can \
                 read and change everything; write sslmode=verify-full",
            ),
            Tls::Unverified => Some(
                "nobody looks whether the certificate of Postgres is the right one (sslmode=require): whoever is on the way \
                 can pose as the database; write sslmode=verify-full, with sslrootcert=FILE for an authority of your own",
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

/// What `sslmode` can ask for.
#[derive(Clone, Copy)]
enum Mode {
    Disable,
    Require,
    /// `verify-ca` is taken at more than its word: a certificate of another host helps nobody.
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

/// Whether no connection leaves this machine. A host that has a `hostaddr` must be of this machine as well: its name is
/// what a certificate would have to be for, and the address may be the end of a tunnel.
fn stays_on_this_machine(config: &Config) -> bool {
    let is_here = |host: &Host| match host {
        Host::Unix(_) => true,
        Host::Tcp(name) => {
            // RFC 6761, section 6.3: this name is always the machine itself.
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

/// What stands before and after the question mark. User and password may hold one, too.
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
