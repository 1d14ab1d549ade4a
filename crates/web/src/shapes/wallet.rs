//! Wallets.

use serde::Serialize;
use utoipa::ToSchema;
use vestry_domain::wallet;

/// A wallet. Its private key is never part of any answer.
#[derive(Debug, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wallet {
    #[schema(pattern = "^wallet_[0-9A-Za-z]{27}$")]
    id: String,
    #[schema(pattern = "^app_[0-9A-Za-z]{27}$")]
    app_id: String,
    #[schema(pattern = "^user_[0-9A-Za-z]{27}$")]
    user_id: String,
    /// The address in the chain's own form; Ethereum: with the EIP-55 check in its letters.
    #[schema(min_length = 1)]
    public_address: String,
    #[schema(value_type = WalletType)]
    wallet_type: &'static str,
    /// Whether control of the address is proved; always true where the service holds the key.
    verified: bool,
    /// Whether it is the wallet of its type that the user starts with.
    is_default: bool,
    /// Whether it can only be looked at.
    is_read_only: bool,
    /// Whether its key came from outside.
    is_imported: bool,
    /// Unix seconds.
    created_at: i64,
    /// Unix seconds.
    updated_at: i64,
}

/// The chain of a wallet.
#[derive(ToSchema)]
#[expect(
    dead_code,
    clippy::upper_case_acronyms,
    reason = "describes names that the domain gives"
)]
enum WalletType {
    #[schema(rename = "ethereum")]
    Ethereum,
    #[schema(rename = "solana")]
    Solana,
    #[schema(rename = "bitcoin")]
    Bitcoin,
    DOT,
    XLM,
}

impl From<wallet::Wallet> for Wallet {
    fn from(wallet: wallet::Wallet) -> Self {
        Self {
            id: wallet.id.to_string(),
            app_id: wallet.world.app_id.to_string(),
            user_id: wallet.user_id.to_string(),
            public_address: wallet.public_address,
            wallet_type: wallet.wallet_type.as_str(),
            verified: wallet.verified,
            is_default: wallet.is_default,
            is_read_only: wallet.is_read_only,
            is_imported: wallet.is_imported,
            created_at: wallet.created_at.unix(),
            updated_at: wallet.updated_at.unix(),
        }
    }
}
