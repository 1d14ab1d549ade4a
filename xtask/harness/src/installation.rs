//! An installation like an operator's: a directory, a database, `vestry serve` and the admin commands.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::child_guard::ChildGuard;
use crate::failure::{Context, Failure};
use crate::postgres::{Cluster, Durability, Postgres};
use crate::{process, project, temporary, wait};

/// The time limit for the service to be ready.
const PATIENCE: Duration = Duration::from_secs(60);
/// The polling interval, and so the precision of start-up times.
const EVERY: Duration = Duration::from_millis(1);

/// One of the two stores.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum StoreKind {
    /// A SQLite file.
    Sqlite,
    /// A Postgres cluster.
    Postgres,
}

impl StoreKind {
    /// Both stores.
    pub const BOTH: [Self; 2] = [Self::Sqlite, Self::Postgres];

    /// Parses the name of a command-line option.
    pub fn parse(name: &str) -> Result<Self, Failure> {
        match name {
            "sqlite" => Ok(Self::Sqlite),
            "postgres" => Ok(Self::Postgres),
            other => Err(Failure::Usage(format!(
                "unknown store {other}; expected sqlite or postgres"
            ))),
        }
    }

    /// The name for people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sqlite => "SQLite",
            Self::Postgres => "Postgres",
        }
    }
}

/// For Postgres, a throwaway cluster that waits for its disk.
pub fn cluster(kind: StoreKind, install: bool) -> Result<Option<Cluster>, Failure> {
    match kind {
        StoreKind::Sqlite => Ok(None),
        StoreKind::Postgres => {
            let postgres = Postgres::require(install)?;
            postgres.start(Durability::Disk).map(Some)
        }
    }
}

/// The working directory of the binary, removed on drop.
pub struct Installation {
    directory: PathBuf,
    binary: PathBuf,
    /// The log level of the service and the admin commands.
    level: &'static str,
    /// Whether a commit waits for the disk.
    waits_for_disk: bool,
    /// Additional settings by variable name.
    settings: Vec<(&'static str, String)>,
    /// The URL of its database.
    pub database_url: String,
}

/// A service that is ready.
pub struct Server {
    guard: ChildGuard,
    /// The URL of its API.
    pub base_url: String,
    /// Its log file.
    pub log: PathBuf,
    /// From the start of the process to the first 200 of `/readyz`.
    pub ready_after: Duration,
}

/// An App and its secret key for the test environment.
pub struct App {
    /// Its id.
    pub id: String,
    /// The key.
    pub key: String,
}

/// A running rotation of App keys, killed on drop.
pub struct Rotation {
    child: Child,
    log: PathBuf,
}

impl Installation {
    /// An installation with the programs in a directory, on a Postgres database or its own SQLite file.
    pub fn new(programs: &Path, postgres: Option<&str>) -> Result<Self, Failure> {
        let directory = temporary::directory("installation")?;
        let file = || format!("sqlite:{}/vestry.db", directory.display());
        Ok(Self {
            database_url: postgres.map_or_else(file, str::to_owned),
            binary: programs.join("vestry"),
            level: "warn",
            waits_for_disk: true,
            settings: Vec::new(),
            directory,
        })
    }

    /// An installation on a copy of another one's files.
    pub fn copy_of(files: &Path, programs: &Path, postgres: Option<&str>) -> Result<Self, Failure> {
        let installation = Self::new(programs, postgres)?;
        process::copy(&files.join("."), &installation.directory)?;
        Ok(installation)
    }

    /// Copies its files, including root keys and a SQLite database, to a new directory.
    pub fn copy_to(&self, directory: &Path) -> Result<(), Failure> {
        process::copy(&self.directory, directory)
    }

    /// Uses the programs in another directory from now on.
    pub fn run_from(&mut self, programs: &Path) {
        self.binary = programs.join("vestry");
    }

    /// Enables production logging, with a line for each request.
    pub fn log_requests(&mut self) {
        self.level = "info";
    }

    /// Commits without waiting for the disk, for data that can be recreated.
    pub fn spare_the_disk(&mut self) {
        self.waits_for_disk = false;
    }

