//! Settings, read once from `vestry.toml` and `VESTRY_` variables, and validated before anything is opened.
//!
//! [`keys::KEYS`] lists all settings. An unknown one is an error that names it, in the file and in the environment: a typo must not
//! silently select a default.

mod credentials;
mod keys;
mod source;

use std::fmt;
use std::net::SocketAddr;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use ipnet::IpNet;
use tracing::level_filters::LevelFilter;
use url::Url;
use vestry_app::ConsoleAddress;
use vestry_domain::Secret;
use vestry_domain::timestamp::Seconds;
use vestry_edge::RequestLog;
use vestry_store_sql::{Database, DatabaseUrlError, Synchronous};

use crate::failure::Failure;
use crate::tls::CertificateFiles;
use source::Entries;

/// The file that is read if `--config` names none and it exists.
const DEFAULT_FILE: &str = "vestry.toml";

/// All settings.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) database: DatabaseSettings,
    pub(crate) http: HttpSettings,
    pub(crate) console: ConsoleSettings,
    pub(crate) vault: VaultSettings,
    pub(crate) mail: MailSettings,
    pub(crate) sms: SmsSettings,
    pub(crate) outbound: OutboundSettings,
    pub(crate) limits: LimitSettings,
    pub(crate) passwords: PasswordSettings,
    pub(crate) outbox: OutboxSettings,
    pub(crate) webhooks: WebhookSettings,
    pub(crate) audit: AuditSettings,
    pub(crate) log: LogSettings,
    pub(crate) telemetry: TelemetrySettings,
}

/// `database.*`
#[derive(Debug, Clone)]
pub(crate) struct DatabaseSettings {
    /// The database and its location.
    pub(crate) database: Database,
    pub(crate) max_connections: usize,
    /// SQLite only.
    pub(crate) max_readers: usize,
    /// How long a request waits for a connection before it fails with 503.
    pub(crate) acquire_timeout: Duration,
    /// How long opening a connection may take.
    pub(crate) connect_timeout: Duration,
    /// SQLite only.
    pub(crate) synchronous: Synchronous,
    /// Postgres only. Off for a connection pooler without support for prepared statements.
    pub(crate) prepared_statements: bool,
    pub(crate) migrate_on_start: bool,
    /// Whether `serve` starts on a database that can lose acknowledged writes.
    pub(crate) allow_unsafe_durability: bool,
}

/// `http.*`
#[derive(Debug, Clone)]
pub(crate) struct HttpSettings {
    pub(crate) listen: SocketAddr,
    pub(crate) base_url: Option<BaseUrl>,
    pub(crate) tls: Option<CertificateFiles>,
    pub(crate) trusted_proxies: Vec<IpNet>,
    /// From the first byte of a request to the last byte of its body.
    pub(crate) request_timeout: Duration,
    /// How long a connection may be idle between two requests.
    pub(crate) keep_alive: Duration,
    pub(crate) workers: usize,
    /// From the stop signal until connections are no longer accepted.
    pub(crate) drain_delay: Duration,
    /// How long running requests may take after that.
    pub(crate) shutdown_timeout: Duration,
}

/// `console.*`
#[derive(Debug, Clone)]
pub(crate) struct ConsoleSettings {
    /// Whether this process serves the console.
    pub(crate) enabled: bool,
    /// Where browsers reach it. Links for operators lead there.
    pub(crate) base_url: Option<BaseUrl>,
    /// Its own listener, if it does not share that of the API.
    pub(crate) listen: Option<SocketAddr>,
    /// Whether operators need a second factor. `vestry dev` does without.
    pub(crate) needs_second_factor: bool,
}

/// `vault.*`
#[derive(Debug, Clone)]
pub(crate) enum VaultSettings {
    /// Root keys in files.
    Local(RootKeyFiles),
    /// Root keys in the environment.
    Env {
        /// `VESTRY_VAULT__ENV__KEY`
        root: Secret<String>,
        /// `VESTRY_VAULT__ENV__SIGN_IN_KEY`, or the same value as `root`.
        sign_in: Secret<String>,
    },
}

