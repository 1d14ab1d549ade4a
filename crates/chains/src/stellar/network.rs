//! The networks. A signature holds on one only: the hash that is signed begins with that of the network's passphrase.

use std::borrow::Cow;

use sha2::{Digest, Sha256};
use vestry_domain::Environment;
use vestry_domain::signing::SigningRefused;

use crate::object::Object;

/// Passphrase of the public network, which live wallets sign for.
const PUBLIC: &str = "Public Global Stellar Network ; September 2015";
/// Passphrase of SDF's test network, which test wallets sign for.
const TEST: &str = "Test SDF Network ; September 2015";

const fn passphrase(environment: Environment) -> &'static str {
    match environment {
        Environment::Test => TEST,
        Environment::Live => PUBLIC,
    }
}

/// SHA-256 of the passphrase of an environment's network, which is that network's id.
pub(super) fn id(environment: Environment) -> [u8; 32] {
    Sha256::digest(passphrase(environment)).into()
}

/// Checks that `network_passphrase`, when the caller names one, is that of the environment.
pub(super) fn check(fields: &Object<'_>, environment: Environment) -> Result<(), SigningRefused> {
    let own = passphrase(environment);
    match fields.optional_text("network_passphrase")? {
        None => Ok(()),
        Some(named) if named == own => Ok(()),
        Some(_other) => Err(denied(environment)),
    }
}

/// The refusal of another network.
pub(super) fn denied(environment: Environment) -> SigningRefused {
    let own = passphrase(environment);
    SigningRefused::Denied(Cow::Owned(format!(
        "wallets of this environment sign for the network \"{own}\" only"
    )))
}
