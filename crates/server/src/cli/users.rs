//! `vestry users`

mod export;
mod import;

use std::path::PathBuf;

use clap::Subcommand;
use serde_json::json;
use vestry_app::Principal;
use vestry_domain::ids::UserId;

use super::args::InWorld;
use super::installation::Installation;
use crate::failure::Failure;
use crate::output::Output;

/// The subcommands of `vestry users`.
#[derive(Debug, Subcommand)]
pub(crate) enum Users {
    /// Import users and their passwords from a JSON Lines file
    #[command(after_help = "\
Existing users are skipped, so an interrupted import can simply be run again.
Rejected lines are reported with the reason, and the exit code is then 1.
docs/migrate-users.md describes the format.

Examples:
  vestry users import app_… live users.jsonl --dry-run
  vestry users import app_… live users.jsonl")]
    Import {
        #[command(flatten)]
        of: InWorld,
        /// JSON Lines file, one user per line
        file: PathBuf,
        /// Check every line without changing anything
        #[arg(long)]
        dry_run: bool,
        /// Emit one event with the number of users, instead of one per user
        #[arg(long)]
        no_events: bool,
    },
    /// Export users as JSON Lines, readable by `import`
    #[command(after_help = "\
Wallets, sessions, second factors and provider links are not included.

Example:
  vestry users export app_… live --with-password-hashes > users.jsonl")]
    Export {
        #[command(flatten)]
        of: InWorld,
        /// Include password hashes (protect the file like the sign-in key)
        #[arg(long)]
        with_password_hashes: bool,
    },
    /// Clear a user's sign-in lockout
    #[command(after_help = "\
Repeated wrong codes or passwords lock a user out, for longer each time. This
command clears those lockouts for all sign-in methods of the user. It does not
sign the user in.

Example:
  vestry users unlock app_… live user_…")]
    Unlock {
        #[command(flatten)]
        of: InWorld,
        /// User ID (user_…)
        user: UserId,
    },
}

impl Users {
    pub(super) async fn run(self, installation: &Installation) -> Result<Output, Failure> {
        let service = installation.service().await?;
        match self {
            Self::Import {
                of,
                file,
                dry_run,
                no_events,
            } => {
                let caller = service.caller(Principal::cli(), of.world()).await?;
                let mut import = service.import_users(&caller, dry_run).await?;
                if no_events {
                    import = import.without_events();
                }
                // Created users are counted as they are by a running service.
                let (done, stop) = tokio::sync::oneshot::channel::<()>();
                let importing = async {
                    let output = import::run(import, &file, dry_run).await;
                    drop(done);
                    output
                };
                let counting = service.run_activity(async { drop(stop.await) });
                let (output, ()) = tokio::join!(importing, counting);
                output
            }
            Self::Export {
                of,
                with_password_hashes,
            } => export::run(&service, of.world(), with_password_hashes).await,
            Self::Unlock { of, user } => {
                let caller = service.caller(Principal::cli(), of.world()).await?;
                service.unlock_user(&caller, user).await?;
                Ok(Output::new(
                    json!({ "id": user, "unlocked": true }),
                    format!("Unlocked {user}."),
                ))
            }
        }
    }
}
