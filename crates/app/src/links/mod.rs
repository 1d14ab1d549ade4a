//! Magic links: made, mailed, used up, and asked after.

pub mod create;
pub mod send;
pub mod status;
pub mod verify;

pub(crate) mod landing;

pub use create::{CreateLink, CreateLinkError, CreatedLink};
pub use landing::RedirectError;
pub use send::{InviteByLink, LoginByLink, SendLinkError, SentLink};
pub use status::{LoginStatus, LoginStatusError, LoginStatusQuery};
pub use verify::{VerifiedLink, VerifyLink, VerifyLinkError};
