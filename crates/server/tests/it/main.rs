//! The real binary: its commands, startup and shutdown, end-to-end flows, races between processes, and power failures.
//!
//! Each test has its own directory and, for Postgres, its own database. The kernel picks the ports.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a panic fails the test"
)]

mod support;

// Tests start in alphabetical order. The longest come first, so that no core is idle in the end.
mod app_key_rotation;

mod activity;
mod audit;
mod backup;
mod checkpoints;
mod commands;
mod config;
mod crash;
mod crash_webhooks;
mod dev;
mod documentation;
mod events;
mod failover;
mod flood;
mod flows;
mod https;
mod idempotency;
mod import_races;
mod imported_users;
mod kill_points;
mod listen;
mod lost_events;
mod mail;
mod manage_keys;
mod memory;
mod oauth_races;
mod operators;
mod outbox;
mod protection;
mod races;
mod reload;
mod restricted_keys;
mod revocation;
mod rolling;
mod shutdown;
mod sms;
mod spread;
mod sqlite_file;
mod statements;
mod telemetry;
mod user_races;
mod users;
mod vault;
mod webhooks;

/// Expands one test into two: on SQLite and on Postgres.
macro_rules! on_both_databases {
    ($($(#[$doc:meta])* $name:ident => $body:path;)*) => {
        mod sqlite {
            $(
                $(#[$doc])*
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $name() {
                    $body(crate::support::installation::Installation::sqlite()).await;
                }
            )*
        }
        mod postgres {
            $(
                $(#[$doc])*
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $name() {
                    if let Some(installation) = crate::support::installation::Installation::postgres().await {
                        $body(installation).await;
                    }
                }
            )*
        }
    };
}
pub(crate) use on_both_databases;
