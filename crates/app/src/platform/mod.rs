//! What operators set up and maintain: Apps, API keys, redirect URLs, providers, signing keys, webhooks, the vault, rotation and retention.
//! And what they watch: counts of what happened.

pub mod activity;
pub mod apps;
pub mod backups;
pub mod config;
pub mod event_deliveries;
pub mod keys;
pub mod measurements;
pub mod provider_check;
pub mod providers;
pub mod readiness;
pub mod redirect_urls;
pub mod replays;
pub mod retention;
pub mod rotation;
pub mod signing_keys;
pub mod test_clock;
pub mod vault;
pub mod webhooks;

pub use activity::{ActivityOfWorld, ActivityRange};
pub use apps::{AppChange, SettingsChange};
pub use backups::{TakenBackup, last_backup};
pub use config::ConfigPlan;
pub use keys::NewApiKey;
pub use provider_check::ProviderCheck;
pub use providers::{ListedConnection, NewConnection};
pub use readiness::Readiness;
pub use vestry_ports::store::RedirectUrl;
