//! Magic links: creating, sending, verifying and polling.

pub mod create;
pub mod send;
pub mod status;
pub mod verify;

pub(crate) mod repeat;

pub use crate::kernel::refusal::RedirectError;
pub use create::{CreateLink, CreatedLink};
pub use send::{InviteByLink, LoginByLink, SentLink};
pub use status::{LoginStatus, LoginStatusError, LoginStatusQuery};
pub use verify::{VerifiedLink, VerifyLink, VerifyLinkError};
