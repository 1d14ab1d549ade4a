//! The composition root: chooses the adapter for each port.

use std::num::NonZeroU32;
use std::path::Path;
use std::sync::Arc;

use tokio::runtime::Handle;
use vestry_app::{Ports, Service};
use vestry_breached_passwords::BreachedFile;
use vestry_checkpoint_sinks::{FileJournal, FileSink, HttpSink, LogSink};
use vestry_custody::Custody;
use vestry_domain::Secret;
use vestry_idp_oauth::OauthProviders;
use vestry_limiter::{MemoryLimiter, RedisLimiter, RedisSettings};
use vestry_mail_smtp::SmtpMailer;
use vestry_passkeys::Webauthn;
use vestry_password_argon2::Argon2Hasher;
use vestry_ports::anchors::CheckpointSink;
use vestry_ports::clock::Clock;
use vestry_ports::custody::{CheckpointSigner, Custodian, Sealer, SignatureVerifier};
use vestry_ports::entropy::Entropy;
use vestry_ports::identity_providers::IdentityProviders;
use vestry_ports::journal::EpochStore;
use vestry_ports::limiter::RateLimiter;
use vestry_ports::mailer::Mailer;
use vestry_ports::meter::Meter;
use vestry_ports::passwords::{BreachedPasswords, PasswordHasher};
use vestry_ports::sms::SmsSender;
use vestry_ports::store::Store;
use vestry_ports::vault::{KeyVault, Vaults};
use vestry_ports::webhooks::WebhookSender;
use vestry_sms_http::HttpSms;
use vestry_store_sql::{Database, SqlStore};
use vestry_token_jwt::JwtSigner;
use vestry_vault_local::LocalVault;
use vestry_webhook_http::HttpWebhooks;

use crate::clock::SystemClock;
use crate::config::{
    AuditSink, BaseUrl, DatabaseSettings, LimitSettings, LimitStore, MailSettings,
    OutboundSettings, PasswordSettings, Settings, SmsSettings, VaultSettings,
};
use crate::entropy::SystemEntropy;
use crate::failure::{Context, Failure};
use crate::private_file;
use crate::transports::Transports;

/// Opens the database. Warns if the connection can be read or modified on the way. Runs no migrations and creates nothing.
///
/// It refuses a database whose restore has not ended: what must not live on there still does.
pub(crate) async fn store(settings: &DatabaseSettings) -> Result<Arc<SqlStore>, Failure> {
    let store = any_store(settings).await?;
    let is_half = store.is_half_restored().await;
    match is_half.context("cannot read the database")? {
        true => Err(Failure::new(
            "restore is unfinished; restore again into a new database",
        )),
        false => Ok(store),
    }
}

/// Opens the database, even during a restore.
pub(crate) async fn any_store(settings: &DatabaseSettings) -> Result<Arc<SqlStore>, Failure> {
    if let Database::Sqlite(path) = &settings.database
        && !path.exists()
    {
        return Err(Failure::new(format!(
            "database {} does not exist; create it with `vestry migrate`",
            path.display()
        )));
    }
    if let Database::Postgres(url) = &settings.database
        && let Some(warning) = url.warning()
    {
        tracing::warn!("{warning}");
    }
    let store = SqlStore::connect(&store_settings(settings)).await;
    Ok(Arc::new(store.context("cannot open the database")?))
}

/// Converts the settings for the store.
pub(crate) fn store_settings(settings: &DatabaseSettings) -> vestry_store_sql::Settings {
    vestry_store_sql::Settings {
        database: settings.database.clone(),
        connections: settings.max_connections,
        readers: settings.max_readers,
        acquire_timeout: settings.acquire_timeout,
        connect_timeout: settings.connect_timeout,
        synchronous: settings.synchronous,
        keep_statements: settings.prepared_statements,
    }
}

/// The key providers. A local root key is opened on first use, once its file exists.
pub(crate) fn vaults(settings: &VaultSettings) -> Result<Vaults, Failure> {
    let (wallets, secrets) = match settings {
        VaultSettings::Local(files) => (in_file(&files.root), in_file(&files.sign_in)),
        VaultSettings::Env { root, sign_in } => (
            in_environment("VESTRY_VAULT__ENV__KEY", root)?,
            in_environment("VESTRY_VAULT__ENV__SIGN_IN_KEY", sign_in)?,
        ),
    };
    Ok(Vaults { wallets, secrets })
}

fn in_file(path: &Path) -> Arc<dyn KeyVault> {
    let entropy = Arc::new(SystemEntropy::new());
    Arc::new(LocalVault::lazy(path, entropy))
}

/// Creates a root key file and its parent directory.
pub(crate) fn make_root_key(path: &Path) -> Result<(), Failure> {
    private_file::make_directory_of(path)?;
    LocalVault::create(path, &SystemEntropy::new()).context("cannot create the root key")
}

