//! `vestry audit`.

mod prune;

use serde_json::{Map, Value, json};
use vestry_anchor::{Settings as Reach, notes_at, notes_from};
use vestry_app::audit::{About, AuditFlaw, AuditReport, SourcedNote, TrustedKeys};
use vestry_app::{Principal, Service};

use super::failed;
use crate::cli::{self, Against, Answer, Kept};
use crate::failure::{Context, Failure};
use crate::output::print_line;

pub(super) async fn run(
    service: &Service,
    command: cli::Audit,
    has_base_url: bool,
    reach: &Reach,
) -> Result<(), Failure> {
    let progress = |looked_at| tracing::info!(looked_at, "audit log entries processed");
    match command {
        cli::Audit::Verify { against, answer } => {
            let (notes, keys) = witnesses(against, reach).await?;
            let report = service.verify_audit_log_against(&notes, &keys, &progress);
            let report = report.await.map_err(|fault| {
                Failure::new("audit verification failed before the end of the log").because(fault)
            })?;
            print(&report, answer)
        }
        cli::Audit::Key { answer } => {
            named(has_base_url)?;
            let key = service.checkpoint_key().await;
            let key =
                key.map_err(|fault| Failure::new("checkpoint key is unavailable").because(fault))?;
            let key = key.to_string();
            answer.format().print(&json!({"key": key}), || key.clone())
        }
        cli::Audit::Checkpoint { answer } => {
            named(has_base_url)?;
            checkpoint(service, answer).await
        }
        cli::Audit::Prune { before, to, answer } => prune::run(service, before, &to, answer).await,
        cli::Audit::Acknowledge {
            about,
            reason,
            against,
            answer,
        } => {
            let (notes, keys) = witnesses(against, reach).await?;
            let found = service.acknowledge_flaw(
                Principal::cli(),
                &about,
                &reason,
                &notes,
                &keys,
                &progress,
            );
            let found = found.await.map_err(failed)?;
            let document = json!({"acknowledged": found.iter().map(document).collect::<Vec<_>>()});
            answer.format().print(&document, || {
                let lines = found.iter().map(|flaw| format!("Acknowledged: {flaw}"));
                lines.collect::<Vec<_>>().join("\n")
            })
        }
    }
}

/// Requires the public URL, because checkpoints identify the deployment by it.
fn named(has_base_url: bool) -> Result<(), Failure> {
    if has_base_url {
        return Ok(());
    }
    Err(Failure::usage(
        "http.base_url is not set; checkpoints identify the deployment by it. Set it in vestry.toml or VESTRY_HTTP__BASE_URL".to_owned(),
    ))
}

async fn witnesses(
    against: Against,
    reach: &Reach,
) -> Result<(Vec<SourcedNote>, TrustedKeys), Failure> {
    let mut notes = Vec::new();
    for kept in against.places {
        let found = match kept {
            Kept::Path(path) => {
                notes_at(&path).map_err(|error| Failure::usage(error.to_string()))?
            }
            Kept::Url(url) => {
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

async fn checkpoint(service: &Service, answer: Answer) -> Result<(), Failure> {
    let made = service.make_checkpoint().await;
    let made = made.map_err(|fault| Failure::new("cannot create a checkpoint").because(fault))?;
    let Some(made) = made else {
        return Err(Failure::answered("the audit log is empty"));
    };
    service.bring_to_sinks().await;
    let document = json!({"number": made.number, "lines": made.lines, "note": made.note});
    match answer.format() {
        // Signed notes are compared byte for byte.
        crate::output::Format::Human => print_line(made.note.trim_end_matches('\n')),
        json => json.print(&document, String::new),
    }
}

fn print(report: &AuditReport, answer: Answer) -> Result<(), Failure> {
    let ok = report.flaws.is_empty();
    let acknowledged = report.acknowledged.iter().map(|known| {
        let mut document = document(&known.flaw);
        document.insert("reason".to_owned(), known.reason.as_str().into());
        document
    });
    let whole = json!({
        "ok": ok,
        "chains": report.chains,
        "entries": report.entries,
        "checkpoints": report.checkpoints,
        "database_checkpoints": report.own_checkpoints,
        "flaws": report.flaws.iter().map(document).collect::<Vec<_>>(),
        "acknowledged": acknowledged.collect::<Vec<_>>(),
    });
    answer.format().print(&whole, || sentences(report))?;
    if ok {
        Ok(())
    } else {
        Err(Failure::answered("audit verification failed"))
    }
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
            known.flaw, known.reason
        ));
    }
    for flaw in &report.flaws {
        text.push_str(&format!("\nFINDING: {flaw}"));
    }
    text
}

fn document(flaw: &AuditFlaw) -> Map<String, Value> {
    let mut document = Map::new();
    let mut add = |name: &str, value: String| {
        document.insert(name.to_owned(), value.into());
    };
    add("about", flaw.about.to_string());
    if let About::Chain(world, chain) = &flaw.about {
        add("app_id", world.app_id.to_string());
        add("environment", world.environment.to_string());
        add("chain", chain.to_string());
    }
    add("flaw", flaw.flaw.to_string());
    document
}
