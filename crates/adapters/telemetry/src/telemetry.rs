//! All families, and the port that fills them.

use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::{encode_eof, encode_registry};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use vestry_domain::Timestamp;
use vestry_domain::envelope::KeyPurpose;
use vestry_domain::message::{Channel, JobEnd};
use vestry_domain::metric::{
    AttemptMethod, AttemptResult, AuditLogName, PoolName, SignResult, StatusClass, TamperKind,
    TransactionKind, TransactionOutcome, WebhookResult, WorkClass,
};
use vestry_domain::wallet::WalletType;
use vestry_ports::meter::{self, Counted, Meter, Timed};

use crate::families::{
    Counter, Counters, Gauge, Gauges, Histograms, Labels, counters, durations, gauges, histograms,
};
use crate::process::{Dropped, DroppedLines, Process};

/// The build that runs.
#[derive(Debug, Clone, Copy)]
pub struct Build {
    /// The version.
    pub version: &'static str,
    /// The commit, or `unknown`.
    pub commit: &'static str,
}

/// The labels of a request.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Requested {
    route: String,
    status: &'static str,
}

/// The metrics of this process.
pub struct Telemetry {
    registry: Registry,
    requests: Family<Requested, Counter>,
    request_seconds: Histograms<1>,
    refusals: Counters<1>,
    sign_ins: Counters<2>,
    transactions: Histograms<2>,
    pool_waits: Histograms<1>,
    pool_connections: Gauges<2>,
    outbox_ended: Counters<2>,
    outbox_waiting: Gauges<1>,
    outbox_oldest: Gauges<1>,
    outbox_breaker: Gauges<1>,
    webhook_attempts: Counters<1>,
    webhook_lag: Gauges<0>,
    events_unsequenced: Gauges<0>,
    limiter_decisions: Counters<2>,
    limiter_alone: Gauges<0>,
    password_waits: Histogram,
    password_refused: Counter,
    signatures: Counters<2>,
    sign_seconds: Histograms<1>,
    audit_failures: Counters<1>,
    tamper_alarms: Counters<1>,
    checkpoint_age: Gauges<0>,
    vault_up: Gauges<1>,
    vault_seconds: Histograms<1>,
    jobs: Gauges<1>,
    ready: Gauges<0>,
    certificate: Gauges<0>,
    backup: Gauges<0>,
    journal_waiting: Gauges<0>,
}

