//! `vestry migrate`.

use serde_json::json;
use vestry_store_sql::Database;

use crate::cli::Migrate;
use crate::compose;
use crate::config::DatabaseSettings;
use crate::failure::{Context, Failure};
use crate::private_file;

pub(crate) async fn run(settings: &DatabaseSettings, asked: Migrate) -> Result<(), Failure> {
    let applied = apply(settings).await?;
    let format = asked.answer.format();
    let migrated = if applied.is_empty() {
        "The schema is up to date.".to_owned()
    } else {
        format!("Applied {}.", applied.join(", "))
    };
    if !asked.distribute {
        return format.print(&json!({ "applied": applied }), || migrated);
    }
    let distributed = distribute(settings).await?;
    let answer = json!({ "applied": applied, "distributed": distributed });
    format.print(&answer, || {
        if distributed.is_empty() {
            format!("{migrated} Every table is distributed.")
        } else {
            format!("{migrated} Distributed {}.", distributed.join(", "))
        }
    })
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
    let told = |table: &str, left: usize| {
        eprintln!("vestry: distributing {table}, {left} remaining");
    };
    vestry_store_sql::distribute(&compose::store_settings(settings), &told)
        .await
        .context("cannot distribute the tables")
}
