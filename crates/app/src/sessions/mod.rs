//! Sessions and the tokens that name them.

pub mod delete;
pub mod issue;
pub mod keys;
pub mod list;
pub mod verify;

pub use delete::{DeleteAllSessionsError, DeleteSessionError};
pub use issue::{InvalidSession, IssuedSession, Trio};
pub use keys::KeySetError;
pub use list::ListSessionsError;
pub use verify::{VerifiedSession, VerifySession, VerifySessionError};
