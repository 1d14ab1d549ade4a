//! `vestry users import|export`.

mod export;
mod import;
mod progress;

use vestry_app::Service;
use vestry_domain::World;

use crate::cli;
use crate::failure::Failure;

pub(super) async fn run(service: &Service, command: cli::Users) -> Result<(), Failure> {
    match command {
        cli::Users::Import {
            file,
            app,
            environment,
            dry_run,
            answer,
        } => {
            let world = World::new(app, environment);
            import::run(service, world, &file, dry_run, answer.format()).await
        }
        cli::Users::Export {
            app,
            environment,
            with_password_hashes,
        } => export::run(service, World::new(app, environment), with_password_hashes).await,
    }
}
