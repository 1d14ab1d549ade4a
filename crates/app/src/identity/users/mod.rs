//! Users.

pub mod create;
pub mod delete;
pub mod delete_identifier;
pub mod delete_wallet;
pub mod export;
pub mod get;
pub mod import;
pub mod portable;
pub mod search;
pub mod switch;
pub mod unlock;
pub mod update;

pub(crate) mod arrival;
pub(crate) mod credentials;
pub(crate) mod last_way;
pub(crate) mod new_identifier;
pub(crate) mod proof;
pub(crate) mod status;

mod untrusted_wallets;
mod vouched;

pub use create::{CreateUser, CreatedUser};
pub use delete_wallet::DeleteWalletError;
pub use export::ExportedUsers;
pub use get::FullUser;
pub use import::{Imported, UserImport};
pub use portable::{PortableEmail, PortablePhone, PortableUser, PortableWallet};
pub use search::{FoundUsers, SearchUsers, SearchUsersError};
pub use update::{NewIdentifier, UpdateUser};
