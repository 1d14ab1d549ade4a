//! `bench --search`: the latency of user searches with few users and with many.
//!
//! Each store is filled twice, directly in its tables. Then every filter is requested over HTTP, one request at a time, and the 99th
//! percentiles are compared.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use xtask_harness::database;
use xtask_harness::failure::{Context, Failure};
use xtask_harness::installation::{Installation, StoreKind, cluster};
use xtask_harness::postgres::Cluster;

use crate::http::Connection;
use crate::paired_stats::{milliseconds, percentile};
use crate::{Options, ksuid};

/// The small number of users.
const FEW: usize = 10_000;
/// The number of requests for each filter.
const ROUNDS: usize = 300;
/// The minimum number, even if they take longer than [`MAX_TIME`].
const LEAST: usize = 40;
const MAX_TIME: Duration = Duration::from_secs(10);
/// The number of users that match the metadata filter.
const MARKED: usize = 20;
/// The creation time of the first user. A million users, one in each minute, end in 2025.
const BEGINNING: u64 = 1_700_000_000;
const EVERY: u64 = 60;

/// Measures the stores and prints one table.
pub(crate) fn run(options: &Options, many: u32) -> Result<(), Failure> {
    let many = usize::try_from(many).context("too many users")?;
    println!(
        "| store | filter | {FEW} users: p50 ms | p99 ms | {many} users: p50 ms | p99 ms | ratio of p99 |"
    );
    println!("|---|---|---:|---:|---:|---:|---:|");
    for kind in &options.stores {
        let few = measure(*kind, options, FEW)?;
        let large = measure(*kind, options, many)?;
        for (small, large) in few.iter().zip(&large) {
            println!(
                "| {} | {} | {:.2} | {:.2} | {:.2} | {:.2} | {:.2} |",
                kind.name(),
                small.name,
                small.p50,
                small.p99,
                large.p50,
                large.p99,
                large.p99 / small.p99
            );
        }
    }
    Ok(())
}

/// The latency of a filter in milliseconds.
struct Measured {
    name: &'static str,
    p50: f64,
    p99: f64,
}

fn measure(kind: StoreKind, options: &Options, users: usize) -> Result<Vec<Measured>, Failure> {
    eprintln!("xtask: {} with {users} users", kind.name());
    let cluster = cluster(kind, options.install)?;
    let url = cluster.as_ref().map(Cluster::url);
    let installation = Installation::new(&options.programs(), url)?;
    let app = installation.set_up()?;
    let server = installation.serve(0)?;
    let seed = Seed { users };
    seed.fill(kind, &installation, &app.id)?;
    let mut connection = Connection::open(&server.base_url, &app.key)?;
    seed.mark(&mut connection)?;
    let mut all = Vec::new();
    for (name, question) in QUESTIONS {
        let mut times = Vec::new();
        let all_begun = Instant::now();
        for round in 0..ROUNDS + 10 {
            // A filter that reads every user is known to be slow after a few requests.
            if times.len() >= LEAST && all_begun.elapsed() > MAX_TIME {
                break;
            }
            // Spread over all users, old and new.
            let number = round.wrapping_mul(7919) % users;
            let body = question(&seed, number);
            let begun = Instant::now();
            let answer = connection.send("POST", "/v1/auth/users/search", &body)?;
            times.push(milliseconds(begun.elapsed()));
            if answer.get("total_count").is_none_or(|count| count == 0) {
                return Err(Failure::new(format!("{name} found no user: {body}")));
            }
        }
        // The first requests open connections and prepare statements.
        let times = times.split_off(10);
        let measured = Measured {
            name,
            p50: percentile(&times, 50),
            p99: percentile(&times, 99),
        };
        eprintln!(
            "{name}: p50 {:.2} ms, p99 {:.2} ms",
            measured.p50, measured.p99
        );
        all.push(measured);
    }
    drop(connection);
    server.stop()?;
    Ok(all)
}

