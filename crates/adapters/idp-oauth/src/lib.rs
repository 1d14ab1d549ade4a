//! The IdentityProviders port: creates authorization URLs, and finds out whom a returned code identifies.
//!
//! The code implements two protocols and no particular provider: OpenID Connect, and OAuth 2.0 with a profile API. The particulars of
//! Google, Apple, Microsoft, GitHub and Discord are in one table (`known`). An App's own issuer is described by its discovery document.
//!
//! Guarantees for each sign-in:
//! - **The code flow only**, with PKCE by `S256` and, where there are id tokens, a nonce (O-3, O-4, O-14).
//! - **One client for every fetch**: no internal addresses, no redirects, at most 1 MiB in at most three seconds (O-7).
//! - **The issuer is the configured one**, compared character by character: in its discovery document, in the callback if it names one (RFC
//!   9207, O-6), and in the id token. Microsoft has one issuer per tenant, so its issuer is a pattern that contains the token's tenant.
//! - **A token chooses nothing**: its algorithm must be on a list without HMAC and `none`, and its key comes from the issuer's key set.
//!   Every claim is parsed as its required type (O-5).
//! - **Floods cause no extra fetches**: discovery documents and key sets are cached and fetched by one request at a time. They are
//!   refetched at most once a minute, whatever `kid` a token names (F6).
//! - **Errors contain no data**, neither ours nor the provider's.

mod apple;
mod cache;
mod claims;
mod discovery;
mod endpoints;
mod exchange;
mod fetch;
mod issuer;
mod jws;
mod key_set;
mod known;
mod open_id;
mod profile;
mod providers;
mod settings;

pub use providers::OauthProviders;
pub use settings::Settings;
