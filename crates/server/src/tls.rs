//! TLS certificates of the HTTPS listener.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use rustls::ServerConfig;
use rustls::client::verify_server_name;
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::{ClientHello, ParsedCertificate, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use vestry_domain::Timestamp;
use x509_parser::prelude::{FromDer, X509Certificate};

use crate::failure::{Context, Failure};

/// Makes aws-lc the TLS provider of this process.
pub(crate) fn install_provider() {
    // Fails only if a provider is already installed. It is the same one, as nothing else installs any.
    let _already = aws_lc_rs::default_provider().install_default();
}

/// The PEM files of a certificate and its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CertificateFiles {
    /// The certificate chain, with the server's own certificate first.
    pub(crate) certificate: PathBuf,
    /// The private key (PKCS#8, PKCS#1 or SEC 1).
    pub(crate) key: PathBuf,
}

/// A certificate and its key that were read and match.
pub(crate) struct Prepared(Arc<CertifiedKey>);

/// A certificate that can be reloaded.
pub(crate) struct Certificate {
    files: CertificateFiles,
    current: RwLock<Arc<CertifiedKey>>,
}

impl Certificate {
    pub(crate) fn load(files: CertificateFiles) -> Result<Arc<Self>, Failure> {
        let current = RwLock::new(Arc::new(read(&files)?));
        Ok(Arc::new(Self { files, current }))
    }

    /// Reloads the files. If they are invalid, the current certificate is kept.
    pub(crate) fn reload(&self) -> Result<(), Failure> {
        self.install(Self::prepare(&self.files)?);
        Ok(())
    }

    /// Reads files, without using them yet.
    pub(crate) fn prepare(files: &CertificateFiles) -> Result<Prepared, Failure> {
        Ok(Prepared(Arc::new(read(files)?)))
    }

    /// Uses a certificate from now on. Returns whether it is another one.
    pub(crate) fn install(&self, Prepared(fresh): Prepared) -> bool {
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        let is_other = current.cert != fresh.cert;
        *current = fresh;
        is_other
    }

    /// When the certificate expires, in Unix seconds.
    ///
    /// # Errors
    /// It is not an X.509 certificate.
    pub(crate) fn expires_at(&self) -> Result<Timestamp, Failure> {
        let current = self.current();
        let certificate = current.end_entity_cert().context("no certificate")?;
        let (_, parsed) = X509Certificate::from_der(certificate)
            .map_err(|error| Failure::new("not an X.509 certificate").because(error))?;
        Ok(Timestamp::from_unix(
            parsed.validity().not_after.timestamp(),
        ))
    }

    /// Whether clients accept the certificate for this host name or address.
    pub(crate) fn covers(&self, host: &str) -> bool {
        let current = self.current();
        let Ok(certificate) = current.end_entity_cert() else {
            return false;
        };
        let Ok(name) = ServerName::try_from(host) else {
            return false;
        };
        ParsedCertificate::try_from(certificate)
            .is_ok_and(|parsed| verify_server_name(&parsed, &name).is_ok())
    }

    fn current(&self) -> Arc<CertifiedKey> {
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&current)
    }

    /// The TLS configuration of a listener: TLS 1.2 and 1.3, no client certificates.
    pub(crate) fn server_config(self: &Arc<Self>) -> ServerConfig {
        let resolver: Arc<dyn ResolvesServerCert> = Arc::<Self>::clone(self);
        ServerConfig::builder()
            .with_no_client_auth()
            .with_cert_resolver(resolver)
    }
}

impl fmt::Debug for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Certificate({})", self.files.certificate.display())
    }
}

impl ResolvesServerCert for Certificate {
    fn resolve(&self, _client: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.current())
    }
}

fn read(files: &CertificateFiles) -> Result<CertifiedKey, Failure> {
    let cannot_read =
        |what: &str, path: &Path| format!("cannot read the {what} {}", path.display());
    let chain = CertificateDer::pem_file_iter(&files.certificate)
        .and_then(|chain| chain.collect::<Result<Vec<_>, _>>())
        .context(cannot_read("certificate", &files.certificate))?;
    if chain.is_empty() {
        return Err(Failure::new(format!(
            "no certificate in {}",
            files.certificate.display()
        )));
    }
    let key =
        PrivateKeyDer::from_pem_file(&files.key).context(cannot_read("private key", &files.key))?;
    let provider = CryptoProvider::get_default()
        .ok_or_else(|| Failure::new("no TLS provider is installed"))?;
    CertifiedKey::from_der(chain, key, provider).context(format!(
        "the certificate {} and the private key {} do not match",
        files.certificate.display(),
        files.key.display()
    ))
}
