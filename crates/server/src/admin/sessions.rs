//! `vestry sessions end-all`.

use serde_json::json;
use vestry_app::Service;
use vestry_app::platform::AdminError;
use vestry_domain::World;

use super::failed;
use crate::cli;
use crate::failure::Failure;

pub(super) async fn run(service: &Service, command: cli::Sessions) -> Result<(), Failure> {
    let cli::Sessions::EndAll {
        app,
        environment,
        answer,
    } = command;
    let ended = service.end_all_sessions_of(World::new(app, environment));
    let ended = ended.await.map_err(|error| match error {
        AdminError::Fault(fault) => {
            Failure::new("command failed; some sessions may have ended. Run it again")
                .because(fault)
        }
        error => failed(error),
    })?;
    let document = json!({ "app_id": app, "environment": environment, "ended": ended });
    answer
        .format()
        .print(&document, || format!("Ended {ended} sessions."))
}