    /// Sets a setting by variable name.
    pub fn set(&mut self, variable: &'static str, value: &str) {
        self.settings.push((variable, value.to_owned()));
    }

    /// A file in the directory.
    pub fn file(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.binary);
        command
            .args(arguments)
            .current_dir(&self.directory)
            .env("VESTRY_DATABASE__URL", &self.database_url)
            .env("VESTRY_HTTP__BASE_URL", "http://localhost:8080")
            .env("VESTRY_HTTP__DRAIN_DELAY", "0")
            .env("VESTRY_TELEMETRY__LISTEN", "off")
            .env("VESTRY_LIMITS__TEST_PER_MINUTE", "0")
            .env("VESTRY_LOG__LEVEL", self.level)
            .envs(self.settings.iter().map(|(name, value)| (name, value)));
        if !self.waits_for_disk {
            command
                .env("VESTRY_DATABASE__SYNCHRONOUS", "normal")
                .env("VESTRY_DATABASE__ALLOW_UNSAFE_DURABILITY", "true");
        }
        command
    }

    /// The output of an admin command that must succeed.
    pub fn admin(&self, arguments: &[&str]) -> Result<Value, Failure> {
        let arguments = [arguments, &["--json"]].concat();
        let printed = process::output(&mut self.command(&arguments))?;
        serde_json::from_str(&printed).context(format!("{arguments:?} printed no JSON"))
    }

    /// Runs an admin command without output.
    pub fn run_admin(&self, arguments: &[&str]) -> Result<(), Failure> {
        process::run_quietly(&mut self.command(arguments))
    }

    /// Runs an admin command whatever its exit code: some exit with 1 because of their findings.
    pub fn try_admin(&self, arguments: &[&str]) -> Result<(), Failure> {
        let run = self.command(arguments).output();
        let run = run.context("cannot run an admin command")?;
        match run.status.code() {
            Some(0 | 1) => Ok(()),
            _ => Err(Failure::new(format!(
                "{arguments:?} ended with {}: {}",
                run.status,
                String::from_utf8_lossy(&run.stderr)
            ))),
        }
    }

    /// Creates the tables, a root key and an App.
    pub fn set_up(&self) -> Result<App, Failure> {
        self.admin(&["migrate"])?;
        self.admin(&["vault", "init"])?;
        self.create_app("Shop")
    }

    /// Creates an App with a key.
    pub fn create_app(&self, name: &str) -> Result<App, Failure> {
        let app = self.admin(&["app", "create", name])?;
        let id = text(&app, "/id")?;
        let key = self.admin(&["key", "create", &id, "test"])?;
        let key = text(&key, "/key")?;
        Ok(App { id, key })
    }

    /// Starts the service and waits until it is ready.
    ///
    /// Its log is `target/installation-<scheme>-<number>.log`, so that two stores can be measured at the same time.
    pub fn serve(&self, number: usize) -> Result<Server, Failure> {
        let address = format!("127.0.0.1:{}", wait::free_port()?);
        let scheme = self.database_url.split(':').next().unwrap_or_default();
        let path = project::target().join(format!("installation-{scheme}-{number}.log"));
        // Opened for appending, so that a long measurement can truncate it.
        drop(fs::remove_file(&path));
        let log = File::options().create(true).append(true).open(&path);
        let log = log.context("cannot create a log")?;
        let mut command = self.command(&["serve"]);
        command.env("VESTRY_HTTP__LISTEN", &address);
        let begun = Instant::now();
        let mut guard = ChildGuard::start(&command, "TERM", log, None)?;
        while !is_ready(&address) {
            if let Some(status) = guard.ended()? {
                let path = path.display();
                return Err(Failure::new(format!(
                    "the service ended with {status}; see {path}"
                )));
            }
            if begun.elapsed() > PATIENCE {
                return Err(Failure::new("the service did not become ready"));
            }
            pause();
        }
        Ok(Server {
            guard,
            base_url: format!("http://{address}"),
            log: path,
            ready_after: begun.elapsed(),
        })
    }

