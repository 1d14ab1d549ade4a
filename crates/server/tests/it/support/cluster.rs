//! Postgres clusters for a single test: created, copied, followed by standbys, stopped as by a power failure, and promoted.

use std::os::unix::fs::chown;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;

use tempfile::TempDir;
use tokio::task::block_in_place;
use tokio_postgres::{Client, NoTls, SimpleQueryMessage};
use vestry_testkit::postgres::programs;

use super::poll::until;
use super::process::PATIENCE;

/// The programs of a Postgres installation, and the user to run them as: they refuse to run as root.
pub(crate) struct Programs {
    directory: PathBuf,
    owner: Option<(u32, u32)>,
}

/// A cluster that is stopped and deleted on drop. It listens only on a socket in its directory.
pub(crate) struct Cluster {
    programs: Arc<Programs>,
    directory: TempDir,
    /// Options of the server.
    options: &'static str,
}

/// Options without background writes, so that transactions and their numbers are reproducible.
const OPTIONS: &str = "-c listen_addresses= -c fsync=off -c autovacuum=off -c wal_level=replica -c max_connections=50";

impl Programs {
    /// The programs of the test server; `None` if they are missing, which is then reported.
    pub(crate) async fn find() -> Option<Arc<Self>> {
        let directory = programs().await?;
        let is_root = rustix::process::geteuid().is_root();
        let owner = is_root.then(|| (number_of_nobody("-u"), number_of_nobody("-g")));
        Some(Arc::new(Self { directory, owner }))
    }

    fn command(&self, name: &str) -> Command {
        let program = self.directory.join(name);
        let mut command = match self.owner {
            None => Command::new(program),
            Some((user, group)) => {
                let mut command = Command::new("setpriv");
                let ids = [format!("--reuid={user}"), format!("--regid={group}")];
                command.args(ids).arg("--clear-groups").arg(program);
                command
            }
        };
        // The test's directory may be closed to the owner.
        command.current_dir("/").stdin(Stdio::null());
        command
    }

    fn place(self: &Arc<Self>, options: &'static str) -> Cluster {
        let directory = tempfile::tempdir().unwrap();
        if let Some((user, group)) = self.owner {
            chown(directory.path(), Some(user), Some(group)).unwrap();
        }
        Cluster {
            programs: Arc::clone(self),
            directory,
            options,
        }
    }
}

fn number_of_nobody(flag: &str) -> u32 {
    let printed = Command::new("id").args([flag, "nobody"]).output().unwrap();
    let text = String::from_utf8(printed.stdout).unwrap();
    text.trim().parse().unwrap()
}

/// Runs a program to completion. Its children may keep its output open, so the output is discarded.
fn run(command: &mut Command) {
    let quiet = command.stdout(Stdio::null()).stderr(Stdio::null());
    let status = block_in_place(|| quiet.status()).unwrap();
    assert!(status.success(), "{status}: {command:?}");
}

impl Cluster {
    /// A running new cluster, with an empty database `vestry`.
    pub(crate) async fn new(programs: &Arc<Programs>) -> Self {
        Self::with(programs, OPTIONS).await
    }

    /// The same with other server options.
    pub(crate) async fn with(programs: &Arc<Programs>, options: &'static str) -> Self {
        let cluster = programs.place(options);
        let mut initdb = programs.command("initdb");
        initdb.arg("-D").arg(cluster.data());
        run(initdb.args([
            "-U",
            "postgres",
            "-A",
            "trust",
            "--no-sync",
            "-E",
            "UTF8",
            "--locale=C.UTF-8",
        ]));
        cluster.start();
        let client = cluster.connect("postgres").await;
        let created = client.batch_execute("CREATE DATABASE vestry").await;
        created.unwrap();
        cluster
    }

    /// A base backup, not started.
    pub(crate) fn backup(&self) -> Self {
        self.copied(&[])
    }

    /// A standby, not started.
    pub(crate) fn standby(&self) -> Self {
        self.copied(&["--write-recovery-conf"])
    }

