//! Blockchains as pure functions: keys, addresses, and verified signatures for requests.
//!
//! Every chain implements [`Chain`]; [`Chains`] returns the one for a wallet type. Curve and chain libraries are used only in this crate.
//!
//! Deliberately absent: input and output, async, storage, and a source of randomness. A private key is read from bytes, text or a phrase,
//! or drawn from bytes that the caller supplies, and is wiped on drop.

mod bitcoin;
mod chain;
mod derivation;
mod ed25519;
mod error;
mod ethereum;
mod hex_digits;
mod import;
mod message;
mod object;
mod own_wallet;
mod polkadot;
mod private_key;
mod refuse;
mod scalar;
mod secp256k1;
mod solana;
mod stellar;

use vestry_domain::Secret;
use vestry_domain::wallet::WalletType;

pub use self::bitcoin::Bitcoin;
pub use chain::{Chain, Prepared, Signer};
pub use error::ChainError;
pub use ethereum::Ethereum;
pub use polkadot::Polkadot;
pub use private_key::PrivateKey;
pub use solana::Solana;
pub use stellar::Stellar;

/// All chains of this build. Created once and shared, because it holds the curve contexts.
pub struct Chains {
    bitcoin: Bitcoin,
    ethereum: Ethereum,
    polkadot: Polkadot,
    solana: Solana,
    stellar: Stellar,
}

impl Chains {
    /// Creates the chains.
    ///
    /// `blinding` is fresh randomness that masks secret-dependent work in the curve libraries; it does not affect any result.
    pub fn new(blinding: &Secret<[u8; 32]>) -> Self {
        Self {
            bitcoin: Bitcoin::new(blinding),
            ethereum: Ethereum::new(blinding),
            polkadot: Polkadot,
            solana: Solana,
            stellar: Stellar,
        }
    }

    /// The chain of a wallet type.
    pub fn get(&self, wallet_type: WalletType) -> &dyn Chain {
        match wallet_type {
            WalletType::Ethereum => &self.ethereum,
            WalletType::Solana => &self.solana,
            WalletType::Bitcoin => &self.bitcoin,
            WalletType::Polkadot => &self.polkadot,
            WalletType::Stellar => &self.stellar,
        }
    }
}

#[cfg(test)]
mod tests;
