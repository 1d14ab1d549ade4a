//! Logs, metrics and probes of the real binary.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::{block_in_place, spawn_blocking};
use vestry_contract::words::reveals;
use vestry_domain::Timestamp;
use vestry_domain::envelope::KeyPurpose;
use vestry_domain::message::Channel;
use vestry_domain::metric::{Job, PoolName, PoolState, StatusClass, WorkClass};
use vestry_ports::meter::{Counted, Gauge, Meter, Timed};
use vestry_telemetry::{Build, Telemetry};

use crate::on_both_databases;
use crate::support::client::{Api, http};
use crate::support::flow::{captured_code, new_owner, sign, sign_in};
use crate::support::installation::{Installation, Server, text};
use crate::support::poll::until;
use crate::support::process::{PATIENCE, Process, Stream};

on_both_databases! {
    /// PR-121, PR-13, PR-14, PR-16, PR-17, PR-18, PR-19, PR-21, PR-22, PR-23, PR-24, PR-25, PR-26, PR-27, PR-29, PR-31, PR-32, PR-6
    pr_121_a_journey_is_measured => super::a_journey_is_measured;
}

/// A service with metrics, and a client for them.
pub(crate) async fn measured(installation: &mut Installation) -> (Server, Api) {
    installation.set("telemetry.listen", "127.0.0.1:0");
    let mut process = Process::start(&mut installation.command(&["serve"]));
    let listens = process.logged("metrics and probes").await;
    let ready = process.logged("ready").await;
    let base = |line: &Value| format!("http://{}", text(line, "address"));
    let probes = Api::over(http(&[]), &base(&listens), "none");
    let base_url = base(&ready);
    (Server { process, base_url }, probes)
}

/// The value of a series; 0 if it does not exist yet.
pub(crate) fn value(metrics: &str, series: &str) -> f64 {
    let mut lines = metrics.lines();
    let found = lines.find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
    found.map_or(0.0, |value| value.parse().unwrap())
}

/// The families of which every process has samples, once it has served a journey.
const FAMILIES: &[&str] = &[
    "vestry_http_requests",
    "vestry_http_request_seconds",
    "vestry_refusals",
    "vestry_sign_in",
    "vestry_db_transaction_seconds",
    "vestry_db_pool_connections",
    "vestry_db_pool_wait_seconds",
    "vestry_outbox_ended",
    "vestry_outbox_waiting",
    "vestry_outbox_oldest_seconds",
    "vestry_outbox_breaker_open",
    "vestry_webhook_attempts",
    "vestry_webhook_lag_seconds",
    "vestry_audit_checkpoint_age_seconds",
    "vestry_events_unsequenced_seconds",
    "vestry_limiter_decisions",
    "vestry_limiter_alone",
    "vestry_password_wait_seconds",
    "vestry_password_refused",
    "vestry_signatures",
    "vestry_sign_seconds",
    "vestry_audit_failures",
    "vestry_tamper_alarms",
    "vestry_vault_up",
    "vestry_vault_seconds",
    "vestry_job_last_success_timestamp_seconds",
    "vestry_build_info",
    "vestry_ready",
    "vestry_log_lines_dropped",
    "process_resident_memory_bytes",
];

