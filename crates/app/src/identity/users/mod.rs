//! Users.

pub mod create;
pub mod delete;
pub mod delete_identifier;
pub mod delete_wallet;
pub mod disable;
pub mod export;
pub mod get;
pub mod import;
pub mod search;
pub mod transfer_format;
pub mod unlock;
pub mod update;

pub(crate) mod account_resolution;
pub(crate) mod last_sign_in_method;
pub(crate) mod new_identifier;
pub(crate) mod notices;
pub(crate) mod second_factor;
pub(crate) mod status;
pub(crate) mod verification;

mod app_asserted;
mod untrusted_wallets;

pub use create::{CreateUser, CreatedUser};
pub use delete_wallet::DeleteWalletError;
pub use export::ExportedUsers;
pub use get::FullUser;
pub use import::{Imported, UserImport};
pub use search::{FoundUsers, SearchUsers, SearchUsersError};
pub use transfer_format::{PortableEmail, PortablePhone, PortableUser, PortableWallet};
pub use update::{NewIdentifier, UpdateUser};
