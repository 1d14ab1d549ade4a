//! `cargo xtask scale`: the tests on Postgres behind PgBouncer, and on Citus.

mod across;

use std::path::PathBuf;

use xtask_harness::arguments::Arguments;
use xtask_harness::failure::{Context, Failure};
use xtask_harness::test_servers::TestServers;
use xtask_harness::{process, source_builds};

use crate::pgbouncer::{KEEPING_STATEMENTS, LOSING_STATEMENTS, OF_SESSIONS, PgBouncer};

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
const DISTRIBUTED: &str = "VESTRY_TEST_POSTGRES_SPREAD";
const OF_CLUSTERS: &str = "VESTRY_TEST_CITUS";

/// Tests that cannot pass on Citus, and why.
const NOT_ON_CITUS: [(&str, &str); 6] = [
    (
        "s8_an_altered_log_is_found",
        "the test copies the log from App to App, which no statement can do there",
    ),
    (
        "aud_3_logs_that_were_set_back_are_found",
        "the test stores copies of the log in the same database, which is then partly distributed",
    ),
    (
        "aud_11_a_verification_goes_by_rows_and_checkpoints",
        "the test stores copies of the log in the same database, which is then partly distributed",
    ),
    (
        "aud_5_what_the_log_cannot_take_is_refused",
        "the test creates triggers, which distributed tables cannot have",
    ),
    (
        "grown_tables_are_analysed_within_seconds",
        "the tables that grow are the shards, which their servers analyse",
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
    let mut arguments = Arguments::new("scale", arguments);
    let [pgbouncer, citus, cluster] =
        ["--pgbouncer", "--citus", "--cluster"].map(|flag| arguments.flag(flag));
    if !pgbouncer && !citus && !cluster {
        return Err(arguments.wrong("pass --pgbouncer, --citus or --cluster"));
    }
    let servers = arguments.value("--servers")?.map(PathBuf::from);
    Ok(Request {
        pgbouncer,
        citus,
        cluster,
        servers: servers.unwrap_or_else(source_builds::sources),
        install: arguments.install(),
        filters: arguments.words()?,
    })
}

fn through_pgbouncer(request: &Request) -> Result<(), Failure> {
    let program = source_builds::build(&request.servers, "pgbouncer")?;
    let servers = TestServers::start(request.install)?;
    let postgres = port(servers.postgres()?)?;
    let modes = [
        ("VESTRY_TEST_POSTGRES_POOLER", KEEPING_STATEMENTS),
        ("VESTRY_TEST_POSTGRES_LOSING_POOLER", LOSING_STATEMENTS),
        ("VESTRY_TEST_POSTGRES_SESSION_POOLER", OF_SESSIONS),
    ];
    let (mut poolers, mut variables) = (Vec::new(), Vec::new());
    for (variable, mode) in modes {
        let pooler = PgBouncer::start(&program, postgres, mode)?;
        variables.push((variable, pooler.url()));
        poolers.push(pooler);
    }
    let tested = tests(request, &servers, &variables);
    poolers.into_iter().try_for_each(PgBouncer::stop)?;
    servers.stop()?;
    tested
}

fn on_citus(request: &Request) -> Result<(), Failure> {
    source_builds::build(&request.servers, "citus")?;
    let servers = TestServers::start_with(request.install, CITUS)?;
    let tested = tests(request, &servers, &[(DISTRIBUTED, "yes".to_owned())]);
    let across = tested.and_then(|()| across::check(servers.postgres()?));
    servers.stop()?;
    across
}

/// Runs the tests that create their own servers, skipping none.
fn on_cluster(request: &Request) -> Result<(), Failure> {
    source_builds::build(&request.servers, "citus")?;
    let servers = TestServers::start(request.install)?;
    let tested = tests(request, &servers, &[(OF_CLUSTERS, "yes".to_owned())]);
    servers.stop()?;
    tested
}

/// Runs the selected integration tests with these environment variables.
fn tests(
    request: &Request,
    servers: &TestServers,
    variables: &[(&str, String)],
) -> Result<(), Failure> {
    let is_set = |name| variables.iter().any(|(variable, _)| *variable == name);
    let all = if is_set(OF_CLUSTERS) { CLUSTER } else { ALL };
    let all = [all.to_owned()];
    let filters = match request.filters.as_slice() {
        [] => &all,
        filters => filters,
    };
    let mut command = servers.cargo_test(&["--workspace", "--no-fail-fast", "--test", "it"]);
    command.envs(variables.iter().map(|(name, value)| (name, value)));
    command.arg("--").args(filters);
    if is_set(DISTRIBUTED) {
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