/// Series that have these values after the journey.
const SERIES: &[(&str, f64)] = &[
    (
        r#"vestry_http_requests_total{route="/v1/auth/sessions/verify",status="2xx"}"#,
        1.0,
    ),
    (
        r#"vestry_http_requests_total{route="/v1/auth/passwords/verify",status="401"}"#,
        1.0,
    ),
    (
        r#"vestry_http_requests_total{route="/v1/wallets/{wallet_id}/sign_message",status="2xx"}"#,
        1.0,
    ),
    (r#"vestry_http_request_seconds_count{class="sign"}"#, 1.0),
    (r#"vestry_refusals_total{code="invalid_credentials"}"#, 1.0),
    (r#"vestry_sign_in_total{method="code",result="ok"}"#, 1.0),
    (
        r#"vestry_sign_in_total{method="password",result="wrong"}"#,
        1.0,
    ),
    (
        r#"vestry_signatures_total{chain="ethereum",result="ok"}"#,
        1.0,
    ),
    (
        r#"vestry_limiter_decisions_total{class="sign",verdict="admitted"}"#,
        1.0,
    ),
    (r#"vestry_vault_up{purpose="wallets"}"#, 1.0),
    ("vestry_ready{}", 1.0),
    (
        r#"vestry_outbox_ended_total{channel="email",end="delivered"}"#,
        1.0,
    ),
];

/// The families without a sample, and the series with another value than after the journey.
fn lacks(metrics: &str) -> Vec<String> {
    let shown: BTreeSet<&str> = metrics
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split(['{', ' ']).next())
        .collect();
    let has = |family: &&&str| {
        let suffixes = ["", "_total", "_count"];
        suffixes
            .iter()
            .any(|suffix| shown.contains(format!("{family}{suffix}").as_str()))
    };
    let missing = FAMILIES.iter().filter(|family| !has(family));
    let mut lacking: Vec<String> = missing.map(|family| (*family).to_owned()).collect();
    for (series, expected) in SERIES {
        let found = value(metrics, series);
        if (found - expected).abs() > f64::EPSILON {
            lacking.push(format!("{series} is {found}, not {expected}"));
        }
    }
    lacking
}

async fn a_journey_is_measured(mut installation: Installation) {
    let keys = block_in_place(|| installation.set_up());
    let (server, probes) = measured(&mut installation).await;
    let api = server.api(&keys.test);
    let owner = new_owner(&api, "ada@example.com").await;
    let signed = sign(&api, &owner, "a planted message").await.ok();
    let session = sign_in(&api, "ada@example.com").await;
    let code = captured_code(&api, "ada@example.com").await;
    let body = json!({ "session_token": session["session_token"] });
    api.post("/v1/auth/sessions/verify", &body).await.ok();
    let wrong = json!({ "user_id": owner.user_id, "password": "a planted password" });
    let refused = api.post("/v1/auth/passwords/verify", &wrong).await;
    assert_eq!(refused.error(401), "invalid_credentials");
    let unknown = api.get("/v1/a-planted-path?token=a-planted-token").await;
    assert_eq!(unknown.error(404), "not_found");

    // Counters of background work and gauges arrive within seconds, and each on its own.
    let (mut metrics, mut lacking) = (String::new(), Vec::new());
    let all = until(async || {
        let answer = probes.get("/metrics").await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        metrics = answer.text;
        lacking = lacks(&metrics);
        lacking.is_empty()
    });
    let arrived = tokio::time::timeout(PATIENCE, all).await;
    assert!(arrived.is_ok(), "{lacking:#?} in:\n{metrics}");
    assert!(
        value(
            &metrics,
            r#"vestry_db_transaction_seconds_count{kind="write",outcome="ok"}"#
        ) >= 3.0
    );
    // No label has an id, an address or a secret (PR-6, PR-32).
    for hidden in [
        keys.app.as_str(),
        &keys.test,
        &keys.live,
        &owner.user_id,
        &owner.wallet_id,
        &owner.address,
        "ada@example.com",
        "planted",
        &code,
        &text(&session, "session_token"),
        &text(&session, "session_jwt"),
        &text(&signed, "signature"),
        &text(&unknown.body, "request_id"),
    ] {
        assert!(!reveals(&metrics, hidden), "{hidden}");
    }
    // The listener has the probes and nothing else, and the API has no metrics.
    assert_eq!(probes.get("/livez").await.ok()["status"], "ok");
    probes.until_ready().await;
    assert_eq!(probes.get("/v1/wallets/list").await.error(404), "not_found");
    assert_eq!(api.get("/metrics").await.error(404), "not_found");
    server.process.stop().await;
}

/// PR-77, PR-121: a worker has probes and metrics too, and ends within its time.
#[tokio::test(flavor = "multi_thread")]
async fn pr_77_a_worker_is_measured() {
    let mut installation = Installation::sqlite();
    installation.set("telemetry.listen", "127.0.0.1:0");
    block_in_place(|| installation.set_up());
    let mut worker = Process::start(&mut installation.command(&["worker"]));
    let listens = worker.logged("metrics and probes").await;
    worker.logged("worker ready").await;
    let probes = Api::over(
        http(&[]),
        &format!("http://{}", text(&listens, "address")),
        "none",
    );
    assert_eq!(probes.get("/livez").await.ok()["status"], "ok");
    let metrics = probes.get("/metrics").await;
    assert!(
        value(&metrics.text, "process_threads") > 1.0,
        "{}",
        metrics.text
    );
    worker.stop().await;
}

/// PR-1, PR-2, PR-5, PR-141: the line of a request, and which requests have one.
#[tokio::test(flavor = "multi_thread")]
async fn pr_5_the_settings_say_which_requests_are_logged() {
    const TRACE: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    for (logged, expected) in [
        ("all", vec![200, 404]),
        ("errors", vec![404]),
        ("off", Vec::new()),
    ] {
        let mut installation = Installation::sqlite();
        installation.set("log.requests", logged);
        let keys = block_in_place(|| installation.set_up());
        let mut server = installation.serve().await;
        let client = http(&[]);
        for path in ["/v1/wallets/list", "/v1/nowhere", "/livez"] {
            let request = client
                .get(format!("{}{path}", server.base_url))
                .bearer_auth(&keys.test)
                .header("x-request-id", "from-outside")
                .header("traceparent", TRACE);
            request.send().await.unwrap();
        }
        server.process.signal(rustix::process::Signal::TERM);
        server.process.ended().await;
        let output = server.process.output_of(Stream::Stderr);
        let lines = output
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap());
        let lines: Vec<_> = lines.filter(|line| line["message"] == "request").collect();
        let statuses: Vec<_> = lines
            .iter()
            .map(|line| line["status"].as_u64().unwrap())
            .collect();
        assert_eq!(statuses, expected, "log.requests={logged}");
        let Some(line) = lines.iter().find(|line| line["status"] == 200) else {
            continue;
        };
        assert_eq!(line["request_id"], "from-outside");
        assert_eq!(line["traceparent"], TRACE);
        assert_eq!(line["app_id"], keys.app);
        assert_eq!(line["environment"], "test");
        assert!(
            line["key_id"].as_str().unwrap().starts_with("key_"),
            "{line}"
        );
        assert_eq!(
            (&line["method"], &line["route"]),
            (&json!("GET"), &json!("/v1/wallets/list"))
        );
        assert!(
            line["bytes_out"].as_u64().unwrap() > 0 && line["code"].is_null(),
            "{line}"
        );
        let line = lines.iter().find(|line| line["status"] == 404).unwrap();
        assert_eq!(
            (&line["code"], &line["route"]),
            (&json!("not_found"), &json!("-"))
        );
    }
}

/// PR-3: errors of the settings.
#[tokio::test(flavor = "multi_thread")]
async fn pr_121_a_chosen_address_must_be_free() {
    let mut installation = Installation::sqlite();
    block_in_place(|| installation.set_up());
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    installation.set("telemetry.listen", &address);
    let refused = block_in_place(|| installation.run(&["serve"]));
    assert_eq!(refused.code, 1);
    let expected =
        format!("another program listens on {address}; stop it, or change telemetry.listen");
    assert!(refused.stderr.contains(&expected), "{}", refused.stderr);
    installation.set("telemetry.listen", "off");
    installation.set("log.requests", "some");
    let refused = block_in_place(|| installation.run(&["serve"]));
    let expected = r#"must be "all", "errors" or "off""#;
    assert!(refused.stderr.contains(expected), "{}", refused.stderr);
}

/// PR-4: while its stderr is not read, the service answers as before, and it loses no line until its queue is full.
#[tokio::test(flavor = "multi_thread")]
async fn pr_4_a_blocked_stderr_delays_no_request() {
    // Lines of about 300 bytes; a pipe has room for 64 KiB.
    const REQUESTS: usize = 1_000;
    let installation = Installation::sqlite();
    let keys = block_in_place(|| installation.set_up());
    let mut command = installation.command(&["serve"]);
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let ready = block_in_place(|| {
        loop {
            let mut line = String::new();
            stderr.read_line(&mut line).unwrap();
            let line: Value = serde_json::from_str(&line).unwrap();
            if line["message"] == "ready" {
                return line;
            }
        }
    });
    let api = Api::over(
        http(&[]),
        &format!("http://{}", text(&ready, "address")),
        &keys.test,
    );
    let unread = async {
        for _ in 0..REQUESTS {
            api.get("/v1/wallets/list").await.ok();
        }
    };
    tokio::time::timeout(PATIENCE, unread).await.unwrap();
    let reading = spawn_blocking(move || {
        let lines = stderr.lines().map(Result::unwrap);
        lines
            .filter(|line| line.contains(r#""message":"request""#))
            .count()
    });
    let id = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    rustix::process::kill_process(id, rustix::process::Signal::TERM).unwrap();
    assert_eq!(reading.await.unwrap(), REQUESTS);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

/// Metrics with a sample of each family.
fn with_every_family() -> String {
    let build = Build {
        version: "1",
        commit: "abc",
    };
    let telemetry = Telemetry::new(build, Timestamp::default(), || [0, 0]);
    let took = Duration::from_millis(1);
    telemetry.request("/", WorkClass::Health, StatusClass::Success, took);
    telemetry.count(Counted::Refusal("sealed"));
    telemetry.time(Timed::PoolWait(PoolName::Main), took);
    for gauge in [
        Gauge::PoolConnections(PoolName::Main, PoolState::Idle),
        Gauge::OutboxWaiting(Channel::Sms),
        Gauge::OutboxOldest(Channel::Sms),
        Gauge::OutboxBreakerOpen(Channel::Sms),
        Gauge::WebhookLag,
        Gauge::EventsUnsequenced,
        Gauge::LimiterAlone,
        Gauge::CheckpointAge,
        Gauge::VaultUp(KeyPurpose::Wallets),
        Gauge::JobSucceeded(Job::Sweep),
        Gauge::Ready,
        Gauge::CertificateExpiry,
        Gauge::BackupSucceeded,
        Gauge::JournalWaiting,
    ] {
        telemetry.set(gauge, 1.0);
    }
    telemetry.render()
}

/// The names of the families in a text of metrics.
fn families(metrics: &str) -> BTreeSet<String> {
    let types = metrics
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE "));
    types
        .map(|line| {
            let (name, kind) = line.split_once(' ').unwrap();
            let suffix = if kind == "counter" { "_total" } else { "" };
            format!("{name}{suffix}")
        })
        .collect()
}

/// The metrics of the product that a text names.
fn named(text: &str) -> BTreeSet<String> {
    let is_name = |word: &&str| {
        let mut prefixes = ["vestry_", "process_"].into_iter();
        prefixes.any(|prefix| word.starts_with(prefix) && word.len() > prefix.len())
    };
    text.split(|character: char| !character.is_ascii_alphanumeric() && character != '_')
        .filter(is_name)
        .map(|word| {
            let word = word.strip_suffix("_bucket").unwrap_or(word);
            // Only histograms have counts here.
            word.strip_suffix("_count").unwrap_or(word).to_owned()
        })
        .collect()
}

/// PR-35, and the list of docs/telemetry.md: the dashboard, the rules and the docs name the metrics that there are. Each family is on the
/// dashboard or in a rule.
#[test]
fn pr_35_every_metric_is_documented_and_used() {
    let known = families(&with_every_family());
    let read = |path: &str| {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        std::fs::read_to_string(root.join(path)).unwrap()
    };
    let documented = named(&read("docs/telemetry.md"));
    assert_eq!(
        documented, known,
        "docs/telemetry.md lists other metrics than there are"
    );
    let dashboard = read("deploy/grafana/vestry.json");
    let dashboard: Value = serde_json::from_str(&dashboard).unwrap();
    let panels = dashboard["panels"].as_array().unwrap().iter();
    let targets = panels
        .filter_map(|panel| panel["targets"].as_array())
        .flatten();
    let expressions = targets.map(|target| text(target, "expr"));
    let rules = read("deploy/prometheus/vestry.rules.yml");
    let rules = rules.lines().filter(|line| !line.trim().starts_with('#'));
    let rules: String = rules.collect::<Vec<_>>().join("\n");
    let used: BTreeSet<String> = expressions
        .chain([rules])
        .flat_map(|expression| named(&expression))
        .collect();
    let unknown: Vec<_> = used.difference(&known).collect();
    assert!(unknown.is_empty(), "unknown metrics: {unknown:?}");
    let unused: Vec<_> = known.difference(&used).collect();
    assert!(unused.is_empty(), "no panel and no rule uses {unused:?}");
}

/// PR-138, PR-36, PR-3: each rule has a section in docs/runbooks.md, each section a rule, and each alarm in the log names one. promtool
/// runs a firing and a silent case of each.
#[test]
fn pr_138_each_rule_has_a_runbook() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let read = |path: &str| std::fs::read_to_string(root.join(path)).unwrap();
    let rules = read("deploy/prometheus/vestry.rules.yml");
    let of = |prefix: &str| -> Vec<String> {
        let lines = rules
            .lines()
            .filter_map(|line| line.trim().strip_prefix(prefix));
        lines.map(str::to_owned).collect()
    };
    let names = of("- alert: ");
    let links: Vec<_> = names
        .iter()
        .map(|name| format!("docs/runbooks.md#{}", name.to_lowercase()))
        .collect();
    assert_eq!(of("runbook_url: "), links);
    let cases = read("deploy/prometheus/vestry.rules.test.yml");
    for name in &names {
        let of_rule = cases.split("alertname: ").filter_map(|case| {
            let rest = case.strip_prefix(name.as_str())?;
            Some(rest.trim_start().starts_with("exp_alerts:"))
        });
        let fires: BTreeSet<bool> = of_rule.collect();
        assert_eq!(fires.len(), 2, "{name} lacks a firing or a silent case");
    }
    let runbooks = read("docs/runbooks.md");
    let headings = runbooks.lines().filter_map(|line| line.strip_prefix("## "));
    assert_eq!(headings.collect::<Vec<_>>(), names);
    let mut alarms = 0;
    let mut directories = vec![root.join("crates")];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.ends_with("tests") {
                directories.push(path);
                continue;
            }
            if path.extension().is_none_or(|extension| extension != "rs") {
                continue;
            }
            let source = std::fs::read_to_string(&path).unwrap();
            for (before, _) in source
                .match_indices("\"ALARM: ")
                .map(|(at, _)| source.split_at(at))
            {
                let call = before.rsplit("tracing::error!(").next().unwrap();
                let rule = call
                    .split("alert = \"")
                    .nth(1)
                    .and_then(|rest| rest.split('"').next());
                let rule =
                    rule.unwrap_or_else(|| panic!("an alarm names no rule in {}", path.display()));
                assert!(
                    names.iter().any(|name| name == rule),
                    "{rule} in {}",
                    path.display()
                );
                alarms += 1;
            }
        }
    }
    assert!(alarms >= 15, "{alarms}");
}
