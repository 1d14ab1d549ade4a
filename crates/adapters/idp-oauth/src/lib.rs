//! The IdentityProviders port: where a browser is sent, and whom the code stands for that it brings back.
//!
//! There are two protocols here and no provider: OpenID Connect, and OAuth 2.0 with an API that says who somebody is. What is
//! particular about Google, Apple, Microsoft, GitHub and Discord stands in one table (`known`), and an App's own issuer is
//! what its discovery document says.
//!
//! What holds for each sign-in:
//! - **The code flow only**, with PKCE by `S256` and, where there are id tokens, a nonce (O-3, O-4, O-14).
//! - **One client for every fetch**: nothing inwards, no redirects, at most 1 MiB in at most three seconds (O-7).
//! - **The issuer is the configured one**, letter by letter: in its discovery document, in the callback when it is named there
//!   (RFC 9207, O-6), and in the id token. Microsoft's, which has one for each tenant, is a pattern with the tenant of the token
//!   in it.
//! - **A token chooses nothing**: its algorithm must be on a list without HMAC and `none`, its key comes from the issuer's key
//!   set, and what the claims say is read with the type that it must have (O-5).
//! - **Whoever floods, waits**: discovery documents and key sets are kept, fetched by one request at a time, and fetched again at
//!   most once a minute, whatever `kid` a token names (F6).
//! - **Nothing that was said is in an error**, not by us and not by the provider.

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
