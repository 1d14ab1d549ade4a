//! `vestry config`

use std::fs;
use std::path::{Path, PathBuf};

use clap::Subcommand;
use serde::Serialize;
use serde_json::{Value, json};
use vestry_app::{Principal, Refusal};
use vestry_domain::Invalid;
use vestry_domain::config::{Config as Document, ConfigChange, without_secrets};
use vestry_domain::ids::AppId;
use vestry_edge::json::from_value;

use super::args::InApp;
use super::installation::Installation;
use crate::failure::{Context, Failure};
use crate::output::Output;

/// The field of a file that names its App.
const APP: &str = "app";

/// The subcommands of `vestry config`.
#[derive(Debug, Subcommand)]
pub(crate) enum Config {
    /// Print settings, redirect URLs, providers and webhook endpoints as TOML
    #[command(after_help = "\
The document contains no secrets, so it can be kept in a repository.

Example:
  vestry config export app_… > shop.toml")]
    Export(InApp),
    /// Change an App's configuration to that of a file (all or none)
    #[command(after_help = "\
What a section of the file does not list is removed or gets its default value. A section that is absent stays as it is.
A new provider works once `vestry provider set` has set its secret.
`vestry webhook rotate-secret` shows a secret of a new webhook endpoint.

Examples:
  vestry config apply shop.toml --plan    exits with 3 if there are changes
  vestry config apply shop.toml")]
    Apply {
        /// File as printed by `vestry config export`; `app` names the App
        file: PathBuf,
        /// Print the changes and make none
        #[arg(long)]
        plan: bool,
    },
}

/// A file: the document and the App that it belongs to.
#[derive(Serialize)]
struct File<'a> {
    app: AppId,
    #[serde(flatten)]
    document: &'a Document,
}

impl Config {
    pub(super) async fn run(self, installation: &Installation) -> Result<Output, Failure> {
        let service = installation.service().await?;
        match self {
            Self::Export(of) => {
                let mut document = service.show_config(Principal::cli(), of.app).await?;
                let app = of.app;
                let as_json = json!(File {
                    app,
                    document: &document
                });
                // TOML has no null, and a setting that is absent is the same.
                if let Some(settings) = &mut document.settings {
                    settings.retain(|_, value| !value.is_null());
                }
                let file = File {
                    app,
                    document: &document,
                };
                let text = toml::to_string_pretty(&file).context("cannot write TOML")?;
                Ok(Output::new(as_json, text))
            }
            Self::Apply { file, plan } => {
                let (app, document) = read(&file)?;
                let by = Principal::cli();
                let done = match plan {
                    true => service.plan_config(by, app, &document, &|_| true).await,
                    false => service.apply_config(by, app, &document, &|_| true).await,
                };
                let changes = done.map_err(|refused| match refused {
                    Refusal::Invalid(invalid) => wrong(&invalid),
                    refused => refused.into(),
                })?;
                Ok(shown(app, &changes.changes, plan))
            }
        }
    }
}

/// Reads a file. An error names the path in it.
fn read(file: &Path) -> Result<(AppId, Document), Failure> {
    let shown = file.display();
    let text = fs::read_to_string(file).context(format!("cannot read {shown}"))?;
    parse(&text).map_err(|failure| Failure::usage(format!("{shown}: {failure}")))
}

fn parse(text: &str) -> Result<(AppId, Document), Failure> {
    let mut table: toml::Table = text
        .parse()
        .map_err(|error: toml::de::Error| Failure::usage(error.message().to_owned()))?;
    let app = table.remove(APP);
    let app = app.as_ref().and_then(toml::Value::as_str);
    let app = app.and_then(|app| app.parse().ok());
    let app = app.ok_or_else(|| Failure::usage("app must be the id of an App, app_…"))?;
    let value = serde_json::to_value(table).context("cannot read TOML")?;
    let document = from_value(value).map_err(without_secrets);
    Ok((app, document.map_err(|invalid| wrong(&invalid))?))
}

fn wrong(invalid: &Invalid) -> Failure {
    Failure::usage(invalid.to_string())
}

fn shown(app: AppId, changes: &[ConfigChange], is_plan: bool) -> Output {
    let lines: Vec<_> = changes.iter().map(line).collect();
    let count = match changes.len() {
        0 => "No changes.".to_owned(),
        1 => "1 change.".to_owned(),
        count => format!("{count} changes."),
    };
    let text = lines.into_iter().chain([count.clone()]).collect::<Vec<_>>();
    let document = json!({"app_id": app, "applied": !is_plan, "changes": changes});
    let output = Output::new(document, text.join("\n"));
    if is_plan && !changes.is_empty() {
        output.differing(format!("{app} differs from the file: {count}"))
    } else {
        output
    }
}

/// `+` for an addition, `-` for a removal, `~` for another value.
fn line(change: &ConfigChange) -> String {
    let ConfigChange { path, from, to } = change;
    match (from, to) {
        (Value::Null, to) => format!("+ {path}: {to}"),
        (from, Value::Null) => format!("- {path}: {from}"),
        (from, to) => format!("~ {path}: {from} -> {to}"),
    }
}

#[cfg(test)]
mod tests;
