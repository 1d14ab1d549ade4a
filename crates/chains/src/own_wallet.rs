//! Sign-in signatures by external wallets: checks addresses and signatures.
//!
//! No keys held by this service are involved. The input is text in the formats that wallets produce.

mod solana;

use alloy_primitives::hex;
use vestry_domain::Environment;
use vestry_domain::wallet::WalletType;

use crate::hex_digits::after_prefix;
use crate::{Chain, ChainError, Chains};

/// Chains with wallet sign-in have the same addresses in test and live.
const EVERYWHERE: Environment = Environment::Live;

impl Chains {
    /// The canonical form of an external address.
    ///
    /// Ethereum: EIP-55; mixed case must match the checksum, a single case is accepted. Solana: base58 of a point that can be a public key.
    ///
    /// # Errors
    /// [`ChainError::Address`], also for chains without wallet sign-in.
    pub fn own_address(&self, wallet_type: WalletType, text: &str) -> Result<String, ChainError> {
        match wallet_type {
            WalletType::Ethereum => self.ethereum.canonical_address(text, EVERYWHERE),
            WalletType::Solana => self.solana.canonical_address(text, EVERYWHERE),
            WalletType::Bitcoin | WalletType::Polkadot | WalletType::Stellar => {
                Err(ChainError::Address)
            }
        }
    }

    /// Verifies a message signature by the key of a canonical address.
    ///
    /// Ethereum: EIP-191 version 0x45 ("personal message"), `r‖s‖v` in hex, low `s`, `v` 27, 28, 0 or 1. Solana: strict ed25519 over the
    /// bytes of the message (RFC 8032 section 5.1.7, no keys of small order), in base58 or in base64 with padding.
    ///
    /// # Errors
    /// [`ChainError::Signature`].
    pub fn verify_own(
        &self,
        wallet_type: WalletType,
        address: &str,
        message: &[u8],
        signature: &str,
    ) -> Result<(), ChainError> {
        match wallet_type {
            WalletType::Ethereum => {
                let signature = ethereum_signature(signature)?;
                let signer = self.ethereum.signer_of(message, &signature)?;
                (signer == address)
                    .then_some(())
                    .ok_or(ChainError::Signature)
            }
            WalletType::Solana => solana::verify(address, message, signature),
            WalletType::Bitcoin | WalletType::Polkadot | WalletType::Stellar => {
                Err(ChainError::Signature)
            }
        }
    }
}

/// `r‖s‖v` with `v` 27 or 28. Some wallets, mostly hardware wallets, use 0 and 1.
fn ethereum_signature(text: &str) -> Result<[u8; 65], ChainError> {
    let digits = after_prefix(text).ok_or(ChainError::Signature)?;
    let mut bytes = [0; 65];
    hex::decode_to_slice(digits, &mut bytes).map_err(|_malformed| ChainError::Signature)?;
    if let [.., v @ 0..=1] = &mut bytes {
        *v += 27;
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod wycheproof;
