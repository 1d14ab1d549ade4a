//! Users.

pub(crate) mod create;
pub(crate) mod delete;
pub(crate) mod delete_email;
pub(crate) mod delete_idp_provider;
pub(crate) mod delete_phone_number;
pub(crate) mod delete_phone_number_alias;
pub(crate) mod delete_totp;
pub(crate) mod delete_wallet;
pub(crate) mod disable;
pub(crate) mod enable;
pub(crate) mod get;
pub(crate) mod search;
pub(crate) mod unlock;
pub(crate) mod update;
