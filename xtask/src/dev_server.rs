//! The service under test: built, started on a free port with an empty data directory, and stopped.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::child_guard::ChildGuard;
use crate::failure::{Context, Failure};
use crate::installation::text;
use crate::{process, project, temporary};

/// The packages that the binary is built with.
///
/// A test-only crate can enable features of crates that the binary uses too. The two are then different builds of half the tree, and the
/// first of each takes minutes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Built {
    /// As built by `cargo xtask dev`.
    Alone,
    /// As built by `cargo test --workspace`, after which nothing is left to build.
    WithTests,
}

/// Builds the binary in the dev profile and returns its path.
pub(crate) fn build(how: Built) -> Result<PathBuf, Failure> {
    let mut command = project::cargo();
    command.args([
        "build",
        "--quiet",
        "--message-format=json-render-diagnostics",
        "--bin",
        "vestry",
        project::LIGHT,
    ]);
    match how {
        Built::Alone => command.args(["--package", "vestry-server"]),
        Built::WithTests => command.args(["--workspace", "--tests"]),
    };
    let messages = process::output(&mut command)?;
    messages
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .find_map(|message| {
            // The executable of the binary's unit tests has the same name.
            let is_test = message.pointer("/profile/test")?.as_bool()?;
            let is_ours = message.pointer("/target/name")?.as_str()? == "vestry" && !is_test;
            let executable = message.get("executable")?.as_str()?;
            is_ours.then(|| PathBuf::from(executable))
        })
        .ok_or_else(|| Failure::new("cargo did not report the path of the binary `vestry`"))
}

/// A running `vestry dev`, stopped on drop.
pub(crate) struct DevServer {
    guard: ChildGuard,
    directory: PathBuf,
    log: PathBuf,
    base_url: String,
    test_key: String,
}

impl DevServer {
    /// Starts the service on the embedded store and waits until it answers.
    ///
    /// The request limit of the test environment is off, because checks make more than 100 requests per minute and responses with 429
    /// would hide findings. The log is `target/<name>.log`.
    pub(crate) fn start(binary: &Path, name: &str) -> Result<Self, Failure> {
        let directory = temporary::directory_in_memory(name)?;
        let log = project::target().join(format!("{name}.log"));
        let mut command = Command::new(binary);
        command
            .args(["dev", "--listen", "127.0.0.1:0", "--data-dir"])
            .arg(&directory);
        command
            .env("VESTRY_LIMITS__TEST_PER_MINUTE", "0")
            // The identity providers of the checks listen there.
            .env("VESTRY_OUTBOUND__ALLOWED_NETWORKS", "127.0.0.0/8")
            .current_dir(&directory);
        let output = File::create(&log).context(format!("cannot create {}", log.display()))?;
        let service = format!("the service (log: {})", log.display());
        let mut guard = ChildGuard::start(&command, "TERM", output, Some(&directory))?;
        // The file may be incomplete at first; then it does not parse.
        let ready: Value = guard.wait_until_ready(&service, Duration::from_secs(60), || {
            let text = fs::read_to_string(directory.join("dev.json")).ok()?;
            serde_json::from_str(&text).ok()
        })?;
        Ok(Self {
            guard,
            directory,
            log,
            base_url: text(&ready, "/base_url")?,
            test_key: text(&ready, "/test/secret_key")?,
        })
    }

    /// The file in which `vestry dev` writes addresses and keys for programs.
    pub(crate) fn ready_file(&self) -> PathBuf {
        self.directory.join("dev.json")
    }

    pub(crate) fn base_url(&self) -> &str {
        &self.base_url
    }

    /// The secret key of the test environment. Pass it on in the environment or a file, not as an argument.
    pub(crate) fn test_key(&self) -> &str {
        &self.test_key
    }

    /// Makes a management key for every App and environment, with these scopes.
    pub(crate) fn management_key(&self, binary: &Path, scopes: &str) -> Result<String, Failure> {
        let file = |name: &str| self.directory.join(name).display().to_string();
        let made = process::output(
            Command::new(binary)
                .args(["manage-key", "create", "fuzz", "--app", "all", "--json"])
                .args(["--environment", "test,live", "--expires-in", "1d"])
                .args(["--scope", scopes])
                .env(
                    "VESTRY_DATABASE__URL",
                    format!("sqlite:{}", file("vestry.db")),
                )
                .env("VESTRY_VAULT__LOCAL__PATH", file("root.key")),
        )?;
        let made = serde_json::from_str(&made).context("cannot parse the management key")?;
        text(&made, "/key")
    }

    /// Stops the service, which must exit with code 0.
    pub(crate) fn stop(self) -> Result<(), Failure> {
        self.guard.stop_cleanly(&self.log)
    }
}
