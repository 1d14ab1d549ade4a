//! `cargo xtask scale`: the tests on Postgres behind PgBouncer, and on Citus.

mod across;

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::{Context, Failure};
use crate::pgbouncer::{KEEPING_STATEMENTS, LOSING_STATEMENTS, OF_SESSIONS, PgBouncer};
use crate::test::Servers;
use crate::{process, project};

pub(crate) const ABOUT: &str = "\
Run the tests on Postgres behind PgBouncer, and on Citus (nightly).

--pgbouncer    through PgBouncer in transaction mode (PR-51)
--citus        with every table distributed (PR-57) on a single-server Citus, which rejects what no statement may do on several
--cluster      on a Citus of three or more servers: one dies, one is added, Apps are moved, a live database is distributed
--servers DIR  the directory with `build` and the sources of both (default ../shared/servers)
--no-install   do not install anything with apt-get
FILTER         run only tests whose name contains it (default: postgres)

Both programs are built once, into target/servers.";

/// The default filter of a lane.
const ALL: &str = "postgres";

/// The filter for tests that create their own clusters.
const CLUSTER: &str = "spread::";

/// Set for tests whose databases are single-server clusters, and for those that create clusters.
const SPREAD: &str = "VESTRY_TEST_POSTGRES_SPREAD";
const OF_CLUSTERS: &str = "VESTRY_TEST_CITUS";

/// Tests that cannot pass on Citus, and why.
const NOT_ON_CITUS: [(&str, &str); 5] = [
    (
        "s8_an_altered_log_is_found",
        "the test itself copies the log from App to App, which no statement can do there",
    ),
    (
        "aud_3_logs_that_were_set_back_are_found",
        "the test itself keeps copies of the log beside it, which makes a half-distributed database",
    ),
    (
        "aud_5_what_the_log_cannot_take_is_refused",
        "the test itself puts triggers on tables, which no distributed one may have",
    ),
    (
        "grown_tables_are_analysed_within_seconds",
        "the tables that grow are the shards, which the servers that have them read by themselves",
    ),
    (
        "tables_without_growth_counters_are_analysed_within_seconds",
        "the tables that are large are the shards",
    ),
];

/// Settings of a Citus node. Few shards, because every test has its own database.
const CITUS: &[&str] = &[
    "shared_preload_libraries=citus,pg_stat_statements",
    "pg_stat_statements.max=100000",
    "citus.stat_statements_track=all",
    "max_prepared_transactions=400",
    "citus.shard_count=4",
    "citus.log_distributed_deadlock_detection=on",
];

/// The parsed command line.
struct Request {
    pgbouncer: bool,
    citus: bool,
    cluster: bool,
    /// The directory of the sources.
    servers: PathBuf,
    install: bool,
    filters: Vec<String>,
}

pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let request = parse(arguments)?;
    if request.pgbouncer {
        through_pgbouncer(&request)?;
    }
    if request.citus {
        on_citus(&request)?;
    }
    if request.cluster {
        on_cluster(&request)?;
    }
    Ok(())
}

fn parse(arguments: &[String]) -> Result<Request, Failure> {
    let mut request = Request {
        pgbouncer: false,
        citus: false,
        cluster: false,
        servers: sources(),
        install: true,
        filters: Vec::new(),
    };
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--pgbouncer" => request.pgbouncer = true,
            "--citus" => request.citus = true,
            "--cluster" => request.cluster = true,
            "--no-install" => request.install = false,
            "--servers" => {
                let directory = rest.next().map(PathBuf::from);
                request.servers = directory
                    .ok_or_else(|| Failure::Usage("`--servers` needs a directory.".to_owned()))?;
            }
            flag if flag.starts_with('-') => {
                return Err(Failure::Usage(format!("`scale` does not know `{flag}`.")));
            }
            filter => request.filters.push(filter.to_owned()),
        }
    }
    if !request.pgbouncer && !request.citus && !request.cluster {
        let message = "`scale` needs --pgbouncer, --citus or --cluster.";
        return Err(Failure::Usage(message.to_owned()));
    }
    Ok(request)
}

/// The default directory of the sources.
pub(crate) fn sources() -> PathBuf {
    project::root().join("../shared/servers")
}

/// Builds a server unless it is built already, and returns its path.
pub(crate) fn build(servers: &Path, which: &str) -> Result<PathBuf, Failure> {
    let script = servers.join("build");
    if !script.is_file() {
        return Err(Failure::new(format!(
            "{} does not exist; pass the directory with the sources of {which} as --servers",
            script.display()
        )));
    }
    eprintln!("xtask: building {which} if needed");
    let into = project::target().join("servers");
    let printed = process::output(Command::new(script).arg(which).arg(into))?;
    let last = printed.lines().last().unwrap_or_default();
    Ok(PathBuf::from(last))
}

fn through_pgbouncer(request: &Request) -> Result<(), Failure> {
    let program = build(&request.servers, "pgbouncer")?;
    let servers = Servers::start(request.install)?;
    let postgres = port(servers.postgres()?)?;
    let modes = [
        ("VESTRY_TEST_POSTGRES_POOLER", KEEPING_STATEMENTS),
        ("VESTRY_TEST_POSTGRES_LOSING_POOLER", LOSING_STATEMENTS),
        ("VESTRY_TEST_POSTGRES_SESSION_POOLER", OF_SESSIONS),
    ];
    let (mut poolers, mut said) = (Vec::new(), Vec::new());
    for (variable, mode) in modes {
        let pooler = PgBouncer::start(&program, postgres, mode)?;
        said.push((variable, pooler.url()));
        poolers.push(pooler);
    }
    let tested = tests(request, &servers, &said);
    poolers.into_iter().try_for_each(PgBouncer::stop)?;
    servers.stop()?;
    tested
}

fn on_citus(request: &Request) -> Result<(), Failure> {
    build(&request.servers, "citus")?;
    let servers = Servers::start_with(request.install, CITUS)?;
    let tested = tests(request, &servers, &[(SPREAD, "yes".to_owned())]);
    let across = tested.and_then(|()| across::look(servers.postgres()?));
    servers.stop()?;
    across
}

/// Runs the tests that create their own servers, skipping none.
fn on_cluster(request: &Request) -> Result<(), Failure> {
    build(&request.servers, "citus")?;
    let servers = Servers::start(request.install)?;
    let tested = tests(request, &servers, &[(OF_CLUSTERS, "yes".to_owned())]);
    servers.stop()?;
    tested
}

/// Runs the selected integration tests with these environment variables.
fn tests(request: &Request, servers: &Servers, said: &[(&str, String)]) -> Result<(), Failure> {
    let is_said = |name| said.iter().any(|(said, _)| *said == name);
    let all = if is_said(OF_CLUSTERS) { CLUSTER } else { ALL };
    let all = [all.to_owned()];
    let filters = match request.filters.as_slice() {
        [] => &all,
        filters => filters,
    };
    let mut command = project::cargo();
    command.args(["test", "--workspace", "--no-fail-fast", "--test", "it"]);
    command.arg(project::LIGHT);
    servers.tell(&mut command);
    command.envs(said.iter().map(|(name, value)| (name, value)));
    command.arg("--").args(filters);
    if is_said(SPREAD) {
        for (test, why) in NOT_ON_CITUS {
            println!("skipped on Citus: {test}: {why}");
            command.args(["--skip", test]);
        }
    }
    process::run(&mut command)
}

fn port(url: &str) -> Result<u16, Failure> {
    let (_, port) = url.rsplit_once(':').unwrap_or_default();
    let digits = port.split('/').next().unwrap_or_default();
    digits.parse().context("a URL without a port")
}