impl Telemetry {
    /// Metrics of a process that started at this time.
    pub fn new(build: Build, started: Timestamp, dropped: DroppedLines) -> Self {
        let mut registry = Registry::default();
        registry.register_collector(Box::new(Process::started(started)));
        registry.register_collector(Box::new(Dropped(dropped)));
        let of_vestry = registry.sub_registry_with_prefix("vestry");
        let info = gauges(of_vestry, ("build_info", "The version, always 1"));
        let built = [("version", build.version), ("commit", build.commit)];
        info.get_or_create(&built).set(1.0);
        let requests = Family::<Requested, Counter>::default();
        let help = "Responses by route and status";
        of_vestry.register("http_requests", help, requests.clone());
        let (password_waits, password_refused) = (durations(), Counter::default());
        let help = "Time that a password waited for a thread";
        of_vestry.register("password_wait_seconds", help, password_waits.clone());
        let help = "Passwords not hashed, because too many were waiting";
        of_vestry.register("password_refused", help, password_refused.clone());
        let request_seconds = ("http_request_seconds", "Time of a request by class of work");
        let transactions = ("db_transaction_seconds", "Time of a database transaction");
        let pool_waits = (
            "db_pool_wait_seconds",
            "Time that a database connection was waited for",
        );
        Self {
            requests,
            password_waits,
            password_refused,
            request_seconds: histograms(
                of_vestry,
                request_seconds,
                list("class", WorkClass::ALL, WorkClass::as_str),
            ),
            refusals: counters(of_vestry, ("refusals", "Error responses by code"), []),
            sign_ins: counters(
                of_vestry,
                ("sign_in", "Attempts to sign in"),
                pairs(
                    ("method", AttemptMethod::ALL, AttemptMethod::as_str),
                    ("result", AttemptResult::ALL, AttemptResult::as_str),
                ),
            ),
            transactions: histograms(
                of_vestry,
                transactions,
                pairs(
                    ("kind", TransactionKind::ALL, TransactionKind::as_str),
                    (
                        "outcome",
                        &[TransactionOutcome::Ok],
                        TransactionOutcome::as_str,
                    ),
                ),
            ),
            pool_waits: histograms(of_vestry, pool_waits, []),
            pool_connections: gauges(
                of_vestry,
                ("db_pool_connections", "Database connections by state"),
            ),
            outbox_ended: counters(
                of_vestry,
                ("outbox_ended", "Messages that left the outbox"),
                pairs(
                    ("channel", &Channel::ALL, Channel::as_str),
                    ("end", &JobEnd::ALL, JobEnd::as_str),
                ),
            ),
            outbox_waiting: gauges(
                of_vestry,
                ("outbox_waiting", "Messages that are due; stops at 10,000"),
            ),
            outbox_oldest: gauges(
                of_vestry,
                ("outbox_oldest_seconds", "Age of the oldest due message"),
            ),
            outbox_breaker: gauges(
                of_vestry,
                (
                    "outbox_breaker_open",
                    "1 while sending is paused after failures",
                ),
            ),
            webhook_attempts: counters(
                of_vestry,
                ("webhook_attempts", "Attempts to send a webhook"),
                list("outcome", WebhookResult::ALL, WebhookResult::as_str),
            ),
            webhook_lag: gauges(
                of_vestry,
                ("webhook_lag_seconds", "Age of the oldest due webhook"),
            ),
            events_unsequenced: gauges(
                of_vestry,
                (
                    "events_unsequenced_seconds",
                    "For how long events could not be numbered",
                ),
            ),
            limiter_decisions: counters(
                of_vestry,
                ("limiter_decisions", "Decisions of the rate limit"),
                pairs(
                    ("class", WorkClass::ALL, WorkClass::as_str),
                    ("verdict", &[true, false], verdict),
                ),
            ),
            limiter_alone: gauges(
                of_vestry,
                ("limiter_alone", "1 while this process counts alone"),
            ),
            signatures: counters(
                of_vestry,
                ("signatures", "Requests to sign"),
                pairs(
                    ("chain", &WalletType::ALL, WalletType::as_str),
                    ("result", SignResult::ALL, SignResult::as_str),
                ),
            ),
            sign_seconds: histograms(
                of_vestry,
                ("sign_seconds", "Time of signing"),
                list("chain", &WalletType::ALL, WalletType::as_str),
            ),
            audit_failures: counters(
                of_vestry,
                ("audit_failures", "Audit entries that could not be written"),
                list("log", AuditLogName::ALL, AuditLogName::as_str),
            ),
            tamper_alarms: counters(
                of_vestry,
                ("tamper_alarms", "Alarms about altered data"),
                list("kind", TamperKind::ALL, TamperKind::as_str),
            ),
            checkpoint_age: gauges(
                of_vestry,
                (
                    "audit_checkpoint_age_seconds",
                    "Time since a sink had every checkpoint",
                ),
            ),
            vault_up: gauges(of_vestry, ("vault_up", "1 if the root key can be used")),
            vault_seconds: histograms(
                of_vestry,
                ("vault_seconds", "Time of a call to the key provider"),
                KeyPurpose::ALL.map(|purpose| [("purpose", of_purpose(purpose))]),
            ),
            jobs: gauges(
                of_vestry,
                (
                    "job_last_success_timestamp_seconds",
                    "When a background job last succeeded, in Unix seconds",
                ),
            ),
            ready: gauges(of_vestry, ("ready", "1 if the process accepts requests")),
            certificate: gauges(
                of_vestry,
                (
                    "tls_certificate_expiry_timestamp_seconds",
                    "When the certificate expires, in Unix seconds",
                ),
            ),
            backup: gauges(
                of_vestry,
                (
                    "backup_last_success_timestamp_seconds",
                    "When the last recorded backup was completed, in Unix seconds",
                ),
            ),
            journal_waiting: gauges(
                of_vestry,
                ("journal_waiting", "Changes that wait for the journal"),
            ),
            registry,
        }
    }

    /// All metrics in the OpenMetrics text format, version 1.0.0.
    pub fn render(&self) -> String {
        let mut text = String::new();
        // Writing to a text cannot fail.
        let _written = encode_registry(&mut text, &self.registry);
        let _ended = encode_eof(&mut text);
        text
    }
}

impl Meter for Telemetry {
    fn count(&self, what: Counted) {
        let counter = match what {
            Counted::Refusal(code) => self.refusals.get_or_create(&[("code", code)]),
            Counted::SignIn(method, result) => self
                .sign_ins
                .get_or_create(&[("method", method.as_str()), ("result", result.as_str())]),
            Counted::MessageEnded(channel, end) => self
                .outbox_ended
                .get_or_create(&[("channel", channel.as_str()), ("end", end.as_str())]),
            Counted::WebhookAttempt(outcome) => self
                .webhook_attempts
                .get_or_create(&[("outcome", outcome.as_str())]),
            Counted::LimiterDecision { class, admitted } => self
                .limiter_decisions
                .get_or_create(&[("class", class.as_str()), ("verdict", verdict(admitted))]),
            Counted::PasswordRefused => {
                self.password_refused.inc();
                return;
            }
            Counted::Signature(chain, result) => {
                let chain = chain.map_or("unknown", WalletType::as_str);
                self.signatures
                    .get_or_create(&[("chain", chain), ("result", result.as_str())])
            }
            Counted::AuditFailure(log) => {
                self.audit_failures.get_or_create(&[("log", log.as_str())])
            }
            Counted::TamperAlarm(kind) => {
                self.tamper_alarms.get_or_create(&[("kind", kind.as_str())])
            }
        };
        counter.inc();
    }

