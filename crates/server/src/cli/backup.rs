//! `vestry backup`.

use std::fs::{self, File};
use std::io::{self, IsTerminal as _, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use vestry_app::platform::TakenBackup;
use vestry_app::{Principal, Service};
use vestry_ports::clock::Clock as _;
use vestry_store_sql::{CopyError, Database, Pooler, SqlStore};

use super::backup_file::{Counted, Header, Trailer, Writer, document};
use super::installation::Installation;
use crate::clock::SystemClock;
use crate::compose;
use crate::failure::{Context, Failure};
use crate::output::{Format, Output};
use crate::private_file;

/// The arguments of `vestry backup`.
#[derive(Debug, Args)]
#[command(after_help = "\
The service can keep running. The file shows one moment, and only its owner can read
it. It contains no root keys and no settings: back those up separately. Names and
addresses in it are not encrypted:

  vestry backup - | age -r AGE_RECIPIENT > shop.backup.age

docs/backup.md describes schedules, restores and drills.")]
pub(crate) struct Backup {
    /// File to write, which must not exist; - for stdout
    file: PathBuf,
}

impl Backup {
    pub(super) async fn run(
        self,
        installation: &Installation,
        format: Format,
    ) -> Result<Output, Failure> {
        let target = Target::of(&self.file, format)?;
        let store = installation.store().await?;
        refuse_pooler(&store).await?;
        let service = installation.service().await?;
        let header = header(installation, &service).await;
        let settings = compose::store_settings(&installation.settings.database);
        let scratch = target.scratch();
        let written = {
            let (target, header) = (target.clone(), header.clone());
            vestry_store_sql::dump(&settings, &scratch, move |contents, data| {
                let mut writer = Writer::begin(target.open()?, &header)?;
                writer.copy(data)?;
                Ok((writer, Counted::from(contents)))
            })
        };
        let finished = match written.await {
            // Only now is it known that the data was complete.
            Ok((writer, contents)) => writer.end(contents).map_err(CopyError::Io),
            Err(error) => Err(error),
        };
        let finished = finished.and_then(|(trailer, file)| {
            target.keep(file)?;
            Ok(trailer)
        });
        let trailer = finished.map_err(|error| target.failed(error))?;
        let backup = TakenBackup {
            taken_at: vestry_domain::Timestamp::from_unix(header.taken_at),
            bytes: trailer.bytes,
            sha256: trailer.sha256.clone(),
        };
        let recorded = service.record_backup(Principal::cli(), &backup).await;
        recorded.map_err(|refusal| {
            Failure::new(format!(
                "{} is complete, but the audit log has no entry about it",
                self.file.display()
            ))
            .because(refusal)
        })?;
        Ok(match target {
            Target::Stdout => Output::printed(),
            Target::File(file) => Output::new(
                document(&header, &trailer),
                format!("Wrote {}: {}.", file.display(), summary(&trailer)),
            ),
        })
    }
}

/// What a backup contains, in a few words.
pub(super) fn summary(trailer: &Trailer) -> String {
    let contents = &trailer.contents;
    let [users, wallets] = ["users", "wallets"].map(|table| contents.rows_of(table));
    format!(
        "{users} users and {wallets} wallets, {} bytes",
        trailer.bytes
    )
}

async fn header(installation: &Installation, service: &Service) -> Header {
    Header {
        release: env!("CARGO_PKG_VERSION").to_owned(),
        store: store_name(&installation.settings.database.database).to_owned(),
        deployment: installation.deployment(),
        // Without the root key, or without a public URL, there is none to name.
        audit_key: service
            .checkpoint_key()
            .await
            .ok()
            .map(|key| key.to_string()),
        taken_at: SystemClock.machine().unix(),
    }
}

/// The store in a header.
pub(super) const fn store_name(database: &Database) -> &'static str {
    match database {
        Database::Sqlite(_) => "sqlite",
        Database::Postgres(_) => "postgres",
    }
}

/// A snapshot belongs to a session, which a transaction pooler does not keep.
async fn refuse_pooler(store: &SqlStore) -> Result<(), Failure> {
    let pooler = store.pooler().await.context("cannot read the database")?;
    match pooler {
        None | Some(Pooler::OfSessions) => Ok(()),
        Some(Pooler::KeepsStatements | Pooler::LosesStatements) => Err(Failure::new(
            "pg_dump needs a direct connection; set VESTRY_DATABASE__URL to one for this command",
        )),
    }
}

/// Where the backup goes.
#[derive(Debug, Clone)]
enum Target {
    Stdout,
    File(PathBuf),
}

impl Target {
    fn of(file: &Path, format: Format) -> Result<Self, Failure> {
        if file != Path::new("-") {
            return match file.exists() {
                true => Err(exists(file)),
                false => Ok(Self::File(file.to_owned())),
            };
        }
        if format == Format::Json {
            return Err(Failure::usage(
                "--json cannot be combined with -, because the backup goes to stdout",
            ));
        }
        if io::stdout().is_terminal() {
            return Err(Failure::usage(
                "stdout is a terminal; pipe it: vestry backup - | age -r …",
            ));
        }
        Ok(Self::Stdout)
    }

    /// A file name beside the target, or in the directory for temporary files.
    fn beside(&self, suffix: &str) -> PathBuf {
        let suffix = format!(".{}.{suffix}", std::process::id());
        match self {
            Self::Stdout => std::env::temp_dir().join(format!("vestry-backup{suffix}")),
            Self::File(file) => {
                let mut name = file.as_os_str().to_owned();
                name.push(suffix);
                name.into()
            }
        }
    }

    fn scratch(&self) -> PathBuf {
        self.beside("copy")
    }

    fn partial(&self) -> PathBuf {
        self.beside("partial")
    }

    fn open(&self) -> io::Result<Opened> {
        Ok(match self {
            Self::Stdout => Opened::Stdout,
            Self::File(_) => Opened::File(private_file::open_new(&self.partial())?),
        })
    }

    /// Gives the complete file its name.
    fn keep(&self, opened: Opened) -> io::Result<()> {
        let (Self::File(file), Opened::File(partial)) = (self, opened) else {
            return Ok(());
        };
        partial.sync_all()?;
        // Unlike a rename, a link replaces nothing.
        fs::hard_link(self.partial(), file)?;
        fs::remove_file(self.partial())?;
        let directory = file
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty());
        File::open(directory.unwrap_or(Path::new(".")))?.sync_all()
    }

    fn failed(&self, error: CopyError) -> Failure {
        // It may not have been created.
        let _removed = fs::remove_file(self.partial());
        let place = match self {
            Self::Stdout => "stdout".to_owned(),
            Self::File(file) => file.display().to_string(),
        };
        match error {
            CopyError::Io(error) if error.kind() == io::ErrorKind::StorageFull => Failure::new(
                format!("no space left for {place}; the partial file was removed"),
            ),
            CopyError::Io(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                exists(Path::new(&place))
            }
            CopyError::Io(error) => Failure::new(format!("cannot write {place}")).because(error),
            CopyError::Store(error) => Failure::new("backup failed").because(error),
            error => Failure::new(error.to_string()),
        }
    }
}

fn exists(file: &Path) -> Failure {
    Failure::new(format!(
        "{} already exists; choose another name",
        file.display()
    ))
}

/// An opened target.
enum Opened {
    Stdout,
    File(File),
}

impl Write for Opened {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Stdout => io::stdout().write(bytes),
            Self::File(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Stdout => io::stdout().flush(),
            Self::File(file) => file.flush(),
        }
    }
}
