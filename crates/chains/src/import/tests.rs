//! Keys and phrases that other software wrote, through the chains as imports ask them.

mod differential;
mod phrases;
mod readings;
mod refusals;

use std::sync::LazyLock;

use alloy_primitives::hex;
use vestry_domain::wallet::{AddressForm, WalletType};
use vestry_domain::{Environment, Secret};

use crate::{Chain, ChainError, Chains, PrivateKey};

const LIVE: Environment = Environment::Live;
const TEST: Environment = Environment::Test;
const ABANDON: &str =
    "abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon about";

fn chain(wallet_type: WalletType) -> &'static dyn Chain {
    static CHAINS: LazyLock<Chains> = LazyLock::new(|| Chains::new(&Secret::new([7; 32])));
    CHAINS.get(wallet_type)
}

/// The address of a key that the chain takes.
fn address(wallet_type: WalletType, key: &[u8], environment: Environment) -> String {
    let chain = chain(wallet_type);
    let key = chain.private_key(key).unwrap();
    let public_key = chain.public_key(&key).unwrap();
    chain.address(&public_key, environment).unwrap()
}

/// The bytes of the key in a plaintext.
fn imported(
    wallet_type: WalletType,
    plaintext: impl AsRef<[u8]>,
    address: &str,
    environment: Environment,
) -> Result<Vec<u8>, ChainError> {
    chain(wallet_type)
        .import_key(plaintext.as_ref(), address, environment)
        .map(|key| key.expose().to_vec())
}

/// The bytes of the key that a phrase has.
fn derived(
    wallet_type: WalletType,
    phrase: impl AsRef<[u8]>,
    index: u32,
    address: &str,
    environment: Environment,
) -> Result<Vec<u8>, ChainError> {
    chain(wallet_type)
        .import_phrase(phrase.as_ref(), index, address, environment)
        .map(|key| key.expose().to_vec())
}
