//! Users.

pub mod create;
pub mod get;

pub(crate) mod credentials;
pub(crate) mod proof;

pub use create::{CreateUser, CreateUserError, CreatedUser};
pub use get::{FullUser, GetUserError};
