//! A throwaway PgBouncer in front of a throwaway Postgres.

use std::fs::{self, File};
use std::net::{Ipv4Addr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use xtask_harness::child_guard::ChildGuard;
use xtask_harness::failure::{Context, Failure};
use xtask_harness::{debian, temporary, wait};

/// The mode for services.
pub(crate) const KEEPING_STATEMENTS: &str =
    "pool_mode = transaction\nmax_prepared_statements = 200";
/// The behaviour of every PgBouncer before 1.21.
pub(crate) const LOSING_STATEMENTS: &str = "pool_mode = transaction\nmax_prepared_statements = 0";
/// Session mode.
pub(crate) const OF_SESSIONS: &str = "pool_mode = session\nmax_prepared_statements = 0";

/// A few server connections for many clients. Startup parameters are rejected, as by default.
const SETTINGS: &str = "\
default_pool_size = 4
max_client_conn = 4000
auth_type = any
listen_addr = 127.0.0.1
unix_socket_dir =
";

/// A running PgBouncer, stopped on drop.
pub(crate) struct PgBouncer {
    guard: ChildGuard,
    port: u16,
}

impl PgBouncer {
    /// Starts PgBouncer in front of every database of the Postgres at this port, in one of the modes above.
    pub(crate) fn start(program: &Path, postgres: u16, mode: &str) -> Result<Self, Failure> {
        let directory = temporary::directory("pgbouncer")?;
        let port = wait::free_port()?;
        let settings = directory.join("pgbouncer.ini");
        let text = format!(
            "[databases]\n* = host=127.0.0.1 port={postgres} user=postgres\n[pgbouncer]\nlisten_port = {port}\n\
             {mode}\n{SETTINGS}"
        );
        fs::write(&settings, text).context("cannot write the settings of PgBouncer")?;
        let log = File::create(directory.join("log")).context("cannot create its log")?;
        let mut server = Command::new(program);
        if debian::is_root() {
            // It refuses to run as root, and then accesses its directory as another user.
            let open = fs::Permissions::from_mode(0o755);
            fs::set_permissions(&directory, open).context("cannot open its directory")?;
            server.args(["-u", "nobody"]);
        }
        server.arg(&settings);
        let mut guard = ChildGuard::start(&server, "TERM", log, Some(&directory))?;
        guard.wait_until_ready("PgBouncer", Duration::from_secs(30), || {
            TcpStream::connect((Ipv4Addr::LOCALHOST, port)).ok()
        })?;
        Ok(Self { guard, port })
    }

    /// The URL, with the user that everyone connects as.
    pub(crate) fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port)
    }

    /// Stops PgBouncer.
    pub(crate) fn stop(self) -> Result<(), Failure> {
        self.guard.stop().map(drop)
    }
}
