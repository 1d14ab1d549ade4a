//! Trusted certificates.

use std::sync::Arc;

use rustls::{ClientConfig, RootCertStore};

/// Returns a configuration for TLS 1.2 and later, with the authorities of this machine and of Mozilla's list, for machines that have none.
pub(crate) fn tls() -> Result<ClientConfig, rustls::Error> {
    let mut roots = RootCertStore::empty();
    roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    // Unreadable ones are skipped, as elsewhere on this machine.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    Ok(ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth())
}
