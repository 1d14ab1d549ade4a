//! The database of the bench: many users, each with an address, a wallet and a session.
//!
//! It is created once per schema version and kept in `target/bench`. Each run works on a copy.

use std::fmt::Write as _;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use xtask_harness::failure::{Context, Failure};
use xtask_harness::installation::{Installation, StoreKind};
use xtask_harness::postgres::{Cluster, Durability, Postgres};
use xtask_harness::{database, process, project};

/// The number of hot users, wallets and sessions: fewer than any cache holds.
pub(crate) const HOT: u32 = 64;
/// Incremented when the content of the database changes.
const VERSION: u32 = 2;
/// The connections over which users are created.
const CONNECTIONS: &str = "64";
/// Rows per INSERT statement.
const ROWS: usize = 500;

/// The lists that the client writes, with an id or a token in each line.
const LISTS: [&str; 3] = ["users", "wallets", "sessions"];

/// The stored database.
pub(crate) struct Seeded {
    directory: PathBuf,
}

/// A copy to measure on, deleted on drop.
pub(crate) struct Copy {
    pub(crate) installation: Installation,
    pub(crate) cluster: Option<Cluster>,
    pub(crate) key: String,
}

impl Seeded {
    /// Finds the database for this schema, or creates it.
    pub(crate) fn find_or_make(
        kind: StoreKind,
        users: u32,
        programs: &Path,
        install: bool,
    ) -> Result<Self, Failure> {
        let name = kind.name().to_lowercase();
        let place = project::target().join("bench");
        let prefix = format!("{name}-{users}-");
        let seeded = Self {
            directory: place.join(format!("{prefix}{:016x}", fingerprint(&name)?)),
        };
        if seeded.directory.exists() {
            return Ok(seeded);
        }
        fs::create_dir_all(&place).context("cannot create target/bench")?;
        // Databases of other schema versions, and unfinished ones.
        for old in fs::read_dir(&place).context("cannot read target/bench")? {
            let old = old.context("cannot read target/bench")?;
            if old.file_name().to_string_lossy().starts_with(&prefix) {
                fs::remove_dir_all(old.path()).context("cannot remove an old database")?;
            }
        }
        eprintln!(
            "xtask: creating {users} users on {}, once per schema version",
            kind.name()
        );
        let begun = Instant::now();
        let unfinished = place.join(format!("{prefix}unfinished"));
        fs::create_dir(&unfinished).context("cannot create a directory below target/bench")?;
        make(kind, users, programs, install, &unfinished)?;
        fs::rename(&unfinished, &seeded.directory)
            .context("cannot rename the finished database")?;
        eprintln!("xtask: that took {} s", begun.elapsed().as_secs());
        Ok(seeded)
    }

    /// A copy on which a service can be started.
    pub(crate) fn copy(&self, kind: StoreKind, programs: &Path) -> Result<Copy, Failure> {
        self.copy_with(kind, programs, &[])
    }

    /// Like [`Self::copy`], with additional settings of Postgres.
    pub(crate) fn copy_with(
        &self,
        kind: StoreKind,
        programs: &Path,
        settings: &'static [&'static str],
    ) -> Result<Copy, Failure> {
        let cluster = match kind {
            StoreKind::Sqlite => None,
            StoreKind::Postgres => {
                let data = self.directory.join("postgres");
                let postgres = Postgres::require(false)?.with(settings);
                Some(postgres.start_copy(Durability::Disk, &data)?)
            }
        };
        let files = self.directory.join("installation");
        let url = cluster.as_ref().map(Cluster::url);
        let installation = Installation::copy_of(&files, programs, url)?;
        let key = fs::read_to_string(installation.file("key")).context("cannot read the key")?;
        for list in LISTS {
            let all = installation.file(&format!("{list}.cold"));
            let text = fs::read_to_string(installation.file(&format!("{list}.txt")));
            let text = text.context("cannot read the seeded list")?;
            fs::write(
                installation.file(&format!("{list}.hot")),
                from_all_over(&text, HOT),
            )
            .context("cannot write")?;
            fs::write(all, text).context("cannot write")?;
        }
        Ok(Copy {
            installation,
            cluster,
            key,
        })
    }
}

/// A number of lines evenly spread over a list, so that their rows are on different pages.
pub(crate) fn from_all_over(all: &str, count: u32) -> String {
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    let step = (all.lines().count() / count).max(1);
    let few = all.lines().step_by(step).take(count);
    few.map(|line| format!("{line}\n")).collect()
}

