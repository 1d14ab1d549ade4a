//! `vestry migrate`

use clap::Args;
use serde_json::json;
use vestry_store_sql::Database;

use crate::compose;
use crate::config::DatabaseSettings;
use crate::failure::{Context, Failure};
use crate::output::Output;
use crate::private_file;

/// The arguments of `vestry migrate`.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Migrate {
    /// Then distribute the tables over a Citus cluster
    ///
    /// Each App is placed on one server. An interrupted run continues when the command is run again (docs/scale.md).
    #[arg(long)]
    distribute: bool,
}

impl Migrate {
    pub(crate) async fn run(self, settings: &DatabaseSettings) -> Result<Output, Failure> {
        let applied = apply(settings).await?;
        let migrated = if applied.is_empty() {
            "The schema is up to date.".to_owned()
        } else {
            format!("Applied {}.", applied.join(", "))
        };
        if !self.distribute {
            return Ok(Output::new(json!({ "applied": applied }), migrated));
        }
        let distributed = distribute(settings).await?;
        let text = if distributed.is_empty() {
            format!("{migrated} Every table is distributed.")
        } else {
            format!("{migrated} Distributed {}.", distributed.join(", "))
        };
        Ok(Output::new(
            json!({ "applied": applied, "distributed": distributed }),
            text,
        ))
    }
}

/// Migrates the schema to this version. Returns the names of the applied migrations.
pub(crate) async fn apply(settings: &DatabaseSettings) -> Result<Vec<String>, Failure> {
    if let Database::Sqlite(path) = &settings.database {
        private_file::make_directory_of(path)?;
    }
    vestry_store_sql::migrate(&compose::store_settings(settings))
        .await
        .context("migration failed")
}

/// Distributes the tables over a cluster. Returns the tables that were not distributed before.
async fn distribute(settings: &DatabaseSettings) -> Result<Vec<String>, Failure> {
    if matches!(settings.database, Database::Sqlite(_)) {
        return Err(Failure::new(
            "SQLite tables cannot be distributed; --distribute requires Postgres with Citus",
        ));
    }
    let progress = |table: &str, left: usize| {
        eprintln!("vestry: distributing {table}, {left} remaining");
    };
    vestry_store_sql::distribute(&compose::store_settings(settings), &progress)
        .await
        .context("cannot distribute the tables")
}
