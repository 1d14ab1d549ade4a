//! Throwaway Postgres clusters.

use std::fs::{self, File};
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::child_guard::ChildGuard;
use crate::failure::{Context, Failure};
use crate::lane::Missing;
use crate::{debian, process, temporary, wait};

/// Reported if Postgres is missing and must not be installed.
pub const MISSING: Missing = Missing {
    lanes: &["postgres"],
    remedy: "apt-get install postgresql, or put the directory of initdb on PATH",
};

/// Settings of every cluster. Every test has its own database and pools, hence the number of connections.
const SETTINGS: &[&str] = &[
    "max_connections=400",
    "shared_buffers=64MB",
    "listen_addresses=127.0.0.1",
];

/// Whether a commit waits for the disk.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// Commits wait for the disk as in production, for measuring their cost.
    Disk,
    /// Commits do not wait: the tests check our guarantees, not those of the disk.
    Memory,
}

/// The time limit of a start or stop.
const PATIENCE: Duration = Duration::from_secs(60);

/// The programs of a Postgres installation, and the user they may run as.
pub struct Postgres {
    programs: PathBuf,
    /// The user that Postgres runs as if we are root, which it refuses: `nobody`.
    owner: Option<Owner>,
    more: &'static [&'static str],
}

/// A user by number.
struct Owner {
    user: u32,
    group: u32,
}

impl Postgres {
    /// The newest installation on this machine. Installs Postgres if it is missing and installing is allowed.
    pub fn find_or_install(install: bool) -> Result<Option<Self>, Failure> {
        let found = debian::find_or_install(newest_programs, install, &["postgresql"])?;
        let Some(programs) = found else {
            return Ok(None);
        };
        let owner = if debian::is_root() {
            Some(Owner::nobody()?)
        } else {
            None
        };
        let more = &[];
        Ok(Some(Self {
            programs,
            owner,
            more,
        }))
    }

    /// Like [`Self::find_or_install`], but fails if there is none.
    pub fn require(install: bool) -> Result<Self, Failure> {
        let found = Self::find_or_install(install)?;
        let missing = || format!("Postgres is missing; to install it: {}", MISSING.remedy);
        found.ok_or_else(|| Failure::new(missing()))
    }

    /// Adds settings for all clusters that it starts.
    pub const fn with(mut self, more: &'static [&'static str]) -> Self {
        self.more = more;
        self
    }

    /// Creates a temporary directory for a cluster.
    fn place(&self, durability: Durability) -> Result<Place, Failure> {
        let directory = match durability {
            Durability::Disk => temporary::directory("postgres")?,
            Durability::Memory => temporary::directory_in_memory("postgres")?,
        };
        if let Some(Owner { user, group }) = self.owner {
            chown(&directory, Some(user), Some(group))
                .context("cannot change the owner of the Postgres directory")?;
        }
        Ok(Place {
            port: wait::free_port()?,
            directory,
            durability,
            more: self.more,
        })
    }

    /// Creates an empty cluster in a new temporary directory. Its superuser is `postgres`, without a password.
    fn create(&self, durability: Durability) -> Result<Place, Failure> {
        let place = self.place(durability)?;
        process::run_quietly(
            self.program("initdb", &place)
                .arg("-D")
                .arg(place.data())
                .args([
                    "-U",
                    "postgres",
                    "-A",
                    "trust",
                    "--no-sync",
                    "-E",
                    "UTF8",
                    "--locale=C.UTF-8",
                ]),
        )?;
        Ok(place)
    }

    /// Starts a cluster that is stopped and deleted with this process.
    pub fn start(&self, durability: Durability) -> Result<Cluster, Failure> {
        self.run(&self.create(durability)?)
    }

    /// Starts a cluster on a copy of a [`Postgres::back_up`]. It is stopped and deleted with this process.
    pub fn start_copy(&self, durability: Durability, backup: &Path) -> Result<Cluster, Failure> {
        let place = self.place(durability)?;
        process::copy(backup, &place.data())?;
        if let Some(Owner { user, group }) = self.owner {
            let owner = format!("{user}:{group}");
            let mut give = Command::new("chown");
            process::run_quietly(give.args(["--recursive", &owner]).arg(place.data()))?;
        }
        self.run(&place)
    }

    /// Writes the files of a running cluster to a new directory.
    pub fn back_up(&self, cluster: &Cluster, into: &Path) -> Result<(), Failure> {
        let mut command = Command::new(self.programs.join("pg_basebackup"));
        command.args(["--checkpoint=fast", "--no-sync", "--dbname", cluster.url()]);
        process::run_quietly(command.arg("--pgdata").arg(into))
    }

    fn run(&self, place: &Place) -> Result<Cluster, Failure> {
        let log =
            File::create(place.directory.join("log")).context("cannot create the Postgres log")?;
        let mut server = self.program("postgres", place);
        server.arg("-D").arg(place.data()).args(place.options());
        // INT is the fast shutdown: it does not wait for clients.
        let mut guard = ChildGuard::start(&server, "INT", log, Some(&place.directory))?;
        guard.wait_until_ready("Postgres", PATIENCE, || self.answers(place).then_some(()))?;
        Ok(Cluster {
            guard,
            url: place.url(),
            port: place.port,
            log: place.directory.join("log"),
        })
    }

    /// Starts a cluster that keeps running until [`Postgres::remove`].
    pub fn start_to_stay(&self) -> Result<Place, Failure> {
        let place = self.create(Durability::Memory)?;
        process::run_quietly(
            self.program("pg_ctl", &place)
                .arg("-D")
                .arg(place.data())
                .arg("-l")
                .arg(place.directory.join("log"))
                .args(["-w", "-s", "-o", &place.options().join(" "), "start"]),
        )?;
        Ok(place)
    }

    /// Stops and deletes a cluster started with [`Postgres::start_to_stay`].
    pub fn remove(&self, place: &Place) -> Result<(), Failure> {
        if self.answers(place) {
            process::run_quietly(
                self.program("pg_ctl", place)
                    .arg("-D")
                    .arg(place.data())
                    .args(["-m", "immediate", "-w", "-s", "stop"]),
            )?;
        }
        if place.directory.exists() {
            fs::remove_dir_all(&place.directory).context("cannot delete the cluster")?;
        }
        Ok(())
    }

    /// Whether the server of this cluster accepts connections.
    pub fn answers(&self, place: &Place) -> bool {
        let port = place.port.to_string();
        process::succeeds(self.program("pg_isready", place).args([
            "-q",
            "-h",
            "127.0.0.1",
            "-p",
            &port,
        ])) && place.data().join("postmaster.pid").exists()
    }

    fn program(&self, name: &str, place: &Place) -> Command {
        let file = self.programs.join(name);
        let mut command = match self.owner {
            None => Command::new(file),
            Some(Owner { user, group }) => {
                let mut command = Command::new("setpriv");
                command
                    .arg(format!("--reuid={user}"))
                    .arg(format!("--regid={group}"))
                    .arg("--clear-groups")
                    .arg(file);
                command
            }
        };
        // The owner may not have access to the caller's directory.
        command.current_dir("/").env("HOME", &place.directory);
        command
    }
}