/// `vault.local.*`
#[derive(Debug, Clone)]
pub(crate) struct RootKeyFiles {
    /// The root key, for wallets.
    pub(crate) root: PathBuf,
    /// The sign-in key, for all other secrets.
    pub(crate) sign_in: PathBuf,
}

impl RootKeyFiles {
    /// The files that do not exist.
    pub(crate) fn missing(&self) -> Vec<&Path> {
        let mut files = vec![self.root.as_path(), self.sign_in.as_path()];
        files.retain(|file| !file.exists());
        files
    }
}

/// `mail.*`, for live environments. Test environments always capture.
#[derive(Debug, Clone)]
pub(crate) enum MailSettings {
    /// Live mail cannot be sent.
    Capture,
    /// Live mail goes to a relay.
    Smtp {
        /// `smtp://` or `smtps://`; contains a password.
        url: Secret<String>,
        from: String,
        /// Additional certificate authorities, PEM.
        ca_file: Option<PathBuf>,
    },
}

/// `sms.*`, for live environments. Test environments always capture.
#[derive(Debug, Clone)]
pub(crate) enum SmsSettings {
    /// Live text messages cannot be sent.
    Capture,
    /// Live text messages go to a provider.
    Http {
        base_url: String,
        account_sid: String,
        auth_token: Secret<String>,
        from: String,
    },
}

/// `outbound.*`
#[derive(Debug, Clone)]
pub(crate) struct OutboundSettings {
    /// Networks that may be called in addition to public addresses.
    pub(crate) allowed_networks: Vec<IpNet>,
}

/// `limits.*`
#[derive(Debug, Clone)]
pub(crate) struct LimitSettings {
    pub(crate) store: LimitStore,
    pub(crate) test_per_minute: u32,
    pub(crate) live_per_minute: u32,
    /// Codes an hour to one address or number, across all Apps.
    pub(crate) sends_per_identifier: u32,
    /// Unknown API keys that one client address may send per minute.
    pub(crate) failed_auth_per_minute: u32,
    /// The number of processes that share an App's limits while `store` is unreachable.
    pub(crate) replicas: NonZeroU32,
}

/// The store for rate-limit counters.
#[derive(Debug, Clone)]
pub(crate) enum LimitStore {
    /// This process.
    Memory,
    /// The database, shared by all processes that use it.
    Database,
    /// Redis or Valkey; the URL may contain a password.
    Redis(Secret<String>),
}

/// `passwords.*`
#[derive(Debug, Clone)]
pub(crate) struct PasswordSettings {
    /// The parameters of new hashes, and the limits on running and queued ones.
    pub(crate) hashing: vestry_password_argon2::Settings,
    /// The sorted list of breached passwords; `None` if disabled.
    pub(crate) breached: Option<PathBuf>,
}

/// `outbox.*`
#[derive(Debug, Clone)]
pub(crate) struct OutboxSettings {
    /// Whether `serve` delivers messages; `vestry worker` always does.
    pub(crate) worker: bool,
    /// Waiting messages of an environment, channel and priority beyond which sends fail.
    pub(crate) max_waiting: i64,
}

/// `webhooks.*`
#[derive(Debug, Clone)]
pub(crate) struct WebhookSettings {
    /// Whether `serve` delivers webhooks; `vestry worker` always does.
    pub(crate) worker: bool,
    /// Maximum number of concurrent requests of each process.
    pub(crate) max_in_flight: usize,
    /// The timeout of a whole request.
    pub(crate) timeout: Duration,
}

/// `audit.*`
#[derive(Debug, Clone)]
pub(crate) struct AuditSettings {
    /// The checkpoint sinks, in addition to the log.
    pub(crate) sinks: Vec<AuditSink>,
    /// The interval between checkpoints, when something has changed.
    pub(crate) checkpoint_every: Duration,
    /// The maximum age of the newest stored checkpoint while wallet keys are in use.
    pub(crate) require_anchor: Option<Seconds>,
    /// `epoch.store`: the directory of one of the sinks, which is read back and has the journal.
    pub(crate) epoch_store: Option<PathBuf>,
}

