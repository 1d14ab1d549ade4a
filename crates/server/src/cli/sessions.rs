//! `vestry sessions`

use clap::Subcommand;
use serde_json::json;
use vestry_app::Principal;

use super::args::InWorld;
use super::installation::Installation;
use crate::failure::Failure;
use crate::output::Output;

/// The subcommands of `vestry sessions`.
#[derive(Debug, Subcommand)]
pub(crate) enum Sessions {
    /// End all sessions of an App in one environment
    #[command(after_help = "\
All processes of the service enforce this at once. Users, keys and credentials are
kept. The service can keep running; sessions that start while the command runs may
be ended too. JWTs that your backend verifies offline are accepted until they
expire, five minutes later at most.

Example:
  vestry sessions end-all app_… live")]
    EndAll(InWorld),
}

impl Sessions {
    pub(super) async fn run(self, installation: &Installation) -> Result<Output, Failure> {
        let service = installation.service().await?;
        let Self::EndAll(of) = self;
        let world = of.world();
        let caller = service.caller(Principal::cli(), world).await?;
        let ended = service
            .delete_every_session(&caller)
            .await
            .map_err(|error| {
                Failure::of(
                    error,
                    "command failed; some sessions may have ended. Run it again",
                )
            })?;
        Ok(Output::new(
            json!({ "app_id": world.app_id, "environment": world.environment, "ended": ended }),
            format!("Ended {ended} sessions."),
        ))
    }
}
