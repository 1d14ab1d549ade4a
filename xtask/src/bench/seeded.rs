//! The database that is measured on: many users with an address, a wallet and a session each. It is made once for the tables as
//! they are, kept in `target/bench`, and every run works on a copy of it.

use std::fmt::Write as _;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use crate::failure::{Context, Failure};
use crate::postgres::{self, Cluster, Durability, Postgres};
use crate::site::{Kind, Site};
use crate::{process, project};

/// How many are hot: fewer than any cache holds.
pub(super) const HOT: u32 = 64;
/// Raised when something else is seeded.
const FORM: u32 = 1;
/// Connections over which users are made.
const CONNECTIONS: &str = "64";
/// Rows of one statement that fills a table.
const ROWS: usize = 500;

/// The lists that the client writes: an id or a token a line.
const LISTS: [&str; 3] = ["users", "wallets", "sessions"];

/// The stored database.
pub(super) struct Seeded {
    directory: PathBuf,
}

/// A copy of it to measure on; all of it goes with this value.
pub(super) struct Copy {
    pub(super) site: Site,
    pub(super) cluster: Option<Cluster>,
    pub(super) key: String,
}

impl Seeded {
    /// The database as it is kept; made, when there is none for these tables.
    pub(super) fn find_or_make(
        kind: Kind,
        users: u32,
        programs: &Path,
        install: bool,
    ) -> Result<Self, Failure> {
        let name = kind.name().to_lowercase();
        let place = project::target().join("bench");
        let of_so_many = format!("{name}-{users}-");
        let seeded = Self {
            directory: place.join(format!("{of_so_many}{:016x}", fingerprint(&name)?)),
        };
        if seeded.directory.exists() {
            return Ok(seeded);
        }
        fs::create_dir_all(&place).context("cannot create target/bench")?;
        // Databases of other schemas, and unfinished ones.
        for old in fs::read_dir(&place).context("cannot read target/bench")? {
            let old = old.context("cannot read target/bench")?;
            if old.file_name().to_string_lossy().starts_with(&of_so_many) {
                fs::remove_dir_all(old.path()).context("cannot remove an old database")?;
            }
        }
        eprintln!(
            "xtask: making {users} users on {}, once for these tables",
            kind.name()
        );
        let begun = Instant::now();
        let unfinished = place.join(format!("{of_so_many}unfinished"));
        fs::create_dir(&unfinished).context("cannot create a directory below target/bench")?;
        make(kind, users, programs, install, &unfinished)?;
        fs::rename(&unfinished, &seeded.directory)
            .context("cannot rename the finished database")?;
        eprintln!("xtask: that took {} s", begun.elapsed().as_secs());
        Ok(seeded)
    }

    /// A copy on which a service can be started.
    pub(super) fn copy(&self, kind: Kind, programs: &Path) -> Result<Copy, Failure> {
        self.copy_with(kind, programs, &[])
    }

    /// The same on a Postgres with settings more than usual.
    pub(super) fn copy_with(
        &self,
        kind: Kind,
        programs: &Path,
        settings: &'static [&'static str],
    ) -> Result<Copy, Failure> {
        let cluster = match kind {
            Kind::Sqlite => None,
            Kind::Postgres => {
                let data = self.directory.join("postgres");
                let postgres = installed(false)?.with(settings);
                Some(postgres.start_copy(Durability::Disk, &data)?)
            }
        };
        let files = self.directory.join("site");
        let url = cluster.as_ref().map(Cluster::url);
        let site = Site::copy_of(&files, programs, url)?;
        let key = fs::read_to_string(site.file("key")).context("cannot read the key")?;
        for list in LISTS {
            let all = site.file(&format!("{list}.cold"));
            let text = fs::read_to_string(site.file(&format!("{list}.txt")));
            let text = text.context("cannot read the seeded list")?;
            fs::write(site.file(&format!("{list}.hot")), from_all_over(&text, HOT))
                .context("cannot write")?;
            fs::write(all, text).context("cannot write")?;
        }
        Ok(Copy { site, cluster, key })
    }
}

/// A few lines from all over a list, so that their rows lie on pages of their own.
pub(super) fn from_all_over(all: &str, most: u32) -> String {
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let apart = (all.lines().count() / most).max(1);
    let few = all.lines().step_by(apart).take(most);
    few.map(|line| format!("{line}\n")).collect()
}

pub(super) fn installed(install: bool) -> Result<Postgres, Failure> {
    let found = Postgres::find_or_install(install)?;
    found.ok_or_else(|| Failure::new(postgres::MISSING.remedy))
}