fn in_environment(variable: &str, key: &Secret<String>) -> Result<Arc<dyn KeyVault>, Failure> {
    let vault = LocalVault::from_value(key, Arc::new(SystemEntropy::new()));
    Ok(Arc::new(
        vault.context(format!("{variable} is not a valid root key"))?,
    ))
}

/// The transport for live mail, if configured.
pub(crate) fn mailer(settings: &MailSettings) -> Result<Option<Arc<dyn Mailer>>, Failure> {
    match settings {
        MailSettings::Capture => Ok(None),
        MailSettings::Smtp { url, from, ca_file } => {
            let mut smtp = vestry_mail_smtp::Settings::new(url.clone(), from.clone());
            smtp.ca_file.clone_from(ca_file);
            let mailer = SmtpMailer::new(&smtp).context("cannot set up mail delivery")?;
            Ok(Some(Arc::new(mailer)))
        }
    }
}

/// The password hasher.
fn hasher(
    settings: &PasswordSettings,
    entropy: &Arc<dyn Entropy>,
    meter: &Arc<dyn Meter>,
) -> Result<Arc<dyn PasswordHasher>, Failure> {
    let hasher = Argon2Hasher::new(settings.hashing, Arc::clone(entropy));
    let hasher = hasher.context("cannot set up password hashing")?;
    hasher.measured_by(Arc::clone(meter));
    Ok(Arc::new(hasher))
}

/// The list of breached passwords, if configured.
fn breached(settings: &PasswordSettings) -> Result<Option<Arc<dyn BreachedPasswords>>, Failure> {
    let Some(file) = &settings.breached else {
        return Ok(None);
    };
    let list = BreachedFile::open(file);
    let list = list.context(format!(
        "cannot use passwords.breach.file {}",
        file.display()
    ))?;
    Ok(Some(Arc::new(list)))
}

/// The client for identity providers on the internet or in the allowed networks.
fn providers(outbound: &OutboundSettings) -> Result<Arc<dyn IdentityProviders>, Failure> {
    let settings = vestry_idp_oauth::Settings {
        allowed_networks: outbound.allowed_networks.clone(),
        ..vestry_idp_oauth::Settings::default()
    };
    let providers = OauthProviders::new(&settings);
    Ok(Arc::new(providers.context(
        "cannot set up the client for identity providers",
    )?))
}

/// The provider of live text messages, if configured.
pub(crate) fn sms(
    settings: &SmsSettings,
    outbound: &OutboundSettings,
) -> Result<Option<Arc<dyn SmsSender>>, Failure> {
    match settings {
        SmsSettings::Capture => Ok(None),
        SmsSettings::Http {
            base_url,
            account_sid,
            auth_token,
            from,
        } => {
            let mut http =
                vestry_sms_http::Settings::new(base_url, account_sid, auth_token.clone(), from);
            http.allowed_networks.clone_from(&outbound.allowed_networks);
            let sms = HttpSms::new(&http).context("cannot set up SMS delivery")?;
            Ok(Some(Arc::new(sms)))
        }
    }
}

/// The transports of live messages that are configured.
pub(crate) fn transports(settings: &Settings) -> Result<Transports, Failure> {
    Ok(Transports::new(
        mailer(&settings.mail)?,
        sms(&settings.sms, &settings.outbound)?,
    ))
}

/// The sender of webhooks, to the internet or the allowed networks.
fn webhooks(settings: &Settings) -> Result<Arc<dyn WebhookSender>, Failure> {
    let webhooks = HttpWebhooks::new(&vestry_webhook_http::Settings {
        allowed_networks: settings.outbound.allowed_networks.clone(),
        whole: settings.webhooks.timeout,
    });
    Ok(Arc::new(
        webhooks.context("cannot set up webhook delivery")?,
    ))
}

/// The checkpoint sinks of a running service, its log included.
pub(crate) fn sinks(settings: &Settings) -> Result<Vec<Arc<dyn CheckpointSink>>, Failure> {
    let log: Arc<dyn CheckpointSink> = Arc::new(LogSink::default());
    Ok([vec![log], sinks_of_commands(settings)?].concat())
}

/// The addresses that checkpoint sinks may have.
pub(crate) fn reach_of_anchors(settings: &Settings) -> vestry_checkpoint_sinks::Settings {
    vestry_checkpoint_sinks::Settings {
        allowed_networks: settings.outbound.allowed_networks.clone(),
        ..vestry_checkpoint_sinks::Settings::default()
    }
}

