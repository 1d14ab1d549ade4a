//! Sessions and the tokens that name them.

pub mod delete;
pub mod end_all;
pub mod issue;
pub mod keys;
pub mod list;
pub mod object;
pub mod verify;

pub use issue::{IssuedSession, SessionFields, SessionNamed};
pub use object::SessionObject;
pub use verify::{VerifiedSession, VerifySession};
