//! The client programs of Postgres, and how they connect.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tokio_postgres::config::{Host, TargetSessionAttrs};
use vestry_store_rows::copy::CopyError;
use vestry_store_rows::settings::{PostgresUrl, Tls};

/// The certificates of the machine, on Debian.
const AUTHORITIES: &str = "/etc/ssl/certs/ca-certificates.crt";

/// A client program.
pub(super) struct Program {
    name: &'static str,
    path: PathBuf,
}

impl Program {
    /// Finds the program and checks its version: that of the server, or newer.
    pub(super) fn find(
        name: &'static str,
        work: &'static str,
        server: u32,
    ) -> Result<Self, CopyError> {
        // Debian has the programs of several versions side by side.
        let own = Path::new("/usr/lib/postgresql").join(format!("{server}/bin/{name}"));
        let path = match own.is_file() {
            true => own,
            false => PathBuf::from(name),
        };
        let missing = CopyError::NoProgram {
            program: name,
            server,
        };
        let asked = Command::new(&path)
            .arg("--version")
            .stdin(Stdio::null())
            .output();
        let Ok(answer) = asked else {
            return Err(missing);
        };
        match version(&String::from_utf8_lossy(&answer.stdout)) {
            Some(version) if version < server => Err(CopyError::OldProgram {
                program: name,
                version,
                work,
                server,
            }),
            Some(_) => Ok(Self { name, path }),
            None => Err(missing),
        }
    }

    /// A command that connects as the URL says. No argument contains the password.
    pub(super) fn command(&self, url: &PostgresUrl) -> Command {
        let mut command = Command::new(&self.path);
        // No other variable could redirect its connection, and it gets none of our secrets.
        command.env_clear().stderr(Stdio::piped());
        command.envs(variables(url)).arg("--no-password");
        command
    }

    /// The failure that the program explained.
    pub(super) fn failed(&self, said: &str) -> CopyError {
        let said = said.lines().rfind(|line| !line.trim().is_empty());
        let said = said.unwrap_or("it gave no reason").trim();
        let said = said.strip_prefix(self.name).unwrap_or(said);
        CopyError::Program {
            program: self.name,
            said: said.trim_start_matches([':', ' ']).to_owned(),
        }
    }
}

/// The major version in `pg_dump (PostgreSQL) 17.2`.
fn version(text: &str) -> Option<u32> {
    let (_, version) = text.split_once("(PostgreSQL) ")?;
    let digits = version.split(|character: char| !character.is_ascii_digit());
    digits.into_iter().next()?.parse().ok()
}

/// The variables of libpq with which it connects as our own connections do.
fn variables(url: &PostgresUrl) -> Vec<(&'static str, String)> {
    let config = &url.config;
    let hosts = config.get_hosts().iter().map(|host| match host {
        Host::Tcp(name) => name.clone(),
        Host::Unix(path) => path.display().to_string(),
    });
    let addresses = config.get_hostaddrs().iter().map(ToString::to_string);
    let ports = config.get_ports().iter().map(ToString::to_string);
    let mut variables = Vec::new();
    for (name, values) in [
        ("PGHOST", joined(hosts)),
        ("PGHOSTADDR", joined(addresses)),
        ("PGPORT", joined(ports)),
        ("PGUSER", config.get_user().map(str::to_owned)),
        ("PGDATABASE", config.get_dbname().map(str::to_owned)),
        ("PGOPTIONS", config.get_options().map(str::to_owned)),
        (
            "PGPASSWORD",
            config
                .get_password()
                .map(|password| String::from_utf8_lossy(password).into_owned()),
        ),
    ] {
        variables.extend(values.map(|values| (name, values)));
    }
    if config.get_target_session_attrs() == TargetSessionAttrs::ReadWrite {
        variables.push(("PGTARGETSESSIONATTRS", "read-write".to_owned()));
    }
    let mode = match &url.tls {
        Tls::Off => "disable",
        Tls::Unverified => "require",
        Tls::Verified { roots } => {
            let roots = roots.as_deref().unwrap_or(Path::new(AUTHORITIES));
            variables.push(("PGSSLROOTCERT", roots.display().to_string()));
            "verify-full"
        }
    };
    variables.push(("PGSSLMODE", mode.to_owned()));
    variables
}

fn joined(values: impl Iterator<Item = String>) -> Option<String> {
    let values: Vec<_> = values.collect();
    (!values.is_empty()).then(|| values.join(","))
}
