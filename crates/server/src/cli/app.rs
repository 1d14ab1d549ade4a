//! `vestry app`

use clap::Subcommand;
use serde_json::json;
use vestry_app::{Principal, Service};
use vestry_domain::app;
use vestry_edge::views::{AppView, views};

use super::args::InApp;
use super::installation::Installation;
use crate::failure::Failure;
use crate::output::{Output, date, table};

/// The subcommands of `vestry app`.
#[derive(Debug, Subcommand)]
pub(crate) enum App {
    /// Create an App with its encryption and signing keys
    #[command(after_help = "Example:\n  vestry app create Shop")]
    Create {
        /// Name shown to end users in messages
        name: String,
    },
    /// List all Apps, oldest first
    List,
    /// Show an App and its settings
    Show(InApp),
    /// Refuse all keys and users of an App
    #[command(after_help = "\
Ends the sessions of all users. Keys, public tokens and sign-in pages of the App then return 403.
If it is interrupted, run it again to end the remaining sessions.")]
    Disable(InApp),
    /// Accept the keys and users of an App again
    Enable(InApp),
    /// Change settings of an App (all or none)
    #[command(after_help = "\
`vestry app show` lists the settings, which include `name`.

Examples:
  vestry app set app_… name=\"My Shop\"
  vestry app set app_… session_idle_minutes=60 jwt_algorithm=EdDSA
  vestry app set app_… live_per_minute=null        restore the service-wide limit")]
    Set {
        #[command(flatten)]
        of: InApp,
        /// Setting and its new value
        #[arg(required = true, value_name = "NAME=VALUE", value_parser = assignment)]
        changes: Vec<(String, String)>,
    },
}

impl App {
    pub(super) async fn run(self, installation: &Installation) -> Result<Output, Failure> {
        let service = installation.service().await?;
        match self {
            Self::Create { name } => {
                let app = service.create_app(Principal::cli(), &name).await?;
                let id = app.id;
                Ok(Output::new(
                    json!(AppView::from(&app)),
                    format!("Created {id} ({name}).\nNext: vestry key create {id} test"),
                ))
            }
            Self::List => {
                let apps = service.list_apps(Principal::cli()).await?;
                let documents: Vec<AppView<'_>> = views(&apps);
                Ok(Output::new(json!({ "apps": documents }), list(&apps)))
            }
            Self::Show(of) => Ok(show(&service.show_app(Principal::cli(), of.app).await?)),
            Self::Disable(of) => switch(&service, of, true).await,
            Self::Enable(of) => switch(&service, of, false).await,
            Self::Set { of, changes } => Ok(show(
                &service.set_app(Principal::cli(), of.app, &changes).await?,
            )),
        }
    }
}

async fn switch(service: &Service, of: InApp, disabled: bool) -> Result<Output, Failure> {
    let app = service
        .switch_app(Principal::cli(), of.app, disabled)
        .await?;
    let done = if disabled { "Disabled" } else { "Enabled" };
    let text = format!("{done} {} ({}).", app.id, app.name);
    Ok(Output::new(json!(AppView::from(&app)), text))
}

const fn state(app: &app::App) -> &'static str {
    match app.disabled_at {
        Some(_) => "disabled",
        None => "active",
    }
}

fn list(apps: &[app::App]) -> String {
    let row = |app: &app::App| {
        let state = state(app).to_owned();
        [
            app.id.to_string(),
            date(app.created_at),
            state,
            app.name.clone(),
        ]
    };
    table(
        ["ID", "CREATED", "STATE", "NAME"],
        apps.iter().map(row),
        "No Apps. Create one: vestry app create NAME",
    )
}

fn show(app: &app::App) -> Output {
    let mut rows = vec![
        ["id".to_owned(), app.id.to_string()],
        ["name".to_owned(), app.name.clone()],
        ["state".to_owned(), state(app).to_owned()],
        ["created".to_owned(), date(app.created_at)],
        ["updated".to_owned(), date(app.updated_at)],
    ];
    let settings = serde_json::to_value(&app.settings).unwrap_or_default();
    for (name, value) in settings.as_object().into_iter().flatten() {
        let value = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        rows.push([name.clone(), value]);
    }
    Output::new(
        json!(AppView::from(app)),
        table(["SETTING", "VALUE"], rows, ""),
    )
}

fn assignment(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("must be NAME=VALUE".to_owned()),
    }
}

#[cfg(test)]
mod tests;
