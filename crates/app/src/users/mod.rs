//! Users.

pub mod create;
pub mod export;
pub mod get;
pub mod import;
pub mod portable;

pub(crate) mod credentials;
pub(crate) mod proof;

pub use create::{CreateUser, CreateUserError, CreatedUser};
pub use export::ExportedUsers;
pub use get::{FullUser, GetUserError};
pub use import::{Imported, UserImport};
pub use portable::{PortableEmail, PortablePhone, PortableUser};
