//! `vestry audit`

mod prune;

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use url::Url;
use vestry_app::audit::{About, AuditFinding, AuditReport, SourcedNote, TrustedKeys};
use vestry_app::{Principal, Service};
use vestry_checkpoint_sinks::{Settings as Reach, notes_at, notes_from};
use vestry_domain::audit::checkpoint::VerifierKey;
use vestry_domain::timestamp::Seconds;
use vestry_domain::{Timestamp, rfc3339};

use super::installation::Installation;
use crate::compose;
use crate::failure::{Context, Failure};
use crate::output::{Output, with};

/// The subcommands of `vestry audit`.
#[derive(Debug, Subcommand)]
pub(crate) enum Audit {
    /// Verify that the audit log is unaltered and complete
    #[command(after_help = "\
Every use of a wallet and every change to an App, its keys or its settings is
recorded in hash chains, under keys that are not in the database. Broken chains are
listed, and the exit code is then 1. The service can keep running.

The rows of the audit and event logs and the signed checkpoints in the database
determine the scope of the check. The table of Apps does not.

With --against, the database is also compared with checkpoints stored elsewhere.
This detects rollbacks, and chains that are missing entirely.")]
    Verify {
        #[command(flatten)]
        against: Against,
    },
    /// Print the public key that verifies checkpoints
    #[command(after_help = "\
Store it separately from the database. The format is name+hash+base64, as accepted
by `vestry audit verify --key` and other verifiers of C2SP signed notes.")]
    Key,
    /// Create a checkpoint, send it to the sinks, and print it
    #[command(after_help = "\
A checkpoint is a signed statement of the last entry of every audit chain. A running
service creates one each minute in which something changed. This one covers all
chains. Print it or mail it to someone: `vestry audit verify --against FILE` then
detects any rollback of the database to an earlier state. A running service also
writes it to its log.")]
    Checkpoint,
    /// Export old audit entries to a file, then delete them
    #[command(after_help = "\
Removes the entries older than DATE from the start of each App's chains. The last
entry of each chain and all entries about key exports are kept. The file contains
one line of JSON per entry; its SHA-256 is recorded in the audit log. Entries are
deleted only after the file is on disk. A signed marker records where each chain
continues, and `vestry audit verify` starts there.

Keep the file for as long as your retention rules require. Do not run two at once;
the service can keep running.")]
    Prune {
        /// Remove entries before this date (2027-01-31, midnight UTC) or time (2027-01-31T18:30:00Z)
        #[arg(long, value_name = "DATE", value_parser = moment)]
        before: Timestamp,
        /// File to write the entries to; must not exist
        #[arg(long, value_name = "FILE")]
        to: PathBuf,
    },
    /// Acknowledge an audit finding
    #[command(after_help = "\
`vestry audit verify` then no longer fails on it: after a failover that lost the
last commits, for example. The finding stays listed as acknowledged, with the
reason. Other findings about the same chain still fail. The reason is recorded in
the audit log.")]
    Acknowledge {
        /// Subject of the finding, as listed: a chain (auditchain_…), a checkpoint number, or APP/ENVIRONMENT for its events
        about: String,
        /// Why it is acceptable, up to 200 bytes
        #[arg(long)]
        reason: String,
        #[command(flatten)]
        against: Against,
    },
}

/// Parses a date, or a time in RFC 3339.
fn moment(text: &str) -> Result<Timestamp, String> {
    let whole = match text.len() {
        10 => rfc3339::parse(&format!("{text}T00:00:00Z")),
        _ => rfc3339::parse(text),
    };
    whole.ok_or_else(|| {
        "must be a date such as 2027-01-31 (midnight UTC), or a time such as 2027-01-31T18:30:00Z".to_owned()
    })
}

/// Checkpoints to compare the database with.
#[derive(Debug, Args)]
pub(crate) struct Against {
    /// Checkpoints: directory, file or URL, also as JSON log lines; can be repeated
    #[arg(long = "against", value_name = "PATH|URL")]
    pub(crate) places: Vec<CheckpointSource>,
    /// Trusted key from `vestry audit key`, instead of the vault's; can be repeated
    #[arg(long = "key", value_name = "KEY", requires = "places")]
    pub(crate) keys: Vec<VerifierKey>,
}

/// The place where checkpoints are stored.
#[derive(Debug, Clone)]
pub(crate) enum CheckpointSource {
    Path(PathBuf),
    Url(Url),
}

impl FromStr for CheckpointSource {
    type Err = url::ParseError;

    fn from_str(text: &str) -> Result<Self, url::ParseError> {
        let is_url = ["http://", "https://"]
            .iter()
            .any(|scheme| text.starts_with(scheme));
        if is_url {
            text.parse().map(Self::Url)
        } else {
            Ok(Self::Path(text.into()))
        }
    }
}