    fn time(&self, what: Timed, took: Duration) {
        let seconds = took.as_secs_f64();
        let histogram = match what {
            Timed::Transaction(kind, outcome) => self
                .transactions
                .get_or_create(&[("kind", kind.as_str()), ("outcome", outcome.as_str())]),
            Timed::PoolWait(pool) => self.pool_waits.get_or_create(&[("pool", pool.as_str())]),
            Timed::PasswordWait => {
                self.password_waits.observe(seconds);
                return;
            }
            Timed::Sign(chain) => self
                .sign_seconds
                .get_or_create(&[("chain", chain.as_str())]),
            Timed::Vault(purpose) => self
                .vault_seconds
                .get_or_create(&[("purpose", of_purpose(purpose))]),
        };
        histogram.observe(seconds);
    }

    fn set(&self, what: meter::Gauge, value: f64) {
        use meter::Gauge as G;
        let set = |gauge: &Gauge| {
            let _before = gauge.set(value);
        };
        match what {
            G::PoolConnections(pool, state) => {
                let labels = [("pool", PoolName::as_str(pool)), ("state", state.as_str())];
                set(&self.pool_connections.get_or_create(&labels));
            }
            G::OutboxWaiting(channel) => set(&self.outbox_waiting.get_or_create(&of(channel))),
            G::OutboxOldest(channel) => set(&self.outbox_oldest.get_or_create(&of(channel))),
            G::OutboxBreakerOpen(channel) => set(&self.outbox_breaker.get_or_create(&of(channel))),
            G::WebhookLag => set(&self.webhook_lag.get_or_create(&[])),
            G::EventsUnsequenced => set(&self.events_unsequenced.get_or_create(&[])),
            G::LimiterAlone => set(&self.limiter_alone.get_or_create(&[])),
            G::CheckpointAge => set(&self.checkpoint_age.get_or_create(&[])),
            G::VaultUp(purpose) => {
                let labels = [("purpose", of_purpose(purpose))];
                set(&self.vault_up.get_or_create(&labels));
            }
            G::JobSucceeded(job) => set(&self.jobs.get_or_create(&[("job", job.as_str())])),
            G::Ready => set(&self.ready.get_or_create(&[])),
            G::CertificateExpiry => set(&self.certificate.get_or_create(&[])),
            G::BackupSucceeded => set(&self.backup.get_or_create(&[])),
            G::JournalWaiting => set(&self.journal_waiting.get_or_create(&[])),
        }
    }

    fn request(&self, route: &str, class: WorkClass, status: StatusClass, took: Duration) {
        let requested = Requested {
            route: route.to_owned(),
            status: status.as_str(),
        };
        self.requests.get_or_create(&requested).inc();
        let histogram = self
            .request_seconds
            .get_or_create(&[("class", class.as_str())]);
        histogram.observe(took.as_secs_f64());
    }
}

fn of(channel: Channel) -> Labels<1> {
    [("channel", channel.as_str())]
}

const fn verdict(admitted: bool) -> &'static str {
    if admitted { "admitted" } else { "refused" }
}

const fn of_purpose(purpose: KeyPurpose) -> &'static str {
    match purpose {
        KeyPurpose::Wallets => "wallets",
        _ => "sign_in",
    }
}

/// The series of one label.
fn list<T: Copy>(
    name: &'static str,
    all: &[T],
    text: fn(T) -> &'static str,
) -> impl Iterator<Item = Labels<1>> {
    all.iter().map(move |value| [(name, text(*value))])
}

/// A label: its name, its values and their texts.
type Label<'a, T> = (&'static str, &'a [T], fn(T) -> &'static str);

/// The series of two labels.
fn pairs<A: Copy, B: Copy>(first: Label<'_, A>, second: Label<'_, B>) -> Vec<Labels<2>> {
    let (first_name, firsts, first_text) = first;
    let (second_name, seconds, second_text) = second;
    let of_first = |a: &A| {
        let a = *a;
        let pair = move |b: &B| [(first_name, first_text(a)), (second_name, second_text(*b))];
        seconds.iter().map(pair).collect::<Vec<_>>()
    };
    firsts.iter().flat_map(of_first).collect()
}

#[cfg(test)]
mod tests;
