//! Wallets.

mod authenticate;
pub mod create;
pub mod export;
pub mod get;
pub mod import;
pub mod import_begin;
pub mod list;
mod new_wallet;
pub mod rpc;
pub mod sign;
pub mod sign_message;
pub mod sign_transaction;
pub mod switch;
pub mod usable;

pub(crate) use authenticate::authenticate_wallets;
pub use export::{ExportWallet, ExportWalletError};
pub use get::VersionedWallet;
pub use import::{ImportWallet, ImportWalletError};
pub use import_begin::BeginImport;
pub use list::{ListWallets, ListedWallets};
pub(crate) use new_wallet::new_wallet;
pub use rpc::CallMethod;
pub use sign::{SignError, SignedByWallet, SigningCommand};
pub use sign_message::SignMessage;
pub use sign_transaction::SignTransaction;
pub use switch::SwitchWalletError;
pub use usable::UnusableWallet;
