//! An installation: a directory, a database, settings, and the processes that use it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

use super::client::Api;
use super::database::Database;
use super::process::{Process, Stream};

/// A separate directory in which the binary runs.
pub(crate) struct Installation {
    directory: TempDir,
    pub(crate) database: Database,
    variables: Vec<(String, String)>,
}

/// The result of `set_up`.
#[derive(Debug, Clone)]
pub(crate) struct Keys {
    pub(crate) app: String,
    pub(crate) test: String,
    pub(crate) live: String,
}

/// A service that is ready.
pub(crate) struct Server {
    pub(crate) process: Process,
    pub(crate) base_url: String,
}

/// The result of a command.
#[derive(Debug)]
pub(crate) struct CommandOutput {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl CommandOutput {
    /// The single JSON document on stdout.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        let read = serde_json::from_str(&self.stdout);
        read.unwrap_or_else(|error| panic!("not one JSON document ({error}): {self:?}"))
    }

    #[track_caller]
    pub(crate) fn done(self) -> Self {
        assert_eq!(self.code, 0, "{self:?}");
        self
    }
}

impl Installation {
    pub(crate) fn sqlite() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join(".vestry/vestry.db");
        Self::new(directory, Database::Sqlite(file))
    }

    /// `None` without a server, which is then reported.
    pub(crate) async fn postgres() -> Option<Self> {
        let database = Database::postgres().await?;
        Some(Self::new(tempfile::tempdir().unwrap(), database))
    }

    /// On an existing Postgres database.
    pub(crate) fn at(url: String) -> Self {
        Self::new(tempfile::tempdir().unwrap(), Database::Elsewhere(url))
    }

    fn new(directory: TempDir, database: Database) -> Self {
        let mut installation = Self {
            directory,
            database,
            variables: Vec::new(),
        };
        installation.set("database.url", &installation.database.url());
        // A hundred concurrent requests wait for one writer, on a machine that runs other tests too. The server must not give up before the test.
        if !matches!(installation.database, Database::Elsewhere(_)) {
            installation.set("database.acquire_timeout", "60");
        }
        // The throwaway test server does not wait for its disk.
        installation.set("database.allow_unsafe_durability", "true");
        installation.set("http.listen", "127.0.0.1:0");
        installation.set("http.base_url", "http://localhost:8080");
        installation.set("http.drain_delay", "0");
        installation.set("log.format", "json");
        // Only tests about metrics serve them.
        installation.set("telemetry.listen", "off");
        installation.set("limits.test_per_minute", "0");
        installation.set("limits.live_per_minute", "0");
        installation
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Sets or replaces a setting by its variable.
    pub(crate) fn set(&mut self, name: &str, value: &str) {
        let variable = format!("VESTRY_{}", name.to_uppercase().replace('.', "__"));
        self.variables.retain(|(known, _)| *known != variable);
        self.variables.push((variable, value.to_owned()));
    }

    /// Sets another environment variable.
    pub(crate) fn set_variable(&mut self, name: &str, value: &str) {
        self.variables.push((name.to_owned(), value.to_owned()));
    }

    /// The value of a setting.
    pub(crate) fn setting(&self, name: &str) -> String {
        let variable = format!("VESTRY_{}", name.to_uppercase().replace('.', "__"));
        let found = self.variables.iter().find(|(known, _)| *known == variable);
        found.expect("the setting is set").1.clone()
    }

    /// Resets a setting to its default.
    pub(crate) fn unset(&mut self, name: &str) {
        let variable = format!("VESTRY_{}", name.to_uppercase().replace('.', "__"));
        self.variables.retain(|(known, _)| *known != variable);
    }

    /// The binary with these arguments, in this directory, with these settings only.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        self.command_of(binary(), arguments)
    }

    /// The same with a copy of the binary.
    pub(crate) fn command_of(&self, binary: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(binary);
        command
            .args(arguments)
            .current_dir(self.path())
            .env_clear()
            .envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Runs a command to completion.
    pub(crate) fn run(&self, arguments: &[&str]) -> CommandOutput {
        let Output {
            status,
            stdout,
            stderr,
        } = self.command(arguments).output().unwrap();
        CommandOutput {
            code: status.code().expect("exited without a signal"),
            stdout: String::from_utf8(stdout).unwrap(),
            stderr: String::from_utf8(stderr).unwrap(),
        }
    }

    /// The JSON of an admin command that must succeed.
    #[track_caller]
    pub(crate) fn admin(&self, arguments: &[&str]) -> Value {
        let arguments: Vec<&str> = arguments.iter().copied().chain(["--json"]).collect();
        self.run(&arguments).done().json()
    }

    /// Sets up everything up to a first key: tables, root key, an App, a secret key for test and for live.
    pub(crate) fn set_up(&self) -> Keys {
        let migrate: &[&str] = match self.database.is_distributed() {
            true => &["migrate", "--distribute"],
            false => &["migrate"],
        };
        self.admin(migrate);
        self.admin(&["vault", "init"]);
        self.new_app()
    }

    /// One more App with keys.
    pub(crate) fn new_app(&self) -> Keys {
        let app = text(&self.admin(&["app", "create", "Shop"]), "id");
        let key = |environment| text(&self.admin(&["key", "create", &app, environment]), "key");
        Keys {
            test: key("test"),
            live: key("live"),
            app,
        }
    }

    /// Starts `vestry serve` and waits until it is ready.
    pub(crate) async fn serve(&self) -> Server {
        let mut process = Process::start(&mut self.command(&["serve"]));
        let ready = process.logged("ready").await;
        let address = ready["address"].as_str().unwrap();
        Server {
            base_url: format!("http://{address}"),
            process,
        }
    }

    /// Starts `vestry dev` on a free port and waits for its ready line.
    pub(crate) async fn dev(&self, more: &[&str]) -> Server {
        let arguments: Vec<&str> = ["dev", "--listen", "127.0.0.1:0"]
            .into_iter()
            .chain(more.iter().copied())
            .collect();
        let mut process = Process::start(&mut self.command(&arguments));
        let ready = process
            .find(|stream, line| {
                let line = (stream == Stream::Stdout).then_some(line)?;
                let rest = line.strip_prefix("Ready at ")?;
                rest.split(' ').next().map(str::to_owned)
            })
            .await;
        let base_url =
            ready.unwrap_or_else(|| panic!("vestry did not start:\n{}", process.output()));
        Server { process, base_url }
    }

    /// A file in the directory.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }
}

impl Server {
    pub(crate) fn api(&self, key: &str) -> Api {
        Api::new(&self.base_url, key)
    }
}

/// The binary of this build.
pub(crate) fn binary() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_vestry"))
}

/// A string field of a document.
#[track_caller]
pub(crate) fn text(document: &Value, name: &str) -> String {
    let value = document[name].as_str();
    value
        .unwrap_or_else(|| panic!("no text {name} in {document}"))
        .to_owned()
}
