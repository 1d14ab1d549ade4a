//! Trusted certificates.

use std::sync::{Arc, LazyLock};

use rustls::{ClientConfig, RootCertStore};

/// The authorities of this machine and of Mozilla's list, for machines that have none. They are read once for all clients of a process: that
/// takes longer than to set up a client.
static AUTHORITIES: LazyLock<Arc<RootCertStore>> = LazyLock::new(|| {
    let mut roots = RootCertStore::empty();
    roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    // Unreadable ones are skipped, as elsewhere on this machine.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    Arc::new(roots)
});

/// Returns a configuration for TLS 1.2 and later with these authorities.
pub(crate) fn tls() -> Result<ClientConfig, rustls::Error> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    Ok(ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(Arc::clone(&AUTHORITIES))
        .with_no_client_auth())
}