    /// Starts a rotation of App keys that reports its progress.
    pub fn rotation(&self) -> Result<Rotation, Failure> {
        let log = self.file("rotation.log");
        let file = File::create(&log).context("cannot create a log")?;
        let mut command = self.command(&["vault", "rotate-apps"]);
        command
            .env("VESTRY_LOG__LEVEL", "info")
            .env("VESTRY_LOG__FORMAT", "json")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(file);
        let child = command.spawn().context("cannot start the rotation")?;
        Ok(Rotation { child, log })
    }
}

impl Drop for Installation {
    fn drop(&mut self) {
        // Only data of this run; what cannot be removed is left to the system.
        drop(fs::remove_dir_all(&self.directory));
    }
}

impl Server {
    /// Runs the load generator to create this many wallets. Returns the list that it writes to a file.
    pub fn make_wallets(
        &self,
        load: &Path,
        key: &str,
        count: u32,
        list: &Path,
    ) -> Result<String, Failure> {
        let mut command = Command::new(load);
        command
            .args(["wallets", "--service", &self.base_url, "--key", key])
            .args(["--count", &count.to_string(), "--connections", "16"])
            .arg("--into")
            .arg(list);
        process::run(&mut command)?;
        fs::read_to_string(list).context("cannot read the list of wallets")
    }

    /// The process that is the parent of the service.
    pub fn process_id(&self) -> u32 {
        self.guard.process_id()
    }

    /// Stops the service, which must exit with code 0.
    pub fn stop(self) -> Result<(), Failure> {
        self.guard.stop_cleanly(&self.log)
    }
}

impl Rotation {
    /// Fails if the rotation has ended before it was killed.
    pub fn is_running(&mut self) -> Result<(), Failure> {
        match self.child.try_wait().context("cannot watch the rotation")? {
            None => Ok(()),
            Some(status) => Err(Failure::new(format!(
                "the rotation ended with {status} before it could be killed"
            ))),
        }
    }

    /// The last reported progress: wallets done, wallets in total, and the number of reports.
    pub fn progress(&self) -> Result<Option<(u64, u64, usize)>, Failure> {
        let log = fs::read_to_string(&self.log).context("cannot read the rotation's log")?;
        let reports: Vec<_> = log.lines().filter_map(progress).collect();
        Ok(reports.last().map(|(done, of)| (*done, *of, reports.len())))
    }

    /// `kill -9`.
    pub fn kill(mut self) -> Result<(), Failure> {
        self.child.kill().context("cannot kill the rotation")?;
        let ended = self.child.wait().context("cannot wait for the rotation")?;
        if ended.code().is_some() {
            return Err(Failure::new("the rotation ended before it was killed"));
        }
        Ok(())
    }
}

impl Drop for Rotation {
    fn drop(&mut self) {
        // It may have ended already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// The text at a JSON pointer.
pub fn text(value: &Value, pointer: &str) -> Result<String, Failure> {
    let found = value.pointer(pointer).and_then(Value::as_str);
    found
        .map(str::to_owned)
        .ok_or_else(|| Failure::new(format!("a response has no string at {pointer}")))
}

/// The wallets done and in total, if the line reports progress.
fn progress(line: &str) -> Option<(u64, u64)> {
    let event: Value = serde_json::from_str(line).ok()?;
    let number = |name| event.get(name).and_then(Value::as_u64);
    Some((number("done")?, number("of")?))
}

/// Whether `/readyz` answers 200.
fn is_ready(address: &str) -> bool {
    let asked = TcpStream::connect(address).and_then(|mut stream| {
        let request =
            format!("GET /readyz HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes())?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    });
    asked.is_ok_and(|answer| answer.starts_with("HTTP/1.1 200"))
}

#[expect(
    clippy::disallowed_methods,
    reason = "the commands have nothing else to do while they wait"
)]
fn pause() {
    std::thread::sleep(EVERY);
}

#[cfg(test)]
mod tests {
    use super::progress;

    #[test]
    fn progress_is_parsed_from_its_log_lines() {
        let line =
            r#"{"level":"INFO","message":"wallets and secrets re-encrypted","done":200,"of":1000}"#;
        assert_eq!(progress(line), Some((200, 1000)));
        for other in ["", "{", "{}", r#"{"done":200}"#, r#"{"done":"200","of":1}"#] {
            assert_eq!(progress(other), None, "{other:?}");
        }
    }
}
