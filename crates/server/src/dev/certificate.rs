//! A self-signed certificate for this machine.

use rcgen::{CertifiedKey, generate_simple_self_signed};

use super::data_dir::DataDir;
use crate::failure::{Context, Failure};
use crate::private_file;
use crate::tls::Certificate;

use std::sync::Arc;

/// The names by which programs on this machine reach the service.
const NAMES: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// The certificate of an earlier start, or a new one if there is none. A browser or program therefore has to trust it only once.
pub(super) fn load_or_make(data: &DataDir) -> Result<Arc<Certificate>, Failure> {
    let files = data.certificate();
    if !(files.certificate.exists() && files.key.exists()) {
        let names: Vec<String> = NAMES.map(str::to_owned).to_vec();
        let CertifiedKey { cert, signing_key } =
            generate_simple_self_signed(names).context("cannot create a certificate")?;
        private_file::write(&files.key, signing_key.serialize_pem().as_bytes())
            .and_then(|()| private_file::write(&files.certificate, cert.pem().as_bytes()))
            .context("cannot store the certificate")?;
    }
    Certificate::load(files)
}
