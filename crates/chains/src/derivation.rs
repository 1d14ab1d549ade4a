//! Keys derived from phrases: BIP-39, then BIP-32 on secp256k1 and SLIP-10 on ed25519.
//!
//! Libraries for this leave intermediate keys in memory. The path arithmetic is therefore implemented here, on buffers that are wiped.

mod bip32;
mod extended_key;
mod hash;
mod phrase;
mod slip10;

pub(crate) use bip32::leaf as secp256k1_leaf;
pub(crate) use slip10::leaf as ed25519_leaf;

use vestry_domain::Environment;

use crate::chain::first_with_address;
use crate::{Chain, ChainError, PrivateKey};
use phrase::Phrase;

/// Added to the number of a child whose derivation needs the private key (BIP-32, "Extended keys").
const HARDENED: u32 = 1 << 31;

/// The hardened child `number'`, for path numbers known at compile time.
pub(crate) const fn hardened(number: u32) -> u32 {
    number | HARDENED
}

/// The number of an account as a child number.
///
/// # Errors
/// [`ChainError::Address`] from 2^31 on, where the bit above marks hardened children.
pub(crate) const fn account(index: u32) -> Result<u32, ChainError> {
    if index < HARDENED {
        Ok(index)
    } else {
        Err(ChainError::Address)
    }
}

/// The key that `leaf` derives from a phrase, if it has the address.
///
/// # Errors
/// [`ChainError::Address`], whatever was wrong.
pub(crate) fn from_phrase<C: Chain + ?Sized>(
    chain: &C,
    phrase: &[u8],
    address: &str,
    environment: Environment,
    leaf: impl FnOnce(&Phrase) -> Result<PrivateKey, ChainError>,
) -> Result<PrivateKey, ChainError> {
    let key = Phrase::read(phrase).and_then(|phrase| leaf(&phrase).ok());
    first_with_address(chain, key.into_iter(), address, environment)
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod wycheproof;
