//! The endpoints under `/v1`: a folder per resource, a file per endpoint.

pub(crate) mod audit;
pub(crate) mod events;
pub(crate) mod jwks;
pub(crate) mod magic_links;
pub(crate) mod oauth;
pub(crate) mod otps;
pub(crate) mod passwords;
pub(crate) mod sessions;
pub(crate) mod shapes;
pub(crate) mod test_env;
pub(crate) mod totps;
pub(crate) mod users;
pub(crate) mod wallet_sign_in;
pub(crate) mod wallets;
pub(crate) mod webauthn;