impl Owner {
    fn nobody() -> Result<Self, Failure> {
        let number = |flag: &str| -> Result<u32, Failure> {
            let text = process::output(Command::new("id").args([flag, "nobody"]))?;
            text.trim()
                .parse()
                .context("cannot read the number of the user nobody")
        };
        Ok(Self {
            user: number("-u")?,
            group: number("-g")?,
        })
    }
}

/// The location of a cluster.
pub struct Place {
    /// The directory with the data, the socket and the log.
    pub directory: PathBuf,
    /// The port on 127.0.0.1.
    pub port: u16,
    /// Whether commits wait for the disk.
    pub durability: Durability,
    /// Additional settings.
    pub more: &'static [&'static str],
}

impl Place {
    fn data(&self) -> PathBuf {
        self.directory.join("data")
    }

    /// Command-line options of the server.
    fn options(&self) -> Vec<String> {
        let fsync = self.durability == Durability::Disk;
        let own = [
            format!("fsync={}", if fsync { "on" } else { "off" }),
            format!("port={}", self.port),
            format!("unix_socket_directories={}", self.directory.display()),
        ];
        let shared = SETTINGS
            .iter()
            .chain(self.more)
            .map(|setting| (*setting).to_owned());
        shared
            .chain(own)
            .flat_map(|setting| ["-c".to_owned(), setting])
            .collect()
    }

    /// The superuser's URL.
    pub fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port)
    }
}

/// A running cluster, stopped on drop.
pub struct Cluster {
    guard: ChildGuard,
    url: String,
    port: u16,
    log: PathBuf,
}

impl Cluster {
    /// The port on 127.0.0.1.
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// The server's log so far.
    pub fn log(&self) -> Result<String, Failure> {
        fs::read_to_string(&self.log).context("cannot read the log of Postgres")
    }

    /// The superuser's URL.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The process that is the parent of all server processes.
    pub fn process_id(&self) -> u32 {
        self.guard.process_id()
    }

    /// Stops the server and deletes the cluster.
    pub fn stop(self) -> Result<(), Failure> {
        self.guard.stop().map(drop)
    }
}

/// The directory of `initdb`: the highest version in Debian's layout, else the one on `PATH`.
fn newest_programs() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten();
    let newest = versions
        .filter_map(|entry| {
            let version: u32 = entry.file_name().to_str()?.parse().ok()?;
            let programs = entry.path().join("bin");
            programs
                .join("initdb")
                .is_file()
                .then_some((version, programs))
        })
        .max_by_key(|(version, _)| *version);
    newest
        .map(|(_, programs)| programs)
        .or_else(|| process::find("initdb")?.parent().map(Path::to_path_buf))
}
