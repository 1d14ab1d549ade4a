//! Whose certificates are believed.

use std::fs;
use std::path::Path;

use lettre::transport::smtp::client::{Certificate, CertificateStore, TlsParameters};
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use crate::settings::BadSettings;

/// TLS for a host: at least 1.2, the certificate must name the host, and its authority must be one of this machine,
/// of Mozilla's list (for machines that have none of their own, such as bare containers) or of the file.
///
/// # Errors
/// The file cannot be read or holds no certificates, or the host is no name for TLS.
pub(crate) fn tls(host: &str, ca_file: Option<&Path>) -> Result<TlsParameters, BadSettings> {
    let mut parameters =
        TlsParameters::builder(host.to_owned()).certificate_store(CertificateStore::WebpkiRoots);
    // One that cannot be read is left out, as everywhere on this machine; a server that needs it is then refused.
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
    // A broken entry counts as much as none: whoever wrote the file meant it to be trusted.
    let whole = CertificateDer::pem_slice_iter(&pem).all(|entry| entry.is_ok());
    if authorities.is_empty() || !whole || !authorities.iter().all(is_usable) {
        return Err(BadSettings::CaFileContent);
    }
    Ok(authorities)
}

/// Whether the certificate can be an authority for rustls; systems ship a few that cannot.
fn is_usable(authority: &CertificateDer<'static>) -> bool {
    RootCertStore::empty().add(authority.clone()).is_ok()
}

fn certificate(authority: CertificateDer<'static>) -> Result<Certificate, BadSettings> {
    Certificate::from_der(authority.to_vec()).map_err(BadSettings::Tls)
}

#[cfg(test)]
mod tests;
