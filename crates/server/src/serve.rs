//! `vestry serve`.

use std::path::Path;
use std::sync::Arc;

use vestry_domain::envelope::KeyPurpose;
use vestry_edge::{Draining, WebSettings};
use vestry_store_sql::SqlStore;

use crate::background::Duties;
use crate::compose::Destinations;
use crate::config::{
    BaseUrl, ConsoleSettings, DatabaseSettings, HttpSettings, MailSettings, Settings, SmsSettings,
    Texts,
};
use crate::failure::{Context, Failure};
use crate::http::{Console, Edge, Listener, Times};
use crate::reload::Reload;
use crate::tls::Certificate;
use crate::{compose, end, logging, migrate, runtime, telemetry};

pub(crate) fn run(settings: &Settings, texts: Texts, file: Option<&Path>) -> Result<(), Failure> {
    let http = &settings.http;
    let base_url = base_url(http)?;
    let certificate = http.tls.clone().map(Certificate::load).transpose()?;
    let listener = Listener::bind(http.listen, "change http.listen")?;
    refuse_plain_console(&settings.console)?;
    let console = Console::of(&settings.console)?;
    let address = listener.address;
    let scrapes = telemetry::bind(&settings.telemetry)?;
    let measured = telemetry::meter();
    warn_of_plain_http(http, &base_url);
    warn_of_unknown_clients(settings);
    let transports = compose::transports(settings)?;
    let runtime = runtime()?;
    logging::report_dropped(runtime.handle());
    let service = runtime.block_on(async {
        if settings.database.migrate_on_start {
            let applied = migrate::apply(&settings.database).await?;
            tracing::info!(applied = applied.len(), "database migrated");
        }
        let store = compose::store(&settings.database).await?;
        refuse_unsafe(&store, &settings.database)?;
        store.measured_by(measured.clone());
        let limiter = compose::limiter(&settings.limits, &store).await?;
        let destinations = Destinations {
            sinks: compose::sinks(settings)?,
            transports: transports.clone(),
        };
        compose::service(
            settings,
            store,
            limiter,
            destinations,
            measured.clone(),
            Some(&base_url),
            runtime.handle().clone(),
        )
    })?;
    let (plain, tls) = match certificate {
        None => (Some(listener), None),
        Some(certificate) => (None, Some((listener, certificate))),
    };
    let web = web_settings(settings);
    let certificate = tls.as_ref().map(|(_, certificate)| Arc::clone(certificate));
    let file = file.map(Path::to_owned);
    let reload = Reload::new(file, (settings, texts), certificate, &web, transports);
    if let Some(listener) = scrapes {
        telemetry::serve(listener, Arc::clone(&service), measured, &web)?;
    }
    let edge = Edge {
        service: Arc::clone(&service),
        web,
        plain,
        tls,
        console,
        times: Times::of(http),
        workers: http.workers,
        duties: Duties::of(settings),
        reload: Some(reload),
    };
    let handle = runtime.handle().clone();
    let served = edge.serve(&handle, async || {
        // On the service's runtime, not on the thread that accepts connections.
        let (ready, vault, sign_in_key) = service
            .run(|service| async move {
                (
                    service.ready().await,
                    service.has_root_key(KeyPurpose::Wallets).await,
                    service.has_root_key(KeyPurpose::Secrets).await,
                )
            })
            .await
            .context("the service did not start")?;
        if let Err(fault) = ready {
            let reason = Failure::new("see /readyz").because(fault).to_string();
            tracing::error!(reason, "service is not ready; has `vestry migrate` been run?");
        }
        if let Err(cause) = vault {
            let reason = Failure::new("root key of wallets").because(cause).to_string();
            tracing::error!(reason, "vault is sealed: calls that need a wallet key return 503 until the root key can be read");
        }
        if let Err(cause) = sign_in_key {
            let reason = Failure::new("sign-in key").because(cause).to_string();
            tracing::error!(reason, "sign-in key is unavailable: sign-in and calls that use a wallet key return 503 until it can be read");
        }
        if matches!(settings.mail, MailSettings::Capture) {
            tracing::warn!("mail is not configured: live calls that send mail return 503");
        }
        if matches!(settings.sms, SmsSettings::Capture) {
            tracing::warn!("SMS is not configured: live calls that send SMS return 503");
        }
        tracing::info!(%address, %base_url, pid = std::process::id(), "ready");
        Ok(())
    });
    end(runtime);
    served
}

fn base_url(http: &HttpSettings) -> Result<BaseUrl, Failure> {
    http.base_url.clone().ok_or_else(|| {
        Failure::new("http.base_url is not set; set it to the public URL of this service in vestry.toml or VESTRY_HTTP__BASE_URL")
    })
}

/// The settings of the web layer.
pub(crate) fn web_settings(settings: &Settings) -> WebSettings {
    WebSettings {
        trusted_proxies: settings.http.trusted_proxies.clone().into(),
        failed_auth_per_minute: settings.limits.failed_auth_per_minute,
        read_deadline: settings.http.request_timeout,
        console_listener: None,
        logged: settings.log.requests.into(),
        draining: Draining::default(),
    }
}

fn warn_of_plain_http(http: &HttpSettings, base_url: &BaseUrl) {
    if !base_url.is_https() && !base_url.is_loopback() {
        tracing::warn!(
            "http.base_url is not https: links and tokens will contain an address that refuses plain HTTP"
        );
    }
    if http.tls.is_none() && !http.listen.ip().is_loopback() && http.trusted_proxies.is_empty() {
        tracing::warn!(
            "http.listen is not a loopback address, and neither http.tls nor http.trusted_proxies is set: every call will fail with https_required"
        );
    }
}

/// The URL of the console is always https, so without `http.tls` a proxy ends TLS.
fn warn_of_unknown_clients(settings: &Settings) {
    let http = &settings.http;
    if settings.console.enabled && http.tls.is_none() && http.trusted_proxies.is_empty() {
        tracing::warn!(
            "console.enabled is set, and neither http.tls nor http.trusted_proxies: all operators share the address and the limits of the proxy in front; set http.trusted_proxies"
        );
    }
}

/// Refuses a console that browsers reach without TLS.
pub(crate) fn refuse_plain_console(settings: &ConsoleSettings) -> Result<(), Failure> {
    match &settings.base_url {
        Some(url) if settings.enabled && !url.is_https() => Err(Failure::new(
            "console.base_url must be https, because the console keeps its session in a cookie",
        )),
        _ => Ok(()),
    }
}

/// Refuses a database that can lose acknowledged writes: a 200 promises that they are on disk (K8).
fn refuse_unsafe(store: &SqlStore, settings: &DatabaseSettings) -> Result<(), Failure> {
    let findings = store.durability_findings();
    for finding in findings {
        tracing::error!(finding, "database may lose acknowledged writes");
    }
    if findings.is_empty() || settings.allow_unsafe_durability {
        return Ok(());
    }
    Err(Failure::new(format!(
        "the database may lose acknowledged writes ({}); fix this, or set database.allow_unsafe_durability to accept the risk",
        findings.join("; ")
    )))
}
