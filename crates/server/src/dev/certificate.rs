//! A certificate for this machine, signed by nobody but itself.

use rcgen::{CertifiedKey, generate_simple_self_signed};

use super::data_dir::DataDir;
use crate::failure::{Context, Failure};
use crate::private_file;
use crate::tls::Certificate;

use std::sync::Arc;

/// The names under which a program on this machine reaches the service.
const NAMES: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// The certificate of the earlier start, or a new one when there is none: who has told a browser or a program to trust
/// it does so once.
pub(super) fn load_or_make(data: &DataDir) -> Result<Arc<Certificate>, Failure> {
    let files = data.certificate();
    if !(files.certificate.exists() && files.key.exists()) {
        let names: Vec<String> = NAMES.map(str::to_owned).to_vec();
        let CertifiedKey { cert, signing_key } =
            generate_simple_self_signed(names).context("a certificate could not be made")?;
        private_file::write(&files.key, signing_key.serialize_pem().as_bytes())
            .and_then(|()| private_file::write(&files.certificate, cert.pem().as_bytes()))
            .context("the certificate could not be kept")?;
    }
    Certificate::load(files)
}
