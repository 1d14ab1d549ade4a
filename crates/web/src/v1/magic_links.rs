//! Magic links.

pub(crate) mod create;
pub(crate) mod email_invite;
pub(crate) mod email_login_or_create;
pub(crate) mod email_login_status;
pub(crate) mod verify;
