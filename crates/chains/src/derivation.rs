//! Keys out of phrases: BIP-39, and from its seed BIP-32 on secp256k1 and SLIP-10 on ed25519.
//!
//! Libraries for this leave the keys on the way lying around, so the arithmetic of the paths is written out here, over
//! buffers that are wiped.

mod bip32;
mod extended_key;
mod hash;
mod phrase;
mod slip10;

pub(crate) use bip32::leaf as secp256k1_leaf;
pub(crate) use phrase::Phrase;
pub(crate) use slip10::leaf as ed25519_leaf;

use crate::ChainError;

/// Added to the number of a child whose derivation needs the private key (BIP-32, "Extended keys").
const HARDENED: u32 = 1 << 31;

/// The hardened child of that number, `number'`. For numbers of paths that are known when this is compiled.
pub(crate) const fn hardened(number: u32) -> u32 {
    number | HARDENED
}

/// The number of an account as that of a child.
///
/// # Errors
/// [`ChainError::Address`] from 2^31 on: there are no more, and the bit above means hardened.
pub(crate) const fn account(index: u32) -> Result<u32, ChainError> {
    if index < HARDENED {
        Ok(index)
    } else {
        Err(ChainError::Address)
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod wycheproof;
