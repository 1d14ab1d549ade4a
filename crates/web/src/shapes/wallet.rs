//! Wallets.

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use utoipa::openapi::schema::{Object, ObjectBuilder, SchemaType, Type};
use vestry_domain::wallet::{self, WalletType};

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
    #[schema(value_type = WalletTypeName)]
    wallet_type: &'static str,
    /// Whether control of the address is proved; always true where the service holds the key.
    verified: bool,
    /// Whether it is the wallet of its type that the user starts with.
    is_default: bool,
    /// Whether it can only be looked at.
    is_read_only: bool,
    /// Whether its key came from outside.
    is_imported: bool,
    /// Whether it was told to sign nothing.
    is_disabled: bool,
    /// Why: `requested`, or `unproven_origin` when whoever had the account before its owner proved it may know the key. `""` while
    /// it signs.
    #[schema(pattern = "^(requested|unproven_origin)?$")]
    disabled_reason: &'static str,
    /// Unix seconds.
    created_at: i64,
    /// Unix seconds.
    updated_at: i64,
}

/// A wallet whose key came from outside.
#[derive(Debug, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ImportedWallet {
    #[schema(pattern = "^wallet_[0-9A-Za-z]{27}$")]
    id: String,
    #[schema(pattern = "^app_[0-9A-Za-z]{27}$")]
    app_id: String,
    #[schema(pattern = "^user_[0-9A-Za-z]{27}$")]
    user_id: String,
    /// The address in the chain's own form.
    #[schema(min_length = 1)]
    public_address: String,
    #[schema(value_type = WalletTypeName)]
    wallet_type: &'static str,
    /// True: the key is here.
    verified: bool,
    /// Whether it is the wallet of its type that the user starts with.
    is_default: bool,
    /// False: the wallet signs.
    is_read_only: bool,
    /// True.
    is_imported: bool,
    /// False: nobody else holds a share of the key for it.
    delegated: bool,
    /// Null: the service is no client of another wallet.
    #[schema(required = true)]
    wallet_client_type: Option<&'static str>,
    /// Id of the private key.
    #[schema(pattern = "^walletpk_[0-9A-Za-z]{27}$")]
    wallet_pk_id: String,
    /// Which key of its phrase it is; null for a key that came alone.
    #[schema(required = true, minimum = 0, maximum = 2_147_483_647_i64)]
    account_index: Option<u32>,
    /// Unix seconds.
    created_at: i64,
    /// Unix seconds.
    updated_at: i64,
}

/// A wallet as search shows it.
#[derive(Debug, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WalletSummary {
    #[schema(pattern = "^wallet_[0-9A-Za-z]{27}$")]
    id: String,
    #[schema(pattern = "^app_[0-9A-Za-z]{27}$")]
    app_id: String,
    #[schema(pattern = "^user_[0-9A-Za-z]{27}$")]
    user_id: String,
    /// The address in the chain's own form.
    #[schema(min_length = 1)]
    public_address: String,
    #[schema(value_type = WalletTypeName)]
    wallet_type: &'static str,
    /// Whether it is the wallet of its type that the user starts with.
    is_default: bool,
    /// Unix seconds.
    created_at: i64,
    /// Unix seconds.
    updated_at: i64,
}

impl From<Wallet> for WalletSummary {
    fn from(wallet: Wallet) -> Self {
        Self {
            id: wallet.id,
            app_id: wallet.app_id,
            user_id: wallet.user_id,
            public_address: wallet.public_address,
            wallet_type: wallet.wallet_type,
            is_default: wallet.is_default,
            created_at: wallet.created_at,
            updated_at: wallet.updated_at,
        }
    }
}

/// The chain of a wallet.
#[derive(ToSchema)]
#[schema(as = WalletType)]
#[expect(
    dead_code,
    clippy::upper_case_acronyms,
    reason = "describes names that the domain gives"
)]
enum WalletTypeName {
    #[schema(rename = "ethereum")]
    Ethereum,
    #[schema(rename = "solana")]
    Solana,
    #[schema(rename = "bitcoin")]
    Bitcoin,
    DOT,
    XLM,
}

/// The chain of a wallet that signs its holder in.
#[derive(ToSchema)]
#[schema(as = SigningWalletType, rename_all = "snake_case")]
#[expect(dead_code, reason = "describes names that the domain gives")]
pub(crate) enum SigningWalletTypeName {
    Ethereum,
    Solana,
}

/// The chain of a wallet, as requests name it.
pub(crate) fn wallet_type_input() -> Object {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .description(Some(INPUT))
        .enum_values(Some(input_names()))
        .examples([WalletType::Ethereum.as_str()])
        .build()
}

/// The same where `""` and nothing mean `ethereum`.
pub(crate) fn optional_wallet_type_input() -> Object {
    ObjectBuilder::new()
        .schema_type(SchemaType::from_iter([Type::String, Type::Null]))
        .description(Some(format!("{INPUT} Absent and `\"\"` mean `ethereum`.")))
        .enum_values(Some(input_names().chain([Value::from(""), Value::Null])))
        .examples([WalletType::Ethereum.as_str()])
        .build()
}

const INPUT: &str = "The chain, by its name or by the name that others give it.";

fn input_names() -> impl Iterator<Item = Value> {
    let names = WalletType::ALL.map(WalletType::as_str);
    let aliases = ["ETH", "SOL", "BTC", "polkadot", "stellar"];
    names.into_iter().chain(aliases).map(Value::from)
}

impl From<wallet::Wallet> for ImportedWallet {
    fn from(wallet: wallet::Wallet) -> Self {
        let (wallet_pk_id, account_index) = (wallet.key_id, wallet.account_index);
        let shown = Wallet::from(wallet);
        Self {
            id: shown.id,
            app_id: shown.app_id,
            user_id: shown.user_id,
            public_address: shown.public_address,
            wallet_type: shown.wallet_type,
            verified: shown.verified,
            is_default: shown.is_default,
            is_read_only: shown.is_read_only,
            is_imported: shown.is_imported,
            delegated: false,
            wallet_client_type: None,
            wallet_pk_id: wallet_pk_id.map(|id| id.to_string()).unwrap_or_default(),
            account_index,
            created_at: shown.created_at,
            updated_at: shown.updated_at,
        }
    }
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
            is_disabled: wallet.disabled.is_some(),
            disabled_reason: wallet
                .disabled
                .map_or("", |disabled| disabled.reason.as_str()),
            created_at: wallet.created_at.unix(),
            updated_at: wallet.updated_at.unix(),
        }
    }
}

#[cfg(test)]
mod tests;
