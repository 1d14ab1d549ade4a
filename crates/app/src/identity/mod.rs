//! Users and how they sign in: records, codes, links, passwords, passkeys, TOTP, providers, wallets as credentials, and sessions.

pub mod codes;
mod landing;
pub mod links;
pub(crate) mod lockout;
pub mod oauth;
pub mod passkeys;
mod password_seal;
mod password_spraying;
pub mod passwords;
pub(crate) mod quotas;
mod reserved;
pub mod sessions;
mod sign_in_address;
mod sign_in_binding;
pub mod totps;
pub mod users;
pub mod wallet_sign_in;

pub use sign_in_binding::SignInBinding;