    fn copied(&self, further: &[&str]) -> Self {
        let copy = self.programs.place(self.options);
        let mut backup = self.programs.command("pg_basebackup");
        backup
            .arg("-D")
            .arg(copy.data())
            .arg("-h")
            .arg(self.directory.path());
        let how = ["-U", "postgres", "--checkpoint=fast", "--no-sync"];
        run(backup.args(how).args(further));
        copy
    }

    pub(crate) fn start(&self) {
        self.start_with("");
    }

    /// Starts as a standby that no commit waits for ([`Cluster::wait_for_standbys`]).
    pub(crate) fn start_as_bystander(&self) {
        self.start_with("-c cluster_name=bystander");
    }

    fn start_with(&self, further: &str) {
        let directory = self.directory.path().display();
        let options = self.options;
        let options = format!("{options} {further} -c unix_socket_directories={directory}");
        let log = self.directory.path().join("log");
        run(self
            .control()
            .arg("-l")
            .arg(log)
            .args(["-o", &options, "start"]));
    }

    /// Stops at once, as by a power failure.
    pub(crate) fn stop(&self) {
        run(self.control().args(["-m", "immediate", "stop"]));
    }

    /// From now on, commits wait for a standby. A standby without a name of its own is called as below.
    pub(crate) async fn wait_for_standbys(&self) {
        let client = self.client().await;
        for statement in [
            "ALTER SYSTEM SET synchronous_standby_names = 'walreceiver'",
            "SELECT pg_reload_conf()",
        ] {
            client.simple_query(statement).await.unwrap();
        }
        let state = "SELECT coalesce(max(sync_state), '') FROM pg_stat_replication";
        let waits = until(async || only(&client, state).await == "sync");
        tokio::time::timeout(PATIENCE, waits).await.unwrap();
    }

    /// Disconnects every client.
    pub(crate) async fn cut_off_clients(&self) {
        let client = self.client().await;
        let cut = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()";
        only(&client, cut).await;
    }

    /// Promotes a standby.
    pub(crate) fn promote(&self) {
        run(self.control().arg("promote"));
    }

    fn control(&self) -> Command {
        let mut control = self.programs.command("pg_ctl");
        control.arg("-D").arg(self.data()).args(["-w", "-s"]);
        control
    }

    fn data(&self) -> PathBuf {
        self.directory.path().join("data")
    }

    /// Its address.
    pub(crate) fn socket(&self) -> PathBuf {
        self.directory.path().join(".s.PGSQL.5432")
    }

    /// The socket directory, as libpq takes it for a host.
    pub(crate) fn host(&self) -> String {
        self.directory.path().display().to_string()
    }

    async fn connect(&self, database: &str) -> Client {
        let mut config = tokio_postgres::Config::new();
        config.host_path(self.directory.path());
        config.user("postgres").dbname(database);
        let (client, connection) = config.connect(NoTls).await.unwrap();
        tokio::spawn(connection);
        client
    }

    /// A connection to the database of the service.
    pub(crate) async fn client(&self) -> Client {
        self.connect("vestry").await
    }

    /// Returns when the standby has everything that this one has by now.
    pub(crate) async fn is_followed_by(&self, standby: &Self) {
        let (here, there) = (self.client().await, standby.client().await);
        let written = only(&here, "SELECT pg_current_wal_lsn()").await;
        let caught_up = format!("SELECT pg_last_wal_replay_lsn() >= '{written}'");
        let follows = until(async || only(&there, &caught_up).await == "t");
        tokio::time::timeout(PATIENCE, follows).await.unwrap();
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // It may have been stopped.
        let mut stop = self.control();
        let quiet = stop.args(["-m", "immediate", "stop"]).stderr(Stdio::null());
        let _stopped = quiet.stdout(Stdio::null()).status();
    }
}

/// The single value that a query returns.
pub(crate) async fn only(client: &Client, query: &str) -> String {
    let answered = client.simple_query(query).await.unwrap();
    let row = answered.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0),
        _ => None,
    });
    row.unwrap_or_else(|| panic!("no row: {query}")).to_owned()
}
