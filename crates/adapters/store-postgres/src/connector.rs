//! Opens connections, with TLS as the URL requires.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::{Client, Config, Connection, Socket};
use tokio_postgres_rustls::MakeRustlsConnect;
use vestry_ports::store::{StoreError, StoreResult};

use vestry_store_rows::settings::{PostgresUrl, Settings, Tls};

use super::tls_no_verify::NoVerification;

/// How long data can stay unacknowledged before the connection counts as dead, unless the URL sets a value.
const UNACKNOWLEDGED: Duration = Duration::from_secs(10);
/// Idle time before a TCP keepalive probe. The library's default is two hours.
const SILENCE: Duration = Duration::from_secs(30);

/// The driver of a connection, which must be polled.
pub(crate) type Driven = Connection<Socket, <MakeRustlsConnect as MakeTlsConnect<Socket>>::Stream>;

/// Opens connections to one database.
#[derive(Clone)]
pub struct Connector {
    config: Config,
    tls: MakeRustlsConnect,
}

impl Connector {
    /// Prepares what every connection needs.
    ///
    /// # Errors
    /// [`StoreError::Other`] if the root certificates cannot be read.
    pub fn new(url: &PostgresUrl, settings: &Settings) -> StoreResult<Self> {
        let mut config = url.config.clone();
        if config.get_application_name().is_none() {
            config.application_name("vestry");
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(settings.connect_timeout);
        }
        if config.get_tcp_user_timeout().is_none() {
            config.tcp_user_timeout(UNACKNOWLEDGED);
        }
        config.keepalives_idle(config.get_keepalives_idle().min(SILENCE));
        Ok(Self {
            tls: MakeRustlsConnect::new(client_config(&url.tls)?),
            config,
        })
    }

    /// Returns a connector whose sessions start with these settings, in the format of libpq's `options`.
    pub(crate) fn with_options(&self, options: &str) -> Self {
        let mut connector = self.clone();
        let all = match self.config.get_options() {
            Some(others) => format!("{others} {options}"),
            None => options.to_owned(),
        };
        connector.config.options(all);
        connector
    }

    /// Opens one connection. If the URL requires TLS and the server has none, neither user name nor password is sent.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    pub async fn open(&self) -> StoreResult<(Client, Driven)> {
        let opened = self.config.connect(self.tls.clone()).await;
        opened.map_err(|failed| StoreError::Unavailable(Box::new(failed)))
    }
}

/// Builds a TLS configuration on aws-lc, whatever the process default is.
fn client_config(tls: &Tls) -> StoreResult<ClientConfig> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|impossible| StoreError::Other(Box::new(impossible)))?;
    let config = match tls {
        Tls::Off => config.with_root_certificates(RootCertStore::empty()),
        Tls::Verified { roots: file } => config.with_root_certificates(roots(file.as_deref())?),
        Tls::Unverified => {
            let any = Arc::new(NoVerification(provider));
            config.dangerous().with_custom_certificate_verifier(any)
        }
    };
    Ok(config.with_no_client_auth())
}

/// Returns the trusted authorities: those of the file, otherwise those of the machine and of Mozilla.
fn roots(file: Option<&Path>) -> StoreResult<RootCertStore> {
    let mut roots = RootCertStore::empty();
    let Some(file) = file else {
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        return Ok(roots);
    };
    let unreadable =
        |cause: rustls::pki_types::pem::Error| StoreError::Unavailable(Box::new(cause));
    for certificate in CertificateDer::pem_file_iter(file).map_err(unreadable)? {
        roots
            .add(certificate.map_err(unreadable)?)
            .map_err(|refused| StoreError::Unavailable(Box::new(refused)))?;
    }
    Ok(roots)
}
