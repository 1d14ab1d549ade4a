//! `vestry migrate`.

use serde_json::json;
use vestry_store_sql::Database;

use crate::cli::Answer;
use crate::compose;
use crate::config::DatabaseSettings;
use crate::failure::{Context, Failure};
use crate::private_file;

pub(crate) async fn run(settings: &DatabaseSettings, answer: Answer) -> Result<(), Failure> {
    let applied = apply(settings).await?;
    answer.format().print(&json!({ "applied": applied }), || {
        if applied.is_empty() {
            "The database is up to date.".to_owned()
        } else {
            format!("Applied {}.", applied.join(", "))
        }
    })
}

/// Brings the tables up to this version; answers with the names of what was applied.
pub(crate) async fn apply(settings: &DatabaseSettings) -> Result<Vec<String>, Failure> {
    if let Database::Sqlite(path) = &settings.database {
        private_file::make_directory_of(path)?;
    }
    vestry_store_sql::migrate(&compose::store_settings(settings))
        .await
        .context("the database cannot be migrated")
}
