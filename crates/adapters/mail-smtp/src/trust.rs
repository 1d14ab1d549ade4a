//! Trusted certificates.

use std::fs;
use std::path::Path;

use lettre::transport::smtp::client::{Certificate, CertificateStore, TlsParameters};
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use crate::settings::BadSettings;

/// Returns the TLS parameters for a host. They require at least TLS 1.2 and a certificate that names the host. Its authority must be
/// trusted by this machine, be on Mozilla's list (for machines without authorities, such as bare containers), or be in the file.
///
/// # Errors
/// The file cannot be read or contains no certificates, or the host is not valid for TLS.
pub(crate) fn tls(host: &str, ca_file: Option<&Path>) -> Result<TlsParameters, BadSettings> {
    let mut parameters =
        TlsParameters::builder(host.to_owned()).certificate_store(CertificateStore::WebpkiRoots);
    // Unreadable ones are skipped, as elsewhere on this machine; a server that needs one is then refused.
    for authority in rustls_native_certs::load_native_certs().certs {
        if is_usable(&authority) {
            parameters = parameters.add_root_certificate(certificate(authority)?);
        }
    }
    if let Some(file) = ca_file {
        for authority in from_file(file)? {
            parameters = parameters.add_root_certificate(certificate(authority)?);
        }
    }
    parameters.build().map_err(BadSettings::Tls)
}

fn from_file(file: &Path) -> Result<Vec<CertificateDer<'static>>, BadSettings> {
    let pem = fs::read(file).map_err(BadSettings::CaFile)?;
    let authorities: Vec<_> = CertificateDer::pem_slice_iter(&pem)
        .filter_map(Result::ok)
        .collect();
    // A broken entry is an error too: every certificate in the file was meant to be trusted.
    let whole = CertificateDer::pem_slice_iter(&pem).all(|entry| entry.is_ok());
    if authorities.is_empty() || !whole || !authorities.iter().all(is_usable) {
        return Err(BadSettings::CaFileContent);
    }
    Ok(authorities)
}

/// Whether rustls accepts the certificate as an authority; systems ship a few that it does not.
fn is_usable(authority: &CertificateDer<'static>) -> bool {
    RootCertStore::empty().add(authority.clone()).is_ok()
}

fn certificate(authority: CertificateDer<'static>) -> Result<Certificate, BadSettings> {
    Certificate::from_der(authority.to_vec()).map_err(BadSettings::Tls)
}

#[cfg(test)]
mod tests;
