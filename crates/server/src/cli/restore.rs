//! `vestry restore`.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use serde_json::json;
use vestry_app::Service;
use vestry_app::platform::vault::RootReport;
use vestry_app::recovery::Recovered;
use vestry_domain::envelope::KeyPurpose;
use vestry_domain::{Timestamp, rfc3339};
use vestry_store_sql::{CopyError, versions};

use super::backup::{store_name, summary};
use super::backup_file::{Counted, FileError, Header, Reader, Trailer, document};
use super::installation::Installation;
use super::recover;
use crate::failure::{Context, Failure};
use crate::output::{Output, with};
use crate::{compose, migrate, private_file};

/// The arguments of `vestry restore`.
#[derive(Debug, Args)]
#[command(after_help = "\
Stop the service, and set database.url to a new, empty database. The root keys must
be in place: a backup does not contain them. The file is verified first. Afterwards
the schema is migrated, and everything that may have ended since the backup ends
(vestry recover). Then every key and the audit log are verified.")]
pub(crate) struct Restore {
    /// Backup file from `vestry backup`
    file: PathBuf,
    /// Verify the file, and change nothing
    #[arg(long)]
    check_only: bool,
}

impl Restore {
    pub(super) async fn run(self, installation: &Installation) -> Result<Output, Failure> {
        let verified = Verified::read(&self.file).await?;
        let (header, trailer) = (&verified.header, &verified.trailer);
        let taken_at = rfc3339::format(Timestamp::from_unix(header.taken_at));
        let contains = format!("{}, as of {taken_at}", summary(trailer));
        if self.check_only {
            let text = format!("{} is intact: {contains}.", self.file.display());
            return Ok(Output::new(document(header, trailer), text));
        }
        let restored = verified.restore_into(installation).await?;
        let mut text = format!(
            "Restored {contains}.\n{}",
            recover::sentence(&restored.recovered)
        );
        let findings = restored.findings().await?;
        for finding in &findings {
            text.push_str(&format!("\n{finding}"));
        }
        if findings.is_empty() {
            text.push_str(
                "\nEvery key can be opened, and the audit log is intact. Start the service.",
            );
        }
        let result = with(
            document(header, trailer),
            "recovered",
            recover::document(&restored.recovered),
        );
        let result = with(result, "findings", json!(findings));
        Ok(Output::new(result, text).failing(findings.into_iter().next()))
    }
}

/// A backup whose hash is right.
pub(super) struct Verified {
    file: PathBuf,
    pub(super) header: Header,
    pub(super) trailer: Trailer,
}

impl Verified {
    /// Reads the whole file.
    pub(super) async fn read(file: &Path) -> Result<Self, Failure> {
        let path = file.to_owned();
        let read = tokio::task::spawn_blocking(move || -> Result<_, FileError> {
            let (header, reader) = Reader::begin(File::open(&path).map_err(FileError::Io)?)?;
            Ok((header, reader.end()?))
        });
        let read = read.await.context("cannot read the backup")?;
        let (header, trailer) = read.map_err(|error| match error {
            FileError::Io(error) => {
                Failure::new(format!("cannot read {}", file.display())).because(error)
            }
            error => Failure::new(error.to_string()),
        })?;
        Ok(Self {
            file: file.to_owned(),
            header,
            trailer,
        })
    }

