//! `vestry users import|export|unlock`.

mod export;
mod import;

use serde_json::json;
use vestry_app::{Principal, Service};
use vestry_domain::World;

use super::failed;
use crate::cli;
use crate::failure::Failure;

pub(super) async fn run(service: &Service, command: cli::Users) -> Result<(), Failure> {
    match command {
        cli::Users::Import {
            app,
            environment,
            file,
            dry_run,
            no_events,
            answer,
        } => {
            let caller = service.caller(Principal::cli(), World::new(app, environment));
            let caller = caller.await.map_err(failed)?;
            let import = service.import_users(&caller, dry_run).await;
            let mut import = import.map_err(failed)?;
            if no_events {
                import = import.without_events();
            }
            import::run(import, &file, dry_run, answer.format()).await
        }
        cli::Users::Export {
            app,
            environment,
            with_password_hashes,
        } => export::run(service, World::new(app, environment), with_password_hashes).await,
        cli::Users::Unlock {
            app,
            environment,
            user,
            answer,
        } => {
            let caller = service.caller(Principal::cli(), World::new(app, environment));
            let caller = caller.await.map_err(failed)?;
            let unlocked = service.unlock_user(&caller, user).await;
            unlocked.map_err(failed)?;
            let document = json!({ "id": user, "unlocked": true });
            answer
                .format()
                .print(&document, || format!("Unlocked {user}."))
        }
    }
}