/// A fingerprint of everything that determines the content of the tables.
fn fingerprint(store: &str) -> Result<u64, Failure> {
    let mut hasher = DefaultHasher::new();
    FORM.hash(&mut hasher);
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

/// Makes users with wallets through the service, and their sessions past it.
fn make(
    kind: Kind,
    users: u32,
    programs: &Path,
    install: bool,
    into: &Path,
) -> Result<(), Failure> {
    let postgres = match kind {
        Kind::Sqlite => None,
        Kind::Postgres => Some(installed(install)?),
    };
    let started = postgres
        .as_ref()
        .map(|postgres| postgres.start(Durability::Memory));
    let cluster = started.transpose()?;
    let mut site = Site::new(programs, cluster.as_ref().map(Cluster::url))?;
    site.spare_the_disk();
    let key = site.set_up()?;
    fs::write(site.file("key"), &key).context("cannot write the key")?;
    let server = site.serve(0)?;
    let mut client = Command::new(programs.join("vestry-bench-load"));
    client
        .args(["seed", "--service", &server.base_url, "--key", &key])
        .args(["--users", &users.to_string(), "--connections", CONNECTIONS])
        .arg("--into")
        .arg(site.file(""));
    process::run(&mut client)?;
    server.stop()?;
    let read = |name: &str| {
        let text = fs::read_to_string(site.file(name));
        text.context("cannot read what the client made")
    };
    let script = site.file("sessions.sql");
    let text = sessions(kind, &read("template.tsv")?, &read("sessions.tsv")?)?;
    fs::write(&script, text).context("cannot write a script")?;
    run_script(kind, &site.database_url, &script)?;
    for spent in ["sessions.sql", "sessions.tsv", "template.tsv"] {
        fs::remove_file(site.file(spent)).context("cannot remove a script")?;
    }
    site.copy_to(&into.join("site"))?;
    match (&postgres, &cluster) {
        (Some(postgres), Some(cluster)) => postgres.back_up(cluster, &into.join("postgres")),
        _ => Ok(()),
    }
}

/// Has the store's own client run a script.
pub(super) fn run_script(kind: Kind, database_url: &str, script: &Path) -> Result<(), Failure> {
    let mut client = match kind {
        Kind::Postgres => {
            let mut psql = Command::new("psql");
            psql.args(["-q", "-v", "ON_ERROR_STOP=1", "-f"]).arg(script);
            psql.arg(database_url);
            psql
        }
        Kind::Sqlite => {
            let mut sqlite = Command::new("sqlite3");
            sqlite
                .arg("-bail")
                .arg(database_url.trim_start_matches("sqlite:"));
            sqlite.arg(format!(".read {}", script.display()));
            sqlite
        }
    };
    process::run_quietly(&mut client)
}

/// The statements that copy a session for every user. No session is due a touch before the next day, nor ends before the next
/// year, so that a verify writes nothing unless a measurement is about that.
fn sessions(kind: Kind, template: &str, rows: &str) -> Result<String, Failure> {
    let template: Vec<&str> = template.trim_end().split('\t').collect();
    let [template_id, template_address, template_email] = template[..] else {
        return Err(Failure::new("the client named no session to copy"));
    };
    let (kind_of_hash, end) = match kind {
        Kind::Postgres => (
            "BYTEA",
            "VACUUM (FREEZE, ANALYZE);\nCHECKPOINT;\n".to_owned(),
        ),
        Kind::Sqlite => ("BLOB", "PRAGMA wal_checkpoint(TRUNCATE);\n".to_owned()),
    };
    let begin = match kind {
        Kind::Postgres => "",
        Kind::Sqlite => ".timeout 10000\n",
    };
    let mut text = format!(
        "{begin}BEGIN;
CREATE TABLE seed (id TEXT, user_id TEXT, address TEXT, email_id TEXT, hash {kind_of_hash});
"
    );
    let lines: Vec<&str> = rows.lines().collect();
    for rows in lines.chunks(ROWS) {
        let mut values = Vec::new();
        for row in rows {
            let fields: Vec<&str> = row.split('\t').collect();
            let [id, user, address, email, hash] = fields[..] else {
                return Err(Failure::new("the client wrote an odd session"));
            };
            let hash = match kind {
                Kind::Postgres => format!("'\\x{hash}'"),
                Kind::Sqlite => format!("X'{hash}'"),
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