    /// Loads it into the empty database of the settings, migrates, and ends what must not live on.
    pub(super) async fn restore_into(
        &self,
        installation: &Installation,
    ) -> Result<Restored, Failure> {
        let settings = &installation.settings.database;
        let own = store_name(&settings.database);
        if self.header.store != own {
            let [from, to] = [self.header.store.as_str(), own].map(|name| match name {
                "sqlite" => "SQLite",
                _ => "Postgres",
            });
            return Err(Failure::new(format!(
                "backup is from {from}, but database.url is {to}"
            )));
        }
        let known: BTreeSet<String> = versions(&settings.database)
            .context("cannot list the migrations")?
            .into_iter()
            .collect();
        let applied = &self.trailer.contents.migrations;
        if applied.iter().any(|version| !known.contains(version)) {
            return Err(Failure::new(format!(
                "backup needs release {} or newer; this is {}",
                self.header.release,
                env!("CARGO_PKG_VERSION")
            )));
        }
        installation.require_epoch_store().await?;
        if let vestry_store_sql::Database::Sqlite(path) = &settings.database {
            private_file::make_directory_of(path)?;
        }
        let store = compose::store_settings(settings);
        let path = self.file.clone();
        let loaded = vestry_store_sql::load(&store, move |into| {
            let (_, mut reader) = Reader::begin(File::open(path)?).map_err(io::Error::other)?;
            io::copy(&mut reader, into)?;
            // The file may have changed since it was verified.
            reader.end().map(drop).map_err(io::Error::other)
        });
        loaded.await.map_err(failed)?;
        tracing::info!("data loaded");
        let contents = vestry_store_sql::contents(&store).await.map_err(failed)?;
        if let Some(difference) = self.trailer.contents.difference(&Counted::from(contents)) {
            return Err(Failure::new(format!(
                "restored database differs from the backup: {difference}; restore again into a new one"
            )));
        }
        let migrated = migrate::apply(settings).await?;
        tracing::info!(migrations = migrated.len(), "schema migrated");
        let service = installation.service_of_restore().await?;
        let roots = service.vault_status().await;
        let roots = roots.context("cannot read the restored database")?;
        let restored = Restored {
            recovered: match lacks(&roots, KeyPurpose::Secrets) {
                None => recover::recover(&service, None).await?,
                Some(lacking) => {
                    return Err(Failure::new(format!(
                        "{lacking}, and nothing can be ended without it; add it, and restore again into a new database"
                    )));
                }
            },
            service,
            roots,
        };
        let ended = vestry_store_sql::end_restore(&store).await;
        ended.map_err(failed)?;
        Ok(restored)
    }
}

fn failed(error: CopyError) -> Failure {
    match error {
        CopyError::Io(error) => Failure::new("restore failed").because(error),
        CopyError::Store(error) => Failure::new("restore failed").because(error),
        error => Failure::new(error.to_string()),
    }
}

/// A restored database.
pub(super) struct Restored {
    pub(super) service: Arc<Service>,
    pub(super) recovered: Recovered,
    roots: Vec<RootReport>,
}

impl Restored {
    /// Reasons not to use it.
    pub(super) async fn findings(&self) -> Result<Vec<String>, Failure> {
        match self.missing_root_keys() {
            Some(missing) => Ok(vec![missing]),
            None => self.verify().await,
        }
    }

    /// The root key without which wallets stay sealed.
    pub(super) fn missing_root_keys(&self) -> Option<String> {
        let lacking = lacks(&self.roots, KeyPurpose::Wallets)?;
        Some(format!("restored, but {lacking}; wallets stay sealed"))
    }

    /// Opens every key, and verifies the audit log. Returns the faults.
    async fn verify(&self) -> Result<Vec<String>, Failure> {
        let progress = |looked_at| tracing::info!(looked_at, "wallets");
        let keys = self.service.vault_verify(&progress).await;
        let keys = keys.context("cannot verify the restored keys")?;
        let bad = keys.failed.len() + keys.failed_secrets.len() + keys.failed_app_keys.len();
        let mut findings = self.recovered.journal.refused.clone();
        if bad > 0 {
            findings.push(format!(
                "{bad} keys or secrets cannot be opened; run vestry vault verify"
            ));
        }
        let progress = |looked_at| tracing::info!(looked_at, "audit log entries processed");
        let log = self.service.verify_audit_log(&progress).await;
        let log = log.context("cannot verify the restored audit log")?;
        if !log.findings.is_empty() {
            findings.push("the audit log has findings; run vestry audit verify".to_owned());
        }
        Ok(findings)
    }
}

/// The version of a root key that App keys need and this machine lacks.
fn lacks(roots: &[RootReport], purpose: KeyPurpose) -> Option<String> {
    let report = roots.iter().find(|report| report.purpose == purpose)?;
    let name = match purpose {
        KeyPurpose::Secrets => "sign-in key",
        _ => "root key",
    };
    let versions = match &report.provider {
        Ok(status) => status.versions.as_slice(),
        Err(_) => &[],
    };
    let mut needed = report.app_keys.iter().map(|(version, _)| *version);
    let missing = needed.find(|version| !versions.contains(version));
    let missing = missing.or_else(|| report.wrong.first().copied())?;
    Some(format!("{name} version {missing} is missing"))
}