type Question = (&'static str, fn(&Seed, usize) -> Value);

/// The searches; the given user must be found.
const QUESTIONS: [Question; 15] = [
    ("no filter, first page", |_, _| json!({})),
    ("no filter, later page", |seed, number| {
        let after = seed.user(number.max(60));
        json!({ "starting_after": after })
    }),
    ("status", |_, _| one("status", "eq", json!("pending"))),
    ("user_id", |seed, number| {
        one("user_id", "eq", json!(seed.user(number)))
    }),
    ("email", |_, number| {
        one("email", "eq", json!(address(number)))
    }),
    ("email_id", |seed, number| {
        one("email_id", "eq", json!(seed.email(number)))
    }),
    ("phone_number", |_, number| {
        one("phone_number", "eq", json!(phone(number)))
    }),
    ("phone_number_id", |seed, number| {
        one("phone_number_id", "eq", json!(seed.phone(number)))
    }),
    ("created_at, twenty minutes", |_, number| {
        let from = created_at(number);
        let mut field = condition("created_at", "between", json!(from));
        if let Some(field) = field.as_object_mut() {
            field.insert("second_value".to_owned(), json!(from + 20 * EVERY));
        }
        json!({ "filters": { "operator": "AND", "fields": [field] } })
    }),
    ("metadata", |_, _| one("metadata.mark", "eq", json!("here"))),
    ("email OR phone_number", |_, number| {
        let fields = [
            condition("email", "eq", json!(address(number))),
            condition("phone_number", "eq", json!(phone(number))),
        ];
        json!({ "filters": { "operator": "OR", "fields": fields } })
    }),
    ("(count grows) email_verified", |_, _| {
        one("email_verified", "eq", json!(true))
    }),
    ("(count grows) created_at, all", |_, _| {
        one("created_at", "gt", json!(BEGINNING - 1))
    }),
    ("(not indexed) full_name_match", |_, number| {
        one("full_name_match", "eq", json!(format!("LAST{number}")))
    }),
    ("(not indexed) email_match", |_, number| {
        one("email_match", "eq", json!(format!("user{number}@")))
    }),
];

fn one(field: &str, operator: &str, value: Value) -> Value {
    let field = condition(field, operator, value);
    json!({ "filters": { "operator": "AND", "fields": [field] } })
}

fn condition(field: &str, operator: &str, value: Value) -> Value {
    json!({ "field": field, "operator": operator, "value": value })
}

fn created_at(number: usize) -> u64 {
    BEGINNING + EVERY * u64::try_from(number).unwrap_or(0)
}

fn address(number: usize) -> String {
    format!("user{number}@example.com")
}

/// A well-formed number; the service checks the numbering plan only for search values, not for stored ones.
fn phone(number: usize) -> String {
    format!("+4917{:09}", number)
}

/// Users with an e-mail address, a phone number and a metadata key each, and no wallet.
struct Seed {
    users: usize,
}

impl Seed {
    fn user(&self, number: usize) -> String {
        format!("user_{}", ksuid::text(created_at(number), number))
    }

    fn email(&self, number: usize) -> String {
        format!("email_{}", ksuid::text(created_at(number), number))
    }

    fn phone(&self, number: usize) -> String {
        format!("pn_{}", ksuid::text(created_at(number), number))
    }

    fn fill(&self, kind: StoreKind, installation: &Installation, app: &str) -> Result<(), Failure> {
        let rows = installation.file("seed.csv");
        let mut text = String::new();
        for number in 0..self.users {
            let line = format!(
                "{number},{},{},{},{},{},{}",
                self.user(number),
                self.email(number),
                self.phone(number),
                created_at(number),
                address(number),
                phone(number),
            );
            writeln!(text, "{line}").context("cannot write to a string")?;
        }
        fs::write(&rows, text).context("cannot write the seed")?;
        database::run_script(&installation.database_url, &sql(kind, app, &rows))
    }

    /// Marks some users for the metadata filter. It uses the API, because the service hashes the values.
    fn mark(&self, connection: &mut Connection) -> Result<(), Failure> {
        for number in 0..MARKED {
            let user = self.user(number * (self.users / MARKED));
            let body = json!({ "metadata": { "mark": "here" } });
            connection.send("PUT", &format!("/v1/auth/users/{user}/update"), &body)?;
        }
        Ok(())
    }
}

/// The statements that fill the tables.
fn sql(kind: StoreKind, app: &str, rows: &Path) -> String {
    let rows = rows.display();
    // SQLite uses the statistics that the migration wrote.
    let (read, digest, analyze) = match kind {
        StoreKind::Postgres => (
            format!("\\copy seed FROM '{rows}' CSV\nBEGIN;"),
            "sha256(convert_to(user_id, 'UTF8'))",
            "ANALYZE;",
        ),
        StoreKind::Sqlite => (
            format!(".mode csv\n.import {rows} seed\nBEGIN;"),
            "randomblob(32)",
            "",
        ),
    };
    format!(
        "\
CREATE TABLE seed (n BIGINT, user_id TEXT, email_id TEXT, pn_id TEXT, at BIGINT, address TEXT, number TEXT);
{read}
INSERT INTO users (app_id, environment, id, first_name, middle_name, last_name, status, metadata, created_at, updated_at, folded_name,
        is_owned)
    SELECT '{app}', 'test', user_id, 'First', '', 'Last' || n, CASE WHEN n % 5 = 0 THEN 'pending' ELSE 'active' END,
        '{{}}', at, at, 'first last' || n, n % 2 = 0 FROM seed;
INSERT INTO user_emails (app_id, environment, id, user_id, address, identity, verified, created_at, updated_at, of_owned, folded)
    SELECT '{app}', 'test', email_id, user_id, address, address, n % 2 = 0, at, at, n % 2 = 0, address FROM seed;
INSERT INTO user_phones (app_id, environment, id, user_id, number, verified, created_at, updated_at, of_owned)
    SELECT '{app}', 'test', pn_id, user_id, number, n % 2 = 0, at, at, n % 2 = 0 FROM seed;
INSERT INTO user_metadata (app_id, environment, user_id, digest)
    SELECT '{app}', 'test', user_id, {digest} FROM seed;
INSERT INTO user_counts (app_id, environment, status, shard, users)
    SELECT app_id, environment, status, 0, count(*) FROM users WHERE app_id = '{app}' GROUP BY app_id, environment, status;
COMMIT;
DROP TABLE seed;
{analyze}
"
    )
}