/// An external store of checkpoints.
#[derive(Debug, Clone)]
pub(crate) enum AuditSink {
    /// A directory.
    File(PathBuf),
    /// A URL that accepts checkpoints by POST, and our bearer token for it.
    Http(Url, Secret<String>),
}

/// An item of `audit.sinks`.
enum NamedSink {
    Log,
    File(PathBuf),
    Http(Url),
}

impl FromStr for NamedSink {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        if text == "log" {
            return Ok(Self::Log);
        }
        if let Some(directory) = text.strip_prefix("file:") {
            return if directory.is_empty() {
                Err(())
            } else {
                Ok(Self::File(PathBuf::from(directory)))
            };
        }
        // `http:https://host/path`, or the bare URL.
        let url = match text.strip_prefix("http:") {
            Some(url) if !url.starts_with("//") => url,
            _ => text,
        };
        let url = Url::parse(url).map_err(|_unreadable| ())?;
        let is_http = matches!(url.scheme(), "http" | "https");
        is_http.then_some(Self::Http(url)).ok_or(())
    }
}

impl AuditSettings {
    fn from_entries(entries: &Entries) -> Result<Self, Failure> {
        let named: Vec<NamedSink> = entries.list(
            "audit.sinks",
            "must be log, file:DIRECTORY, or http:URL such as http:https://anchor.example.com/vestry",
        )?;
        let mut sinks = Vec::new();
        for sink in named {
            match sink {
                // The log is always a sink.
                NamedSink::Log => {}
                NamedSink::File(directory) => sinks.push(AuditSink::File(directory)),
                NamedSink::Http(url) => {
                    let token = Secret::new(entries.required_text("audit.http_token")?);
                    sinks.push(AuditSink::Http(url, token));
                }
            }
        }
        let checkpoint_every = entries.seconds("audit.checkpoint_seconds", 1..=3_600)?;
        let minutes = entries.number("audit.require_anchor_minutes", 0..=10_080)?;
        let require_anchor = match minutes {
            0 => None,
            _ if sinks.is_empty() => {
                let why = "requires a sink other than log in audit.sinks, because logs may not be retained";
                return Err(entries.refuse("audit.require_anchor_minutes", why));
            }
            minutes if Duration::from_secs(minutes * 60) < checkpoint_every * 2 => {
                let why = "must be at least twice audit.checkpoint_seconds";
                return Err(entries.refuse("audit.require_anchor_minutes", why));
            }
            minutes => Some(Seconds::from_minutes(
                minutes.try_into().unwrap_or(i64::MAX),
            )),
        };
        let epoch_store = epoch_store(entries, &sinks)?;
        Ok(Self {
            sinks,
            checkpoint_every,
            require_anchor,
            epoch_store,
        })
    }
}

/// `epoch.store`
fn epoch_store(entries: &Entries, sinks: &[AuditSink]) -> Result<Option<PathBuf>, Failure> {
    let named = entries.required_text("epoch.store")?;
    if named == "none" {
        return Ok(None);
    }
    let directory = named.strip_prefix("file:").map(Path::new);
    let is_sink = |directory: &&Path| {
        sinks
            .iter()
            .any(|sink| matches!(sink, AuditSink::File(of) if of == *directory))
    };
    match directory.filter(is_sink) {
        Some(directory) => Ok(Some(directory.to_owned())),
        None => {
            let why = "must be \"none\" or a file: entry of audit.sinks";
            Err(entries.refuse("epoch.store", why))
        }
    }
}

/// `log.*`
#[derive(Debug, Clone, Copy)]
pub(crate) struct LogSettings {
    pub(crate) format: LogFormat,
    pub(crate) level: LevelFilter,
    /// The requests that are logged.
    pub(crate) requests: RequestLog,
}

