//! The API over HTTP: real requests to a real listener, the real service, and a real database behind it.
//!
//! The client checks every response against the API description ([`harness::Client`]), so a test asserts only what it is about.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "tests fail by panicking"
)]

mod harness;

mod activity;
mod attacks;
mod audit;
mod claims;
mod config_documents;
mod console;
mod console_audit;
mod console_bars;
mod console_deployment;
mod console_events;
mod console_isolation;
mod console_operators;
mod console_pages;
mod console_providers;
mod console_try;
mod console_webhooks;
mod cors;
mod disabled_apps;
mod event_types;
mod events;
mod flows;
mod health;
mod https;
mod idempotency;
mod isolation;
mod keys;
mod layers;
mod limits;
mod logs;
mod magic_links;
mod management;
mod management_repeats;
mod oauth;
mod operator_trail;
mod otps;
mod passkeys;
mod password_reset;
mod passwords;
mod provider_check;
mod reference;
mod sessions;
mod signing;
mod stored_responses;
mod test_clock;
mod test_env;
mod texts;
mod totps;
mod transfers;
mod user_delete;
mod user_disable;
mod user_search;
mod user_update;
mod users;
mod wallet_life;
mod wallet_sign_in;
mod wallets;
mod webhook_secrets;
