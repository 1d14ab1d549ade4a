//! `cargo xtask api-fuzz`: responses to unusual requests conform to the API description.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::arguments::Arguments;
use crate::dev_server::{self, Built, DevServer};
use crate::failure::{Context, Failure};
use crate::python::{self, Python};
use crate::{process, project};

pub(crate) const ABOUT: &str = "\
Send the API requests that its description allows, and requests that it forbids.

schemathesis generates thousands of requests from /openapi.json (examples, edge values, random values and call sequences) and
sends them with the test key to a `vestry dev` without a request limit. A finding is a 5xx response, or a status, content
type or body that the description does not allow; any finding fails the command.

--management   send them to /v1/manage instead: with a management key for everything, then with one that may do none of it
               (some minutes each: 600 requests a minute)
--seed N       generate other requests than those of the fixed seed
--no-install   do not install Python with apt-get if missing";

/// The default seed, so that every change is tested with the same requests.
pub(crate) const SEED: u64 = 20_261_121;

/// The number of random requests. Requests with edge values depend on the number of fields.
const RANDOM_REQUESTS: usize = 750;

const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance";

pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let mut arguments = Arguments::new("api-fuzz", arguments);
    let install = arguments.install();
    let seed = arguments.number("--seed")?.map_or(SEED, u64::from);
    let runs: &[Sent] = match arguments.flag("--management") {
        true => &[Sent::Management, Sent::Forbidden],
        false => &[Sent::All],
    };
    arguments.end()?;
    let Some(python) = Python::prepare(install)? else {
        return python::MISSING.announce();
    };
    let binary = dev_server::build(Built::Alone)?;
    runs.iter()
        .try_for_each(|sent| check(&python, &binary, seed, *sent))
}

/// The requests of a run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sent {
    /// To every operation, with an App's test key.
    All,
    /// To the management API, with a key for everything.
    Management,
    /// To the management API, with a key whose only scope is for no call of it.
    Forbidden,
}

/// The scopes of a key for everything, and of one for no call of the management API.
const EVERY_SCOPE: &str = "apps:write,settings:write,keys:write,providers:write,redirect_urls:write,webhooks:write,operators:write,\
    config:write,audit:read,users:read,users:write,sessions:write,wallets:read,wallets:write,events:read";
const NO_SCOPE: &str = "audit:read";

/// Runs schemathesis against a server of its own.
pub(crate) fn check(python: &Python, binary: &Path, seed: u64, sent: Sent) -> Result<(), Failure> {
    let operations = operations(binary)?;
    let directory = project::target().join("interop");
    fs::create_dir_all(&directory).context("cannot create target/interop")?;
    let report = directory.join("api-fuzz.json");
    if report.exists() {
        fs::remove_file(&report).context("cannot remove the last report")?;
    }
    let server = DevServer::start(binary, "api-fuzz")?;
    let key = match sent {
        Sent::All => server.test_key().to_owned(),
        Sent::Management => server.management_key(binary, EVERY_SCOPE)?,
        Sent::Forbidden => server.management_key(binary, NO_SCOPE)?,
    };
    let part: &[&str] = match sent {
        Sent::All => &[],
        // Responses with 429 would hide findings.
        Sent::Management | Sent::Forbidden => &[
            "--include-path-regex",
            "^/v1/manage",
            "--rate-limit",
            "550/m",
        ],
    };
    let outcome = process::run(
        python
            .program("schemathesis")
            // It writes files to its current directory.
            .current_dir(&directory)
            .env("VESTRY_TEST_KEY", key)
            .arg("--config-file")
            .arg(python::scripts().join("schemathesis.toml"))
            .args([
                "--no-color",
                "run",
                &format!("{}/openapi.json", server.base_url()),
            ])
            .args([
                "--phases",
                "examples,coverage,fuzzing,stateful",
                "--checks",
                CHECKS,
            ])
            .args(part)
            .args(["--seed", &seed.to_string()])
            .args([
                "--max-examples",
                &(RANDOM_REQUESTS / operations.max(1)).max(6).to_string(),
            ])
            .args(["--report", "json", "--report-json-path"])
            .arg(&report),
    );
    server.stop()?;
    evaluate(&report, seed, sent)?;
    outcome
}

/// The number of operations of the API, by which the requests are divided.
fn operations(binary: &Path) -> Result<usize, Failure> {
    let document = process::output(Command::new(binary).arg("openapi"))?;
    let document: Value =
        serde_json::from_str(&document).context("cannot parse the output of `vestry openapi`")?;
    let paths = document.get("paths").and_then(Value::as_object);
    Ok(paths
        .into_iter()
        .flatten()
        .filter_map(|(_, path)| path.as_object())
        .map(serde_json::Map::len)
        .sum())
}

/// Prints the result in one line for scripts, and fails a run that proves nothing.
fn evaluate(report: &Path, seed: u64, sent: Sent) -> Result<(), Failure> {
    let text = fs::read_to_string(report).context("schemathesis left no report")?;
    let report: Value =
        serde_json::from_str(&text).context("cannot parse the report of schemathesis")?;
    let number = |pointer: &str| {
        report
            .pointer(pointer)
            .and_then(Value::as_u64)
            .unwrap_or_default()
    };
    let count = |pointer: &str| {
        report
            .pointer(pointer)
            .and_then(Value::as_array)
            .map_or(0, Vec::len)
    };
    println!(
        "api-fuzz: cases={} findings={} errors={} operations={} seed={seed} schemathesis={}",
        number("/test_cases/generated"),
        number("/test_cases/unique_failures"),
        count("/errors"),
        number("/operations/tested"),
        report
            .get("schemathesis_version")
            .and_then(Value::as_str)
            .unwrap_or("?"),
    );
    if count("/errors") > 0
        || number("/operations/tested") == 0
        || number("/operations/errored") > 0
    {
        return Err(Failure::new(
            "api-fuzz: not every operation could be tested",
        ));
    }
    if sent == Sent::Forbidden {
        let accepted = accepted(&report);
        return match accepted {
            0 => Ok(()),
            _ => Err(Failure::new(format!(
                "api-fuzz: {accepted} requests succeeded with a key without their scopes"
            ))),
        };
    }
    // Calls that check a password or a signature return 401 for made-up input. A rejected key shows in all operations.
    let refused = u64::try_from(count("/warnings/missing_auth")).unwrap_or(u64::MAX);
    if refused.saturating_mul(2) > number("/operations/tested") {
        return Err(Failure::new(
            "api-fuzz: the key was rejected, so the requests proved nothing",
        ));
    }
    Ok(())
}

/// How many requests succeeded, over all operations and phases.
fn accepted(report: &Value) -> u64 {
    let rates = report.pointer("/valid_rates").and_then(Value::as_object);
    rates
        .into_iter()
        .flatten()
        .filter_map(|(_, phases)| phases.as_object())
        .flatten()
        .filter_map(|(_, phase)| phase.get("accepted").and_then(Value::as_u64))
        .sum()
}
