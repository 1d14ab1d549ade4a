//! Stellar networks. A signature is valid on one only, because the signed hash covers the hash of the network's passphrase.

use std::borrow::Cow;

use sha2::{Digest, Sha256};
use vestry_domain::Environment;
use vestry_domain::signing::SigningRefused;

use crate::object::Object;

/// The passphrase of the public network, used by live wallets.
const PUBLIC: &str = "Public Global Stellar Network ; September 2015";
/// The passphrase of SDF's test network, used by test wallets.
const TEST: &str = "Test SDF Network ; September 2015";

const fn passphrase(environment: Environment) -> &'static str {
    match environment {
        Environment::Test => TEST,
        Environment::Live => PUBLIC,
    }
}

/// The id of an environment's network: SHA-256 of its passphrase.
pub(super) fn id(environment: Environment) -> [u8; 32] {
    Sha256::digest(passphrase(environment)).into()
}

/// Checks that `network_passphrase`, if given, is the environment's.
pub(super) fn check(fields: &Object<'_>, environment: Environment) -> Result<(), SigningRefused> {
    let own = passphrase(environment);
    match fields.optional_text("network_passphrase")? {
        None => Ok(()),
        Some(named) if named == own => Ok(()),
        Some(_other) => Err(denied(environment)),
    }
}

/// The error for a wrong network.
pub(super) fn denied(environment: Environment) -> SigningRefused {
    let own = passphrase(environment);
    SigningRefused::Denied(Cow::Owned(format!(
        "wallets of this environment sign only for the network \"{own}\""
    )))
}
