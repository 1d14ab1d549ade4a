//! Wallets.

pub mod create;
pub mod get;
pub mod list;
pub mod rpc;
pub mod sign;
pub mod sign_message;
pub mod sign_transaction;
pub mod switch;

pub use create::CreateWalletError;
pub use get::GetWalletError;
pub use list::{ListWallets, ListWalletsError, ListedWallets};
pub use rpc::CallMethod;
pub use sign::{SignError, SignedByWallet};
pub use sign_message::SignMessage;
pub use sign_transaction::SignTransaction;
pub use switch::SwitchWalletError;
