//! `bench --search`: whether searching users stays flat while their number grows.
//!
//! Each store is filled twice, with few users and with many, past the service and straight into its tables; then every filter is
//! asked over HTTP, one request after the other, and the 99th percentiles are compared.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::Options;
use super::http::Connection;
use super::ksuid;
use super::seeded::run_script;
use super::service::Stage;
use crate::failure::{Context, Failure};
use crate::site::Kind;

/// With how many users the large number is compared.
const FEW: usize = 10_000;
/// How often each question is asked.
const ROUNDS: usize = 300;
/// How often it is asked even if it takes longer than [`MAX_TIME`] by then.
const LEAST: usize = 40;
const MAX_TIME: Duration = Duration::from_secs(10);
/// How many users have what the metadata filter asks for.
const MARKED: usize = 20;
/// A user a minute, from here on; a million of them end in 2025.
const BEGINNING: u64 = 1_700_000_000;
const EVERY: u64 = 60;

/// Measures the stores and prints one table.
pub(super) fn run(options: &Options, many: usize) -> Result<(), Failure> {
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

/// How long one question took, in milliseconds.
struct Measured {
    name: &'static str,
    p50: f64,
    p99: f64,
}

fn measure(kind: Kind, options: &Options, users: usize) -> Result<Vec<Measured>, Failure> {
    eprintln!("xtask: {} with {users} users", kind.name());
    let stage = Stage::set(kind, options)?;
    let seed = Seed { users };
    seed.fill(kind, &stage)?;
    let mut connection = Connection::open(&stage.base_url, &stage.key)?;
    seed.mark(&mut connection)?;
    let mut all = Vec::new();
    for (name, question) in QUESTIONS {
        let mut times = Vec::new();
        let all_begun = Instant::now();
        for round in 0..ROUNDS + 10 {
            // What reads every user is known to be slow well before it was asked so often.
            if times.len() >= LEAST && all_begun.elapsed() > MAX_TIME {
                break;
            }
            // Spread over all users, old and new.
            let number = round.wrapping_mul(7919) % users;
            let body = question(&seed, number);
            let begun = Instant::now();
            let answer = connection.send("POST", "/v1/auth/users/search", &body)?;
            times.push(begun.elapsed());
            if answer.get("total_count").is_none_or(|count| count == 0) {
                return Err(Failure::new(format!("{name} found no user: {body}")));
            }
        }
        // The first ones open connections and prepare statements.
        let mut times = times.split_off(10);
        times.sort_unstable();
        let measured = Measured {
            name,
            p50: at(&times, 50),
            p99: at(&times, 99),
        };
        eprintln!(
            "{name}: p50 {:.2} ms, p99 {:.2} ms",
            measured.p50, measured.p99
        );
        all.push(measured);
    }
    drop(connection);
    stage.strike()?;
    Ok(all)
}

/// The percentile of sorted times, in milliseconds.
fn at(times: &[Duration], percent: usize) -> f64 {
    let place = (times.len() * percent / 100).min(times.len().saturating_sub(1));
    let time = times.get(place).copied().unwrap_or_default();
    time.as_secs_f64() * 1_000.0
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

/// So many users, each with an address, a number and a key of metadata, and no wallet.
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

    fn fill(&self, kind: Kind, stage: &Stage) -> Result<(), Failure> {
        let rows = stage.directory.join("seed.csv");
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
        let script = stage.directory.join("seed.sql");
        fs::write(&script, sql(kind, &stage.app_id, &rows)).context("cannot write the seed")?;
        run_script(kind, &stage.database_url, &script)
    }

    /// Some users get what the metadata filter asks for, through the service, which knows how that is stored.
    fn mark(&self, connection: &mut Connection) -> Result<(), Failure> {
        for number in 0..MARKED {
            let user = self.user(number * (self.users / MARKED));
            let body = json!({ "metadata": { "mark": "here" } });
            connection.send("PUT", &format!("/v1/auth/users/{user}/update"), &body)?;
        }
        Ok(())
    }
}

/// The statements that fill the tables. What differs is how a file is read and where a random digest comes from.
fn sql(kind: Kind, app: &str, rows: &Path) -> String {
    let rows = rows.display();
    // SQLite goes by what it was told when the tables were made.
    let (read, digest, analyze) = match kind {
        Kind::Postgres => (
            format!("\\copy seed FROM '{rows}' CSV\nBEGIN;"),
            "sha256(convert_to(user_id, 'UTF8'))",
            "ANALYZE;",
        ),
        Kind::Sqlite => (
            format!(".timeout 10000\n.mode csv\n.import {rows} seed\nBEGIN;"),
            "randomblob(32)",
            "",
        ),
    };
    format!(
        "\
CREATE TABLE seed (n BIGINT, user_id TEXT, email_id TEXT, pn_id TEXT, at BIGINT, address TEXT, number TEXT);
{read}
INSERT INTO users (app_id, environment, id, first_name, middle_name, last_name, status, metadata, created_at, updated_at, folded_name,
        founded)
    SELECT '{app}', 'test', user_id, 'First', '', 'Last' || n, CASE WHEN n % 5 = 0 THEN 'pending' ELSE 'active' END,
        '{{}}', at, at, 'first last' || n, n % 2 = 0 FROM seed;
INSERT INTO user_emails (app_id, environment, id, user_id, address, identity, verified, created_at, updated_at, of_founded, folded)
    SELECT '{app}', 'test', email_id, user_id, address, address, n % 2 = 0, at, at, n % 2 = 0, address FROM seed;
INSERT INTO user_phones (app_id, environment, id, user_id, number, verified, created_at, updated_at, of_founded)
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