/// A fingerprint of everything that determines the content of the tables.
fn fingerprint(store: &str) -> Result<u64, Failure> {
    let mut hasher = DefaultHasher::new();
    VERSION.hash(&mut hasher);
    let migrations = project::root().join("migrations").join(store);
    let entries = fs::read_dir(&migrations).context("cannot read the migrations")?;
    let mut files = Vec::new();
    for entry in entries {
        files.push(entry.context("cannot read the migrations")?.path());
    }
    files.sort_unstable();
    for file in files {
        file.file_name().hash(&mut hasher);
        let text = fs::read_to_string(file.join("up.sql")).context("cannot read a migration")?;
        text.hash(&mut hasher);
    }
    Ok(hasher.finish())
}

/// Creates users with wallets through the API, and their sessions directly in the database.
fn make(
    kind: StoreKind,
    users: u32,
    programs: &Path,
    install: bool,
    into: &Path,
) -> Result<(), Failure> {
    let postgres = match kind {
        StoreKind::Sqlite => None,
        StoreKind::Postgres => Some(Postgres::require(install)?),
    };
    let started = postgres
        .as_ref()
        .map(|postgres| postgres.start(Durability::Memory));
    let cluster = started.transpose()?;
    let mut installation = Installation::new(programs, cluster.as_ref().map(Cluster::url))?;
    installation.spare_the_disk();
    let key = installation.set_up()?.key;
    fs::write(installation.file("key"), &key).context("cannot write the key")?;
    let server = installation.serve(0)?;
    let mut client = Command::new(programs.join("vestry-bench-load"));
    client
        .args(["seed", "--service", &server.base_url, "--key", &key])
        .args(["--users", &users.to_string(), "--connections", CONNECTIONS])
        .arg("--into")
        .arg(installation.file(""));
    process::run(&mut client)?;
    server.stop()?;
    let read = |name: &str| {
        let text = fs::read_to_string(installation.file(name));
        text.context("cannot read the output of the client")
    };
    let script = sessions(kind, &read("template.tsv")?, &read("sessions.tsv")?)?;
    database::run_script(&installation.database_url, &script)?;
    for spent in ["sessions.tsv", "template.tsv"] {
        fs::remove_file(installation.file(spent)).context("cannot remove a list")?;
    }
    installation.copy_to(&into.join("installation"))?;
    match (&postgres, &cluster) {
        (Some(postgres), Some(cluster)) => postgres.back_up(cluster, &into.join("postgres")),
        _ => Ok(()),
    }
}

/// The statements that copy a session for every user.
///
/// Sessions need no activity update for a year and do not expire before, so that a verification writes nothing unless that is measured.
fn sessions(kind: StoreKind, template: &str, rows: &str) -> Result<String, Failure> {
    let template: Vec<&str> = template.trim_end().split('\t').collect();
    let [template_id, template_address, template_email] = template[..] else {
        return Err(Failure::new("the client listed no session to copy"));
    };
    let (kind_of_hash, end) = match kind {
        StoreKind::Postgres => ("BYTEA", "VACUUM (FREEZE, ANALYZE);\nCHECKPOINT;\n"),
        StoreKind::Sqlite => ("BLOB", "PRAGMA wal_checkpoint(TRUNCATE);\n"),
    };
    let mut text = format!(
        "BEGIN;
CREATE TABLE seed (id TEXT, user_id TEXT, address TEXT, email_id TEXT, hash {kind_of_hash});
"
    );
    let lines: Vec<&str> = rows.lines().collect();
    for rows in lines.chunks(ROWS) {
        let mut values = Vec::new();
        for row in rows {
            let fields: Vec<&str> = row.split('\t').collect();
            let [id, user, address, email, hash] = fields[..] else {
                return Err(Failure::new(
                    "the client listed a session without all fields",
                ));
            };
            let hash = match kind {
                StoreKind::Postgres => format!("'\\x{hash}'"),
                StoreKind::Sqlite => format!("X'{hash}'"),
            };
            values.push(format!("('{id}','{user}','{address}','{email}',{hash})"));
        }
        writeln!(text, "INSERT INTO seed VALUES {};", values.join(","))
            .context("cannot write to a string")?;
    }
    write!(
        text,
        "\
INSERT INTO sessions (app_id, environment, id, user_id, token_hash, started_at, expires_at, last_active_at, created_at, updated_at,
        factors, device_fingerprint, permissions, deleted_at)
    SELECT one.app_id, one.environment, seed.id, seed.user_id, seed.hash, one.started_at, one.started_at + 365 * 86400,
        one.last_active_at + 365 * 86400, one.created_at, one.updated_at,
        replace(replace(one.factors, '{template_email}', seed.email_id), '{template_address}', seed.address),
        one.device_fingerprint, one.permissions, NULL
    FROM seed, sessions AS one WHERE one.id = '{template_id}';
DROP TABLE seed;
COMMIT;
{end}"
    )
    .context("cannot write to a string")?;
    Ok(text)
}

#[cfg(test)]
mod tests;