/// The checkpoint sinks of a command. Its log is not retained, so a running service writes these checkpoints to its own log.
pub(crate) fn sinks_of_commands(
    settings: &Settings,
) -> Result<Vec<Arc<dyn CheckpointSink>>, Failure> {
    let http = reach_of_anchors(settings);
    let mut sinks: Vec<Arc<dyn CheckpointSink>> = Vec::new();
    for sink in &settings.audit.sinks {
        sinks.push(match sink {
            AuditSink::File(directory) => Arc::new(FileSink::new(directory)),
            AuditSink::Http(url, token) => {
                let sink = HttpSink::new(url.clone(), token.clone(), &http);
                Arc::new(sink.context("cannot use audit.sinks")?)
            }
        });
    }
    Ok(sinks)
}

/// The store of the epoch and the journal, if there is one.
pub(crate) fn epoch_store(settings: &Settings) -> Option<EpochStore> {
    let directory = settings.audit.epoch_store.as_deref()?;
    Some(EpochStore {
        sink: Arc::new(FileSink::new(directory)),
        journal: Arc::new(FileJournal::new(directory)),
    })
}

/// The rate limiter of requests.
pub(crate) async fn limiter(
    settings: &LimitSettings,
    store: &SqlStore,
) -> Result<Arc<dyn RateLimiter>, Failure> {
    match &settings.store {
        LimitStore::Memory => Ok(Arc::new(MemoryLimiter::new())),
        LimitStore::Database => Ok(Arc::new(store.rate_limiter())),
        LimitStore::Redis(url) => Ok(Arc::new(redis(url, settings.replicas).await?)),
    }
}

/// The rate limiter on Redis. The limiter bridges an unreachable server, so this is not an error.
pub(crate) async fn redis(
    url: &Secret<String>,
    replicas: NonZeroU32,
) -> Result<RedisLimiter, Failure> {
    let settings = RedisSettings {
        replicas,
        ..RedisSettings::new(url.clone())
    };
    RedisLimiter::connect(&settings)
        .await
        .context("cannot use limits.store")
}

/// What a process sends to, besides webhooks.
pub(crate) struct Destinations {
    /// The sinks of checkpoints.
    pub(crate) sinks: Vec<Arc<dyn CheckpointSink>>,
    /// The transports of live messages.
    pub(crate) transports: Transports,
}

/// Builds the service. Commands that answer no requests can omit the public URL.
pub(crate) fn service(
    settings: &Settings,
    store: Arc<dyn Store>,
    limiter: Arc<dyn RateLimiter>,
    Destinations { sinks, transports }: Destinations,
    meter: Arc<dyn Meter>,
    base_url: Option<&BaseUrl>,
    runtime: Handle,
) -> Result<Arc<Service>, Failure> {
    let entropy: Arc<dyn Entropy> = Arc::new(SystemEntropy::new());
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let vaults = vaults(&settings.vault)?;
    let custody = Custody::new(vaults.clone(), Arc::clone(&store), Arc::clone(&entropy));
    let custody = Arc::new(custody.context("cannot protect keys in memory on this machine")?);
    custody.measured_by(Arc::clone(&meter));
    let sealer: Arc<dyn Sealer> = Arc::<Custody>::clone(&custody);
    let checkpoint_signer: Arc<dyn CheckpointSigner> = Arc::<Custody>::clone(&custody);
    let signatures: Arc<dyn SignatureVerifier> = Arc::<Custody>::clone(&custody);
    let custodian: Arc<dyn Custodian> = custody;
    let ports = Ports {
        store,
        vaults,
        custodian,
        tokens: Arc::new(JwtSigner::new(Arc::clone(&sealer))),
        sealer,
        checkpoint_signer,
        sinks,
        epoch_store: epoch_store(settings),
        passkeys: Arc::new(Webauthn),
        signatures,
        providers: Some(providers(&settings.outbound)?),
        limiter,
        mailer: transports.mailer(),
        passwords: hasher(&settings.passwords, &entropy, &meter)?,
        breached: breached(&settings.passwords)?,
        sms: transports.sms(),
        webhooks: Some(webhooks(settings)?),
        meter,
        clock,
        entropy,
    };
    let limits = vestry_app::Settings {
        issuer_host: base_url.map(BaseUrl::authority).unwrap_or_default(),
        public_url: base_url.map(ToString::to_string).unwrap_or_default(),
        test_per_minute: settings.limits.test_per_minute,
        live_per_minute: settings.limits.live_per_minute,
        sends_per_identifier: settings.limits.sends_per_identifier,
        search_within: vestry_app::Settings::SEARCH_WITHIN,
        searches_at_once: vestry_app::Settings::searches_with(settings.database.reading()),
        webhooks_in_flight: settings.webhooks.max_in_flight,
        max_waiting: settings.outbox.max_waiting,
        checkpoint_every: settings.audit.checkpoint_every,
        require_anchor: settings.audit.require_anchor,
        console: settings.console.address(),
    };
    Ok(Arc::new(Service::new(ports, limits, runtime)))
}
