//! Users.

pub mod create;
pub mod get;

pub use create::{CreateUser, CreateUserError, CreatedUser};
pub use get::{FullUser, GetUserError};
