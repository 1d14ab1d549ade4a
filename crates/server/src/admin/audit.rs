//! `vestry audit verify`.

use serde_json::{Value, json};
use vestry_app::Service;
use vestry_app::audit::{AuditFlaw, AuditReport, Flaw};

use crate::cli::{self, Answer};
use crate::failure::Failure;

pub(super) async fn run(service: &Service, command: cli::Audit) -> Result<(), Failure> {
    let cli::Audit::Verify { answer } = command;
    let progress = |looked_at| tracing::info!(looked_at, "entries of the audit log");
    let report = service.verify_audit_log(&progress).await;
    let report = report.map_err(|fault| {
        Failure::new("the audit log could not be read to its end").because(fault)
    })?;
    print(&report, answer)
}

fn print(report: &AuditReport, answer: Answer) -> Result<(), Failure> {
    let flaws: Vec<Value> = report.flaws.iter().map(document).collect();
    let ok = flaws.is_empty();
    let whole = json!({
        "ok": ok,
        "chains": report.chains,
        "entries": report.entries,
        "flaws": flaws,
    });
    answer.format().print(&whole, || {
        let mut text = format!(
            "{} entries in {} chains are as they were written.",
            report.entries, report.chains
        );
        for flaw in &report.flaws {
            text.push_str(&format!(
                "\nFLAW: {} {}: {}",
                flaw.world,
                flaw.chain,
                sentence(flaw.flaw)
            ));
        }
        text
    })?;
    if ok {
        Ok(())
    } else {
        Err(Failure::answered("the audit log is not whole"))
    }
}

fn document(flaw: &AuditFlaw) -> Value {
    json!({
        "app_id": flaw.world.app_id,
        "environment": flaw.world.environment.as_str(),
        "chain": flaw.chain,
        "flaw": sentence(flaw.flaw),
    })
}

fn sentence(flaw: Flaw) -> String {
    match flaw {
        Flaw::NoHead => "the record of how far the chain goes is gone".to_owned(),
        Flaw::ForgedHead => "the record of how far the chain goes was altered".to_owned(),
        Flaw::Broken { sequence } => {
            format!(
                "entry {sequence} was altered, is missing, or does not follow the one before it"
            )
        }
        Flaw::Ends { found, expected } => {
            format!("the chain ends at entry {found}, and its record says {expected}")
        }
    }
}
