//! Wallets.

use serde::Serialize;
use utoipa::ToSchema;
use utoipa::openapi::schema::{Object, ObjectBuilder, OneOfBuilder, Schema, Type};
use utoipa::openapi::{Ref, RefOr};
use vestry_domain::wallet::{self, WalletType};

/// A wallet. No response ever contains its private key in the clear.
#[derive(Debug, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wallet {
    /// Id of the wallet.
    #[schema(pattern = "^wallet_[0-9A-Za-z]{27}$")]
    id: String,
    /// Id of the App.
    #[schema(pattern = "^app_[0-9A-Za-z]{27}$")]
    app_id: String,
    /// Id of the user.
    #[schema(pattern = "^user_[0-9A-Za-z]{27}$")]
    user_id: String,
    /// The address in the chain's native format; for Ethereum with the EIP-55 checksum.
    #[schema(min_length = 1)]
    public_address: String,
    #[schema(value_type = WalletTypeName)]
    wallet_type: &'static str,
    /// Whether control of the address was proved; always true if the service holds the key.
    verified: bool,
    /// Whether it is the user's default wallet of its type.
    is_default: bool,
    /// Whether the wallet cannot sign here, because its key is held elsewhere.
    is_read_only: bool,
    /// Whether its key was imported.
    is_imported: bool,
    /// Whether the wallet is disabled and cannot sign.
    is_disabled: bool,
    /// Why the wallet is disabled: `requested`, or `unproven_origin` if a person who used the account before its owner verified it may know
    /// the key. `""` if it is not disabled.
    #[schema(pattern = "^(requested|unproven_origin)?$")]
    disabled_reason: &'static str,
    /// When the wallet was created, in Unix seconds.
    created_at: i64,
    /// When the wallet was last changed, in Unix seconds.
    updated_at: i64,
}

/// A wallet whose key was imported.
#[derive(Debug, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ImportedWallet {
    /// Id of the wallet.
    #[schema(pattern = "^wallet_[0-9A-Za-z]{27}$")]
    id: String,
    /// Id of the App.
    #[schema(pattern = "^app_[0-9A-Za-z]{27}$")]
    app_id: String,
    /// Id of the user.
    #[schema(pattern = "^user_[0-9A-Za-z]{27}$")]
    user_id: String,
    /// The address in the chain's native format.
    #[schema(min_length = 1)]
    public_address: String,
    #[schema(value_type = WalletTypeName)]
    wallet_type: &'static str,
    /// Always true, because the service holds the key.
    verified: bool,
    /// Whether it is the user's default wallet of its type.
    is_default: bool,
    /// Always false, because the wallet can sign.
    is_read_only: bool,
    /// Always true.
    is_imported: bool,
    /// Always false: no other party holds a share of the key.
    delegated: bool,
    /// Always `null`: the service is not the client of another wallet.
    #[schema(required = true)]
    wallet_client_type: Option<&'static str>,
    /// Id of the private key.
    #[schema(pattern = "^walletpk_[0-9A-Za-z]{27}$")]
    wallet_pk_id: String,
    /// Index of the key derived from the phrase; `null` for a single key.
    #[schema(required = true, minimum = 0, maximum = 2_147_483_647_i64)]
    account_index: Option<u32>,
    /// When the wallet was created, in Unix seconds.
    created_at: i64,
    /// When the wallet was last changed, in Unix seconds.
    updated_at: i64,
}

/// A summary of a wallet, as returned by a search.
#[derive(Debug, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WalletSummary {
    /// Id of the wallet.
    #[schema(pattern = "^wallet_[0-9A-Za-z]{27}$")]
    id: String,
    /// Id of the App.
    #[schema(pattern = "^app_[0-9A-Za-z]{27}$")]
    app_id: String,
    /// Id of the user.
    #[schema(pattern = "^user_[0-9A-Za-z]{27}$")]
    user_id: String,
    /// The address in the chain's native format.
    #[schema(min_length = 1)]
    public_address: String,
    #[schema(value_type = WalletTypeName)]
    wallet_type: &'static str,
    /// Whether it is the user's default wallet of its type.
    is_default: bool,
    /// When the wallet was created, in Unix seconds.
    created_at: i64,
    /// When the wallet was last changed, in Unix seconds.
    updated_at: i64,
}

impl From<wallet::Wallet> for WalletSummary {
    fn from(wallet: wallet::Wallet) -> Self {
        let shown = Wallet::from(wallet);
        Self {
            id: shown.id,
            app_id: shown.app_id,
            user_id: shown.user_id,
            public_address: shown.public_address,
            wallet_type: shown.wallet_type,
            is_default: shown.is_default,
            created_at: shown.created_at,
            updated_at: shown.updated_at,
        }
    }
}

/// Chain of a wallet.
#[derive(ToSchema)]
#[schema(as = WalletType)]
#[expect(
    dead_code,
    clippy::upper_case_acronyms,
    reason = "describes names that the domain defines"
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

/// Chain of a wallet that users can sign in with.
#[derive(ToSchema)]
#[schema(as = SigningWalletType, rename_all = "snake_case")]
#[expect(dead_code, reason = "describes names that the domain defines")]
pub(crate) enum SigningWalletTypeName {
    Ethereum,
    Solana,
}

/// Name of the schema that [`wallet_type_names`] returns.
pub(crate) const WALLET_TYPE_INPUT: &str = "WalletTypeInput";

/// The names of chains in a request.
pub(crate) fn wallet_type_names() -> Object {
    let names = WalletType::ALL.map(WalletType::as_str);
    let aliases = ["ETH", "SOL", "BTC", "polkadot", "stellar"];
    ObjectBuilder::new()
        .schema_type(Type::String)
        .description(Some("A chain, by its name or an alias."))
        .enum_values(Some(names.into_iter().chain(aliases)))
        .build()
}

/// The schema of a wallet's chain in a request.
pub(crate) fn wallet_type_input() -> RefOr<Schema> {
    one_of_names()
        .description(Some("The chain of the wallet."))
        .into()
}

/// The schema of a wallet's chain where an absent value and `""` mean `ethereum`.
pub(crate) fn optional_wallet_type_input() -> RefOr<Schema> {
    let word = |kind| ObjectBuilder::new().schema_type(kind);
    one_of_names()
        .item(word(Type::String).enum_values(Some([""])))
        .item(word(Type::Null))
        .description(Some(
            "The chain of the wallet. Absent and `\"\"` mean `ethereum`.",
        ))
        .into()
}

fn one_of_names() -> OneOfBuilder {
    OneOfBuilder::new()
        .item(Ref::from_schema_name(WALLET_TYPE_INPUT))
        .examples([WalletType::Ethereum.as_str()])
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
