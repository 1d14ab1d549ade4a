//! `bench --plans`: how Postgres carries out each statement where there are many of everything (PR-58).
//!
//! Plans depend on how large tables are and on what the database knows of them. So every call and command is made where an App has
//! 100,000 users and tens of thousands of everything else, and the server itself says of each statement which plan it took and how many
//! rows it went through. Then the same where statistics were lost, once the service has had them made: as long as there are none, plans
//! cannot be good, since every index begins with App and environment and looks the same to a planner that knows nothing of either.

mod calls;
mod log;
mod many;
mod rules;

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;
use std::time::Duration;

use super::seeded::{Copy, Seeded};
use super::{Options, baseline};
use crate::failure::{Context, Failure};
use crate::postgres::Cluster;
use crate::site::Kind;
use crate::{process, wait};
use log::Statement;

/// Makes the server explain each statement of new connections.
const EXPLAIN: &str = "
    ALTER DATABASE postgres SET session_preload_libraries = 'auto_explain';
    ALTER DATABASE postgres SET auto_explain.log_min_duration = 0;
    ALTER DATABASE postgres SET auto_explain.log_analyze = on;
    ALTER DATABASE postgres SET auto_explain.log_timing = off;
    ALTER DATABASE postgres SET auto_explain.log_buffers = on;
    ALTER DATABASE postgres SET auto_explain.log_format = 'json';
";

/// Statistics stay as they are made here.
const BY_HAND: &str = "ALTER SYSTEM SET autovacuum = off; SELECT pg_reload_conf();";

/// As after `pg_upgrade`: nothing is known, and nothing was counted.
const FORGET: &str = "
    DELETE FROM pg_statistic;
    UPDATE pg_class SET reltuples = -1, relpages = 0, relallvisible = 0
        WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'i');
    SELECT pg_stat_reset();
";

/// Large tables of which nothing is known.
const UNKNOWN: &str = "
    SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND reltuples < 0
        AND pg_relation_size(oid) > 1000000
";

/// How long the service may take to have them read.
const PATIENCE: Duration = Duration::from_secs(30);

/// Runs both times and fails where a plan breaks a rule.
pub(super) fn run(options: &Options, users: u32) -> Result<(), Failure> {
    let programs = options.programs();
    let seeded = Seeded::find_or_make(Kind::Postgres, users, &programs, options.install)?;
    let mut broken = 0;
    for (name, has_statistics) in [("with statistics", true), ("after they were lost", false)] {
        let mut copy = seeded.copy(Kind::Postgres, &programs)?;
        let site = &mut copy.site;
        site.set("VESTRY_OUTBOUND__ALLOWED_NETWORKS", "127.0.0.0/8");
        let statements = explained(options, &copy, has_statistics)?;
        broken += report(name, &statements);
    }
    match broken {
        0 => Ok(()),
        _ => Err(Failure::new(format!("{broken} statements break a rule"))),
    }
}

/// Every statement of every call and command, with how it was carried out.
fn explained(
    options: &Options,
    copy: &Copy,
    has_statistics: bool,
) -> Result<Vec<Statement>, Failure> {
    let cluster = copy.cluster.as_ref();
    let cluster = cluster.ok_or_else(|| Failure::new("there is no Postgres"))?;
    sql(cluster, BY_HAND)?;
    let programs = options.programs();
    let baseline = baseline::start(&programs, cluster.url())?;
    let caller = calls::Caller {
        copy,
        baseline: &baseline.url,
        programs: &programs,
    };
    let template = caller.fill_another_app()?;
    sql(cluster, &many::script(cluster, &template, &caller.app()?)?)?;
    many::require(cluster)?;
    sql(cluster, "ANALYZE")?;
    let sizes = many::sizes(cluster)?;
    if !has_statistics {
        sql(cluster, FORGET)?;
        let server = copy.site.serve(0)?;
        wait::until("statistics", PATIENCE, || {
            Ok(ask(cluster, UNKNOWN)?.is_empty().then_some(()))
        })?;
        server.stop()?;
    }
    let before = cluster.log()?.len();
    sql(cluster, EXPLAIN)?;
    caller.make_all()?;
    baseline.keeper.stop()?;
    let log = cluster.log()?;
    let said = log.get(before..).unwrap_or_default();
    log::statements(said, &sizes)
}

/// Prints what breaks a rule, and says how much that is.
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

/// Has the superuser run a script.
fn sql(cluster: &Cluster, script: &str) -> Result<(), Failure> {
    let directory = crate::temporary::directory("plans")?;
    let file = directory.join("script.sql");
    fs::write(&file, script).context("cannot write a script")?;
    let mut psql = Command::new("psql");
    psql.args(["-q", "-v", "ON_ERROR_STOP=1", "-o", "/dev/null", "-f"])
        .arg(&file)
        .arg(cluster.url());
    let done = process::run_quietly(&mut psql);
    fs::remove_dir_all(&directory).context("cannot remove a script")?;
    done
}

/// What a question answers: a line for each row, fields between tabs.
fn ask(cluster: &Cluster, question: &str) -> Result<Vec<Vec<String>>, Failure> {
    let mut psql = Command::new("psql");
    psql.args(["-tA", "-F", "\t", "-c", question])
        .arg(cluster.url());
    let printed = process::output(&mut psql)?;
    let lines = printed.lines().filter(|line| !line.is_empty());
    Ok(lines
        .map(|line| line.split('\t').map(str::to_owned).collect())
        .collect())
}
