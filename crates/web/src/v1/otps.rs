//! One-time passcodes.

pub(crate) mod email_login_or_create;
pub(crate) mod email_send;
pub(crate) mod sms_login_or_create;
pub(crate) mod sms_send;
pub(crate) mod verify;
