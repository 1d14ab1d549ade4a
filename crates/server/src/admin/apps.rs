//! `vestry app create|list|show|set`.

use serde_json::json;
use vestry_app::{Principal, Service};
use vestry_domain::app::App;

use super::{app_document, failed};
use crate::cli;
use crate::failure::Failure;
use crate::output::{date, table};

pub(super) async fn run(service: &Service, command: cli::App) -> Result<(), Failure> {
    match command {
        cli::App::Create { name, answer } => {
            let app = service
                .create_app(Principal::cli(), &name)
                .await
                .map_err(failed)?;
            answer.format().print(&app_document(&app), || {
                let id = app.id;
                format!("Created {id} ({name}).\nNext: vestry key create {id} test")
            })
        }
        cli::App::List { answer } => {
            let apps = service.list_apps(Principal::cli()).await.map_err(failed)?;
            let documents: Vec<_> = apps.iter().map(app_document).collect();
            answer
                .format()
                .print(&json!({ "apps": documents }), || list(&apps))
        }
        cli::App::Show { app, answer } => {
            let app = service
                .show_app(Principal::cli(), app)
                .await
                .map_err(failed)?;
            answer.format().print(&app_document(&app), || show(&app))
        }
        cli::App::Set {
            app,
            changes,
            answer,
        } => {
            let app = service
                .set_app(Principal::cli(), app, &changes)
                .await
                .map_err(failed)?;
            answer.format().print(&app_document(&app), || show(&app))
        }
    }
}

fn list(apps: &[App]) -> String {
    let rows: Vec<_> = apps
        .iter()
        .map(|app| vec![app.id.to_string(), date(app.created_at), app.name.clone()])
        .collect();
    table(
        &["ID", "CREATED", "NAME"],
        &rows,
        "No Apps. Create one: vestry app create NAME",
    )
}

fn show(app: &App) -> String {
    let mut rows = vec![
        vec!["id".to_owned(), app.id.to_string()],
        vec!["name".to_owned(), app.name.clone()],
        vec!["created".to_owned(), date(app.created_at)],
        vec!["updated".to_owned(), date(app.updated_at)],
    ];
    let settings = serde_json::to_value(&app.settings).unwrap_or_default();
    for (name, value) in settings.as_object().into_iter().flatten() {
        let value = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        rows.push(vec![name.clone(), value]);
    }
    table(&["SETTING", "VALUE"], &rows, "")
}
