//! Acknowledgements in the audit log, and the findings that they cover.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;
use vestry_domain::World;
use vestry_domain::audit::control::{ControlAction, ControlEntry, ControlFilter, Subject};

use super::finding::{About, Acknowledged, AuditFinding, AuditReport};
use crate::{Fault, Service};

/// Entries read in one query.
const PAGE: i64 = 100;
/// Names of the detail fields of an acknowledgement entry.
pub(super) const FINDING: &str = "finding";
pub(super) const REASON: &str = "reason";

impl Service {
    /// Moves acknowledged findings from `findings` to `acknowledged`.
    pub(super) async fn set_acknowledged_aside(
        &self,
        report: &mut AuditReport,
    ) -> Result<(), Fault> {
        if report.findings.is_empty() {
            return Ok(());
        }
        let explained = self.acknowledgements().await?;
        for finding in std::mem::take(&mut report.findings) {
            let subject = finding.about.subject();
            let known = subject.and_then(|subject| {
                explained.get(&key(&subject, &fingerprint(&finding, &report.traces)))
            });
            match known {
                Some(reason) => report.acknowledged.push(Acknowledged {
                    finding,
                    reason: reason.clone(),
                }),
                None => report.findings.push(finding),
            }
        }
        Ok(())
    }

    /// Reads all acknowledgements with their reasons. Entries that are not authentic are ignored.
    async fn acknowledgements(&self) -> Result<HashMap<String, String>, Fault> {
        let filter = ControlFilter {
            actions: vec![ControlAction::AuditFindingAcknowledge],
            ..ControlFilter::default()
        };
        let mut explained = HashMap::new();
        let mut after = None;
        loop {
            let mut read = self.ports.store.read().await?;
            let log = read.control_log();
            let page = log.page(&World::DEPLOYMENT, &filter, after, PAGE).await?;
            drop(read);
            let Some(last) = page.last() else {
                return Ok(explained);
            };
            after = Some(last.id);
            for entry in page {
                if self.is_authentic(&entry).await?
                    && let Some((fingerprint, reason)) = said(&entry)
                {
                    explained.insert(key(&entry.event.subject, &fingerprint), reason);
                }
            }
        }
    }
}

/// Returns the text by which an acknowledgement identifies a finding: its code, and for a chain a hash of everything that is wrong with it.
pub(super) fn fingerprint(finding: &AuditFinding, traces: &BTreeMap<About, String>) -> String {
    let code = finding.kind.code();
    match traces.get(&finding.about) {
        Some(trace) => format!("{code} {trace}"),
        None => code,
    }
}

fn key(subject: &Subject, fingerprint: &str) -> String {
    format!("{} {} {fingerprint}", subject.kind, subject.id)
}

fn said(entry: &ControlEntry) -> Option<(String, String)> {
    let detail: Value = serde_json::from_str(&entry.event.detail).ok()?;
    let text = |name: &str| detail.get(name)?.as_str().map(str::to_owned);
    Some((text(FINDING)?, text(REASON)?))
}