/// `telemetry.*`
#[derive(Debug, Clone, Copy)]
pub(crate) struct TelemetrySettings {
    /// The address of metrics and probes; `None`: they are not served.
    pub(crate) listen: Option<SocketAddr>,
    /// Whether it is the default.
    pub(crate) is_default: bool,
}

/// The format of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LogFormat {
    /// One JSON object per line.
    Json,
    /// Readable text.
    Pretty,
}

/// The public URL: scheme and authority only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BaseUrl(Url);

impl BaseUrl {
    /// Host and port of the URL, without the scheme's default port.
    pub(crate) fn authority(&self) -> String {
        let host = self.0.host_str().unwrap_or_default();
        match self.0.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        }
    }

    /// The host of the URL, without a port.
    pub(crate) fn host(&self) -> String {
        self.0.host_str().unwrap_or_default().to_owned()
    }

    pub(crate) fn is_https(&self) -> bool {
        self.0.scheme() == "https"
    }

    /// Whether it is reachable only from this machine.
    pub(crate) fn is_loopback(&self) -> bool {
        match self.0.host() {
            Some(url::Host::Domain(name)) => name == "localhost",
            Some(url::Host::Ipv4(address)) => address.is_loopback(),
            Some(url::Host::Ipv6(address)) => address.is_loopback(),
            None => false,
        }
    }
}

/// Prints the URL without a trailing slash, so that a path can be appended.
impl fmt::Display for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_str().trim_end_matches('/'))
    }
}

impl FromStr for BaseUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wanted = "must be the public URL without a path, such as https://id.example.com";
        let url = Url::parse(text).map_err(|_unparsable| wanted.to_owned())?;
        let bare = url.path() == "/"
            && url.query().is_none()
            && url.fragment().is_none()
            && url.username().is_empty()
            && url.password().is_none();
        if matches!(url.scheme(), "http" | "https") && url.has_host() && bare {
            Ok(Self(url))
        } else {
            Err(wanted.to_owned())
        }
    }
}

/// The named file, or the default file if it exists.
fn named_or_present(named: Option<&Path>) -> Option<&Path> {
    let present = Path::new(DEFAULT_FILE);
    named.or_else(|| present.exists().then_some(present))
}

/// The texts of settings, to compare with a later reading.
pub(crate) struct Texts(Entries);

impl Texts {
    /// The settings that have another value in a later reading.
    pub(crate) fn changed(&self, later: &Self) -> Vec<&'static str> {
        self.0.changed(&later.0)
    }

    /// Takes the values of these settings from a later reading.
    pub(crate) fn take(&mut self, names: &[&'static str], later: Self) {
        self.0.take(names, later.0);
    }
}

impl Settings {
    /// Reads the environment and the file: the named one, or `vestry.toml` if it exists. Also returns the texts of the settings.
    ///
    /// # Errors
    /// Fails if the file cannot be read, a key is unknown, or a value is invalid.
    pub(crate) fn load(file: Option<&Path>) -> Result<(Self, Texts), Failure> {
        let entries = Entries::read(named_or_present(file))?;
        let settings = Self::from_entries(&entries)?;
        Ok((settings, Texts(entries.without_variables())))
    }

    /// Like [`Settings::load`], for a command whose log is read at a terminal.
    ///
    /// # Errors
    /// As for [`Settings::load`].
    pub(crate) fn load_for_people(file: Option<&Path>) -> Result<Self, Failure> {
        let mut entries = Entries::read(named_or_present(file))?;
        entries.set_default("log.format", "pretty");
        Self::from_entries(&entries)
    }

