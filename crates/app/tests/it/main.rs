//! The use cases over fakes of external systems and real cryptography.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "tests fail by panicking"
)]

mod activity;
mod api_keys;
mod audit;
mod captured;
mod changed_wallets;
mod changes;
mod checkpoints;
mod claims;
mod codes;
mod cuts;
mod delivery;
mod epoch;
mod events;
mod fail_open;
mod faults;
mod harness;
mod idempotency;
mod import;
mod interposed;
mod jwt;
mod leaks;
mod link_send;
mod link_starters;
mod link_status;
mod link_verify;
mod links;
mod lockout;
mod management_keys;
mod oauth;
mod operators;
mod passkeys;
mod password_reset;
mod passwords;
mod pruning;
mod pumping;
mod recovery;
mod redirect_urls;
mod reserved;
mod retention;
mod rotated_secrets;
mod rotation;
mod scopes;
mod send;
mod send_quotas;
mod session_fields;
mod session_jwts;
mod session_life;
mod settings;
mod signing_keys;
mod spellings;
mod spraying;
mod takeover;
mod tamper;
mod test_clock;
mod texts;
mod totps;
mod user_changes;
mod user_wallets;
mod users;
mod vault;
mod wallet_export;
mod wallet_import;
mod wallet_sign_in;
mod wallets;
mod webhook_replays;
mod webhooks;
