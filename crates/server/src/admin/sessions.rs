//! `vestry sessions end-all`.

use serde_json::json;
use vestry_app::{Principal, Refusal, Service};
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
    let caller = service.caller(Principal::cli(), World::new(app, environment));
    let caller = caller.await.map_err(failed)?;
    let ended = service.delete_every_session(&caller).await;
    let ended = ended.map_err(|error| match error {
        Refusal::Fault(fault) => {
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
