//! `vestry redirect-url add|list|remove`.

use serde_json::{Value, json};
use vestry_app::{Principal, Service};
use vestry_domain::World;
use vestry_ports::store::RedirectUrl;

use super::failed;
use crate::cli;
use crate::failure::Failure;
use crate::output::{date, table};

pub(super) async fn run(service: &Service, command: cli::RedirectUrl) -> Result<(), Failure> {
    match command {
        cli::RedirectUrl::Add {
            app,
            environment,
            url,
            kind,
            default,
            answer,
        } => {
            let world = World::new(app, environment);
            let mut added = Vec::new();
            for kind in kind {
                let url = service
                    .add_redirect_url(Principal::cli(), world, kind, &url, default)
                    .await;
                added.push(url.map_err(failed)?);
            }
            print(&added, answer)
        }
        cli::RedirectUrl::List { app, answer } => {
            let urls = service
                .list_redirect_urls(Principal::cli(), app)
                .await
                .map_err(failed)?;
            print(&urls, answer)
        }
        cli::RedirectUrl::Remove { app, id, answer } => {
            service
                .remove_redirect_url(Principal::cli(), app, id)
                .await
                .map_err(failed)?;
            answer
                .format()
                .print(&json!({ "id": id, "removed": true }), || {
                    format!("Removed {id}.")
                })
        }
    }
}

fn print(urls: &[RedirectUrl], answer: cli::Answer) -> Result<(), Failure> {
    let documents: Vec<_> = urls.iter().map(document).collect();
    answer
        .format()
        .print(&json!({ "redirect_urls": documents }), || list(urls))
}

fn document(url: &RedirectUrl) -> Value {
    json!({
        "id": url.id,
        "app_id": url.world.app_id,
        "environment": url.world.environment,
        "kind": url.kind.as_str(),
        "url": url.target.as_str(),
        "default": url.is_default,
        "created_at": url.created_at,
    })
}

fn list(urls: &[RedirectUrl]) -> String {
    let row = |url: &RedirectUrl| {
        vec![
            url.id.to_string(),
            url.world.environment.to_string(),
            url.kind.to_string(),
            if url.is_default { "default" } else { "" }.to_owned(),
            date(url.created_at),
            url.target.as_str().to_owned(),
        ]
    };
    table(
        &["ID", "ENVIRONMENT", "KIND", "", "CREATED", "URL"],
        &urls.iter().map(row).collect::<Vec<_>>(),
        "No redirect URLs. Register one: vestry redirect-url add APP test URL",
    )
}
