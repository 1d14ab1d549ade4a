//! Wallets.

pub mod create;
pub mod get;
pub mod list;
pub mod sign_message;

pub use create::CreateWalletError;
pub use get::GetWalletError;
pub use list::{ListWallets, ListWalletsError, ListedWallets};
pub use sign_message::{SignMessage, SignMessageError, SignedMessage};