    /// Like [`Settings::load`], for `vestry dev`, with other defaults (`name`, `value`).
    ///
    /// A `vestry.toml` in the current directory is never read, because it may belong to a real deployment.
    ///
    /// # Errors
    /// As for [`Settings::load`].
    pub(crate) fn load_for_dev(
        file: Option<&Path>,
        defaults: &[(&'static str, String)],
    ) -> Result<Self, Failure> {
        let mut entries = Entries::read(file)?;
        for (name, value) in defaults {
            entries.set_default(name, value);
        }
        Self::from_entries(&entries)
    }

    fn from_entries(entries: &Entries) -> Result<Self, Failure> {
        Ok(Self {
            database: DatabaseSettings::from_entries(entries)?,
            http: HttpSettings::from_entries(entries)?,
            console: ConsoleSettings::from_entries(entries)?,
            vault: VaultSettings::from_entries(entries)?,
            mail: MailSettings::from_entries(entries)?,
            sms: SmsSettings::from_entries(entries)?,
            outbound: OutboundSettings {
                allowed_networks: entries.list(
                    "outbound.allowed_networks",
                    "must be networks such as 10.0.0.0/8",
                )?,
            },
            limits: LimitSettings::from_entries(entries)?,
            passwords: PasswordSettings::from_entries(entries)?,
            outbox: OutboxSettings {
                worker: entries.switch("outbox.worker")?,
                max_waiting: entries.number("outbox.max_waiting", 1..=10_000_000)?,
            },
            webhooks: WebhookSettings {
                worker: entries.switch("webhooks.worker")?,
                max_in_flight: entries.number("webhooks.max_in_flight", 2..=10_000)?,
                timeout: entries.seconds("webhooks.timeout", 1..=30)?,
            },
            audit: AuditSettings::from_entries(entries)?,
            log: LogSettings {
                format: entries.one_of(
                    "log.format",
                    &[("json", LogFormat::Json), ("pretty", LogFormat::Pretty)],
                )?,
                level: entries.one_of(
                    "log.level",
                    &[
                        ("error", LevelFilter::ERROR),
                        ("warn", LevelFilter::WARN),
                        ("info", LevelFilter::INFO),
                        ("debug", LevelFilter::DEBUG),
                        ("trace", LevelFilter::TRACE),
                    ],
                )?,
                requests: entries.one_of(
                    "log.requests",
                    &[
                        ("all", RequestLog::All),
                        ("errors", RequestLog::Errors),
                        ("off", RequestLog::Off),
                    ],
                )?,
            },
            telemetry: TelemetrySettings {
                listen: match entries.is_off("telemetry.listen") {
                    true => None,
                    false => Some(entries.parsed(
                        "telemetry.listen",
                        "must be an address and port, such as 127.0.0.1:9464, or \"off\"",
                    )?),
                },
                is_default: entries.is_default("telemetry.listen"),
            },
        })
    }
}

impl DatabaseSettings {
    /// The number of connections that can read at the same time.
    pub(crate) const fn reading(&self) -> usize {
        match self.database {
            Database::Sqlite(_) => self.max_readers,
            Database::Postgres(_) => self.max_connections,
        }
    }

    fn from_entries(entries: &Entries) -> Result<Self, Failure> {
        let database = entries.required_text("database.url")?.parse();
        Ok(Self {
            database: database.map_err(|why: DatabaseUrlError| {
                // Describes the problem without repeating the URL.
                entries.refuse("database.url", &why.to_string())
            })?,
            max_connections: entries.number("database.max_connections", 1..=10_000)?,
            max_readers: entries.number("database.max_readers", 1..=1_000)?,
            acquire_timeout: entries.seconds("database.acquire_timeout", 1..=60)?,
            connect_timeout: entries.seconds("database.connect_timeout", 1..=60)?,
            synchronous: entries.one_of(
                "database.synchronous",
                &[("full", Synchronous::Full), ("normal", Synchronous::Normal)],
            )?,
            prepared_statements: entries.switch("database.prepared_statements")?,
            migrate_on_start: entries.switch("database.migrate_on_start")?,
            allow_unsafe_durability: entries.switch("database.allow_unsafe_durability")?,
        })
    }
}

fn base_url(entries: &Entries, name: &'static str) -> Result<Option<BaseUrl>, Failure> {
    let text = entries.text(name)?;
    let parsed = text.map(|text| {
        text.parse()
            .map_err(|why: String| entries.refuse(name, &why))
    });
    parsed.transpose()
}

impl ConsoleSettings {
    /// Where the console is, if that is known.
    pub(crate) fn address(&self) -> Option<ConsoleAddress> {
        let url = self.base_url.as_ref()?;
        Some(ConsoleAddress {
            origin: url.to_string(),
            host: url.host(),
            needs_second_factor: self.needs_second_factor,
        })
    }

    fn from_entries(entries: &Entries) -> Result<Self, Failure> {
        let settings = Self {
            enabled: entries.switch("console.enabled")?,
            base_url: base_url(entries, "console.base_url")?,
            listen: match entries.text("console.listen")? {
                None => None,
                Some(_) => Some(entries.parsed(
                    "console.listen",
                    "must be an address and port, such as 127.0.0.1:8081",
                )?),
            },
            needs_second_factor: true,
        };
        if settings.enabled && settings.base_url.is_none() {
            return Err(entries.refuse(
                "console.enabled",
                "requires console.base_url, the URL at which browsers reach the console",
            ));
        }
        Ok(settings)
    }
}

impl HttpSettings {
    fn from_entries(entries: &Entries) -> Result<Self, Failure> {
        let tls = match (
            entries.text("http.tls.cert")?,
            entries.text("http.tls.key")?,
        ) {
            (None, None) => None,
            (Some(certificate), Some(key)) => Some(CertificateFiles {
                certificate: certificate.into(),
                key: key.into(),
            }),
            (Some(_), None) => {
                return Err(entries.refuse("http.tls.cert", "requires http.tls.key"));
            }
            (None, Some(_)) => {
                return Err(entries.refuse("http.tls.key", "requires http.tls.cert"));
            }
        };
        Ok(Self {
            listen: entries.parsed(
                "http.listen",
                "must be an address and port, such as 127.0.0.1:8080 or [::]:443",
            )?,
            base_url: base_url(entries, "http.base_url")?,
            tls,
            trusted_proxies: entries.list(
                "http.trusted_proxies",
                "must be networks such as 10.0.0.0/8",
            )?,
            request_timeout: entries.seconds("http.request_timeout", 1..=300)?,
            keep_alive: entries.seconds("http.keep_alive", 1..=3600)?,
            workers: entries.number("http.workers", 0..=1024)?,
            drain_delay: entries.seconds("http.drain_delay", 0..=300)?,
            shutdown_timeout: entries.seconds("http.shutdown_timeout", 1..=300)?,
        })
    }
}

impl VaultSettings {
    fn from_entries(entries: &Entries) -> Result<Self, Failure> {
        #[derive(Clone, Copy)]
        enum Kind {
            Local,
            Env,
        }
        let kinds = [("local", Kind::Local), ("env", Kind::Env)];
        match entries.one_of("vault.kind", &kinds)? {
            Kind::Local => Ok(Self::Local(RootKeyFiles::from_entries(entries)?)),
            Kind::Env => {
                let root = entries.required_text("vault.env.key")?;
                let sign_in = entries.text("vault.env.sign_in_key")?;
                Ok(Self::Env {
                    sign_in: Secret::new(sign_in.unwrap_or_else(|| root.clone())),
                    root: Secret::new(root),
                })
            }
        }
    }
}

impl RootKeyFiles {
    fn from_entries(entries: &Entries) -> Result<Self, Failure> {
        let root = PathBuf::from(entries.required_text("vault.local.path")?);
        let sign_in = entries.text("vault.local.sign_in_path")?;
        let sign_in = sign_in.map_or_else(|| root.with_file_name("sign-in.key"), PathBuf::from);
        // Removing the root key file to seal the wallets would otherwise remove the sign-in key too.
        if sign_in == root {
            return Err(entries.refuse(
                "vault.local.sign_in_path",
                "must differ from vault.local.path",
            ));
        }
        Ok(Self { root, sign_in })
    }
}

impl MailSettings {
    fn from_entries(entries: &Entries) -> Result<Self, Failure> {
        #[derive(Clone, Copy)]
        enum Kind {
            Capture,
            Smtp,
        }
        let kinds = [("capture", Kind::Capture), ("smtp", Kind::Smtp)];
        match entries.one_of("mail.kind", &kinds)? {
            Kind::Capture => Ok(Self::Capture),
            Kind::Smtp => Ok(Self::Smtp {
                url: Secret::new(entries.required_text("mail.smtp.url")?),
                from: entries.required_text("mail.smtp.from")?,
                ca_file: entries.text("mail.smtp.ca_file")?.map(PathBuf::from),
            }),
        }
    }
}

impl PasswordSettings {
    fn from_entries(entries: &Entries) -> Result<Self, Failure> {
        let hashing = vestry_password_argon2::Settings {
            memory_kib: entries.number("passwords.memory_kib", 7_168..=1_048_576)?,
            iterations: entries.number("passwords.iterations", 1..=32)?,
            parallelism: entries.number("passwords.parallelism", 1..=16)?,
            ..vestry_password_argon2::Settings::default()
        };
        if !hashing.is_strong_enough() {
            return Err(entries.refuse(
                "passwords.memory_kib",
                "must be at least 47104 with 1 iteration, 19456 with 2, 12288 with 3, 9216 with 4, or 7168 with 5",
            ));
        }
        let threads: usize = entries.number("passwords.threads", 0..=1_024)?;
        let choices = [("off", false), ("file", true)];
        let breached = if entries.one_of("passwords.breach.kind", &choices)? {
            Some(entries.required_text("passwords.breach.file")?.into())
        } else {
            None
        };
        Ok(Self {
            hashing: vestry_password_argon2::Settings {
                threads: NonZeroUsize::new(threads).unwrap_or(hashing.threads),
                waiting: entries.number("passwords.queue", 1..=100_000)?,
                ..hashing
            },
            breached,
        })
    }
}

impl SmsSettings {
    fn from_entries(entries: &Entries) -> Result<Self, Failure> {
        #[derive(Clone, Copy)]
        enum Kind {
            Capture,
            Http,
        }
        let kinds = [("capture", Kind::Capture), ("http", Kind::Http)];
        match entries.one_of("sms.kind", &kinds)? {
            Kind::Capture => Ok(Self::Capture),
            Kind::Http => Ok(Self::Http {
                base_url: entries.required_text("sms.http.base_url")?,
                account_sid: entries.required_text("sms.http.account_sid")?,
                auth_token: Secret::new(entries.required_text("sms.http.auth_token")?),
                from: entries.required_text("sms.http.from")?,
            }),
        }
    }
}

impl LimitSettings {
    fn from_entries(entries: &Entries) -> Result<Self, Failure> {
        let store = entries.required_text("limits.store")?;
        let store = match store.as_str() {
            "memory" => LimitStore::Memory,
            "database" => LimitStore::Database,
            url if url.starts_with("redis://") => LimitStore::Redis(Secret::new(store)),
            _ => {
                return Err(entries.refuse("limits.store", "must be memory, database or redis://…"));
            }
        };
        Ok(Self {
            store,
            test_per_minute: entries.number("limits.test_per_minute", 0..=u32::MAX)?,
            live_per_minute: entries.number("limits.live_per_minute", 0..=u32::MAX)?,
            sends_per_identifier: entries.number("limits.sends_per_identifier", 0..=u32::MAX)?,
            failed_auth_per_minute: entries
                .number("limits.failed_auth_per_minute", 0..=u32::MAX)?,
            replicas: NonZeroU32::new(entries.number("limits.replicas", 1..=10_000)?)
                .unwrap_or(NonZeroU32::MIN),
        })
    }
}

#[cfg(test)]
mod tests;