impl Audit {
    pub(super) async fn run(self, installation: &Installation) -> Result<Output, Failure> {
        let service = installation.service().await?;
        let reach = compose::reach_of_anchors(&installation.settings);
        let progress = |looked_at| tracing::info!(looked_at, "audit log entries processed");
        match self {
            Self::Verify { against } => {
                let (notes, keys) = witnesses(against, &reach).await?;
                let report = service.verify_audit_log_against(&notes, &keys, &progress);
                let report = report
                    .await
                    .context("audit verification failed before the end of the log")?;
                Ok(verified(&report))
            }
            Self::Key => {
                named(installation)?;
                let key = service.checkpoint_key().await;
                let key = key.context("checkpoint key is unavailable")?.to_string();
                Ok(Output::new(json!({ "key": key }), key))
            }
            Self::Checkpoint => {
                named(installation)?;
                checkpoint(&service).await
            }
            Self::Prune { before, to } => prune::run(&service, before, &to).await,
            Self::Acknowledge {
                about,
                reason,
                against,
            } => {
                let (notes, keys) = witnesses(against, &reach).await?;
                let found = service.acknowledge_finding(
                    Principal::cli(),
                    &about,
                    &reason,
                    &notes,
                    &keys,
                    &progress,
                );
                let found = found.await?;
                let documents: Vec<_> = found.iter().map(document).collect();
                let lines = found
                    .iter()
                    .map(|finding| format!("Acknowledged: {finding}"));
                Ok(Output::new(
                    json!({ "acknowledged": documents }),
                    lines.collect::<Vec<_>>().join("\n"),
                ))
            }
        }
    }
}

/// Requires the public URL, because checkpoints identify the deployment by it.
fn named(installation: &Installation) -> Result<(), Failure> {
    installation.require_base_url(|| {
        Failure::usage(
            "http.base_url is not set; checkpoints identify the deployment by it. Set it in vestry.toml or VESTRY_HTTP__BASE_URL",
        )
    })
}

async fn witnesses(
    against: Against,
    reach: &Reach,
) -> Result<(Vec<SourcedNote>, TrustedKeys), Failure> {
    let mut notes = Vec::new();
    for source in against.places {
        let found = match source {
            CheckpointSource::Path(path) => {
                notes_at(&path).map_err(|error| Failure::usage(error.to_string()))?
            }
            CheckpointSource::Url(url) => {
                let found = notes_from(&url, reach).await;
                found.context("cannot read the checkpoints")?
            }
        };
        notes.extend(
            found
                .into_iter()
                .map(|(place, note)| SourcedNote { place, note }),
        );
    }
    let keys = if against.keys.is_empty() {
        TrustedKeys::Own
    } else {
        TrustedKeys::These(against.keys)
    };
    Ok((notes, keys))
}

async fn checkpoint(service: &Service) -> Result<Output, Failure> {
    let wait = service.checkpoint_key_ripens_in().await;
    let wait = wait.context("cannot create a checkpoint")?;
    if wait > Seconds(0) {
        eprintln!(
            "vestry: the key of checkpoints is new, and a failover could lose it; waiting {} s",
            wait.0
        );
        tokio::time::sleep(Duration::from_secs(wait.0.unsigned_abs())).await;
    }
    let made = service.make_checkpoint().await;
    let made = made.context("cannot create a checkpoint")?;
    let made = made.ok_or_else(|| Failure::new("the audit log is empty"))?;
    service.bring_to_sinks().await;
    Ok(Output::new(
        json!({ "number": made.number, "lines": made.lines, "note": made.note }),
        made.note,
    ))
}

fn verified(report: &AuditReport) -> Output {
    let ok = report.findings.is_empty();
    let acknowledged = report
        .acknowledged
        .iter()
        .map(|known| with(document(&known.finding), "reason", known.reason.as_str()));
    let whole = json!({
        "ok": ok,
        "chains": report.chains,
        "entries": report.entries,
        "checkpoints": report.checkpoints,
        "database_checkpoints": report.own_checkpoints,
        "flaws": report.findings.iter().map(document).collect::<Vec<_>>(),
        "acknowledged": acknowledged.collect::<Vec<_>>(),
    });
    Output::new(whole, sentences(report)).failing((!ok).then_some("audit verification failed"))
}

fn sentences(report: &AuditReport) -> String {
    let mut text = format!(
        "Verified {} entries in {} chains.",
        report.entries, report.chains
    );
    if report.own_checkpoints > 0 {
        text.push_str(&format!(
            "\nCompared with {} checkpoints in the database.",
            report.own_checkpoints
        ));
    }
    if report.checkpoints > 0 {
        text.push_str(&format!(
            "\nCompared with {} external checkpoints.",
            report.checkpoints
        ));
    }
    for known in &report.acknowledged {
        text.push_str(&format!(
            "\nAcknowledged: {} ({})",
            known.finding, known.reason
        ));
    }
    for finding in &report.findings {
        text.push_str(&format!("\nFINDING: {finding}"));
    }
    text
}

fn document(finding: &AuditFinding) -> Value {
    let about = finding.about.to_string();
    let kind = finding.kind.to_string();
    match &finding.about {
        About::Chain(world, chain) => json!({
            "about": about,
            "app_id": world.app_id,
            "environment": world.environment,
            "chain": chain,
            "flaw": kind,
        }),
        _ => json!({ "about": about, "flaw": kind }),
    }
}
