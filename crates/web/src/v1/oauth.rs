//! Sign-in through identity providers.

pub(crate) mod begin;
pub(crate) mod callback;
pub(crate) mod callback_form;
pub(crate) mod test_authorize;
pub(crate) mod verify;

mod browser;
