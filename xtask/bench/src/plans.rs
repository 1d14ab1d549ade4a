//! `bench --plans`: the query plans of Postgres on large tables (PR-58).
//!
//! Plans depend on the size of tables and their statistics. Every call and command is therefore made for an App with 100,000 users and
//! tens of thousands of everything else. `auto_explain` logs the plan of each statement and the rows it read. Then the same is done
//! after statistics were lost and the service has had them collected again. Without any statistics plans cannot be good, because every
//! index begins with App and environment and looks the same to the planner.

mod calls;
mod log;
mod many;
mod rules;

use std::collections::BTreeMap;
use std::time::Duration;

use xtask_harness::failure::Failure;
use xtask_harness::installation::StoreKind;
use xtask_harness::postgres::Cluster;
use xtask_harness::{database, wait};

use crate::seeded::{Copy, Seeded};
use crate::{Options, baseline};
use log::Statement;

/// Makes Postgres log the plan of each statement of new connections.
const EXPLAIN: &str = "
    ALTER DATABASE postgres SET session_preload_libraries = 'auto_explain';
    ALTER DATABASE postgres SET auto_explain.log_min_duration = 0;
    ALTER DATABASE postgres SET auto_explain.log_analyze = on;
    ALTER DATABASE postgres SET auto_explain.log_timing = off;
    ALTER DATABASE postgres SET auto_explain.log_buffers = on;
    ALTER DATABASE postgres SET auto_explain.log_format = 'json';
";

/// Disables autovacuum, so that statistics do not change during the run.
const BY_HAND: &str = "ALTER SYSTEM SET autovacuum = off; SELECT pg_reload_conf();";

/// Deletes all statistics and counters, as `pg_upgrade` does.
const FORGET: &str = "
    DELETE FROM pg_statistic;
    UPDATE pg_class SET reltuples = -1, relpages = 0, relallvisible = 0
        WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'i');
    SELECT pg_stat_reset();
";

/// Selects large tables without statistics.
const UNKNOWN: &str = "
    SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND reltuples < 0
        AND pg_relation_size(oid) > 1000000
";

/// The time limit for the service to have them analysed.
const PATIENCE: Duration = Duration::from_secs(30);

/// Checks the plans with and without initial statistics, and fails if one breaks a rule.
pub(crate) fn run(options: &Options, users: u32) -> Result<(), Failure> {
    let programs = options.programs();
    let seeded = Seeded::find_or_make(StoreKind::Postgres, users, &programs, options.install)?;
    let mut broken = 0;
    for (name, has_statistics) in [("with statistics", true), ("after they were lost", false)] {
        let mut copy = seeded.copy(StoreKind::Postgres, &programs)?;
        copy.installation
            .set("VESTRY_OUTBOUND__ALLOWED_NETWORKS", "127.0.0.0/8");
        let statements = explained(options, &copy, has_statistics)?;
        broken += report(name, &statements);
    }
    match broken {
        0 => Ok(()),
        _ => Err(Failure::new(format!("{broken} statements break a rule"))),
    }
}

/// Every statement of every call and command, with its plan.
fn explained(
    options: &Options,
    copy: &Copy,
    has_statistics: bool,
) -> Result<Vec<Statement>, Failure> {
    let cluster = copy.cluster.as_ref();
    let cluster = cluster.ok_or_else(|| Failure::new("there is no Postgres"))?;
    sql(cluster, BY_HAND)?;
    let baseline = baseline::start(&options.programs(), cluster.url())?;
    let caller = calls::Caller {
        installation: &copy.installation,
        baseline: &baseline.url,
        options,
    };
    let template = caller.fill_another_app()?;
    sql(cluster, &many::script(cluster, &template, &caller.app()?)?)?;
    many::require(cluster)?;
    sql(cluster, "ANALYZE")?;
    let sizes = many::sizes(cluster)?;
    if !has_statistics {
        sql(cluster, FORGET)?;
        let server = copy.installation.serve(0)?;
        wait::until("statistics", PATIENCE, || {
            Ok(ask(cluster, UNKNOWN)?.is_empty().then_some(()))
        })?;
        server.stop()?;
    }
    let before = cluster.log()?.len();
    sql(cluster, EXPLAIN)?;
    caller.make_all()?;
    baseline.guard.stop()?;
    let log = cluster.log()?;
    let new = log.get(before..).unwrap_or_default();
    log::statements(new, &sizes)
}

/// Prints the statements that break a rule, and returns their number.
fn report(name: &str, statements: &[Statement]) -> usize {
    let mut by_text = BTreeMap::<&str, Vec<&Statement>>::new();
    for statement in statements {
        by_text.entry(&statement.text).or_default().push(statement);
    }
    let (mut broken, mut excused) = (0, 0);
    for (text, statements) in &by_text {
        let findings = statements
            .iter()
            .filter_map(|statement| Some((rules::broken(statement)?, *statement)));
        let Some((finding, worst)) = findings.max_by_key(|(_, statement)| statement.read) else {
            continue;
        };
        if let Some(why) = rules::excuse(text) {
            excused += 1;
            println!("{name}: allowed, {why}: {finding}: {}", shortened(text));
            continue;
        }
        broken += 1;
        println!("{name}: {finding}\n  {text}\n{}", worst.outline);
    }
    println!(
        "{name}: {} statements, {} different ones; {excused} allowed, {broken} break a rule",
        statements.len(),
        by_text.len(),
    );
    broken
}

fn shortened(text: &str) -> String {
    text.chars().take(120).collect()
}

/// Runs a script as the superuser.
fn sql(cluster: &Cluster, script: &str) -> Result<(), Failure> {
    database::run_script(cluster.url(), script)
}

/// The rows of a query, split into fields.
fn ask(cluster: &Cluster, query: &str) -> Result<Vec<Vec<String>>, Failure> {
    let printed = database::query(cluster.url(), query)?;
    let lines = printed.lines().filter(|line| !line.is_empty());
    Ok(lines
        .map(|line| line.split('\t').map(str::to_owned).collect())
        .collect())
}
