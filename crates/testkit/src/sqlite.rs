//! SQLite database files.

use std::path::{Path, PathBuf};

use tempfile::TempDir;
use tokio::sync::OnceCell;
use vestry_store_sql::{Database, Settings, dump, migrate};

/// Creates a database with all migrations at `path`, which must not exist yet.
pub async fn migrated(path: &Path) {
    static TEMPLATE: OnceCell<(TempDir, PathBuf)> = OnceCell::const_new();
    let make = async || {
        let directory = tempfile::tempdir().unwrap();
        let settings = Settings::new(Database::Sqlite(directory.path().join("migrated.db")));
        migrate(&settings).await.unwrap();
        // A backup is a single complete file, with nothing left in a separate log.
        let template = directory.path().join("template.db");
        let (scratch, kept) = (directory.path().join("scratch"), template.clone());
        let copied = dump(&settings, &scratch, move |_contents, data| {
            // Copies of it have its permissions.
            let mut options = std::fs::OpenOptions::new();
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
            std::io::copy(data, &mut options.write(true).create_new(true).open(kept)?)
        });
        copied.await.unwrap();
        (directory, template)
    };
    let (_directory, template) = TEMPLATE.get_or_init(make).await;
    std::fs::copy(template, path).unwrap();
}
