//! Acknowledgements in the audit log, and the findings that they cover.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;
use vestry_domain::World;
use vestry_domain::audit::control::{ControlAction, ControlEntry, ControlFilter, Subject};

use super::flaw::{About, Acknowledged, AuditFlaw, AuditReport};
use crate::{Fault, Service};

/// Entries read in one query.
const PAGE: i64 = 100;
/// Names of the detail fields of an acknowledgement entry.
pub(super) const FINDING: &str = "finding";
pub(super) const REASON: &str = "reason";

impl Service {
    /// Moves acknowledged findings from `flaws` to `acknowledged`.
    pub(super) async fn set_acknowledged_aside(
        &self,
        report: &mut AuditReport,
    ) -> Result<(), Fault> {
        if report.flaws.is_empty() {
            return Ok(());
        }
        let explained = self.acknowledgements().await?;
        for flaw in std::mem::take(&mut report.flaws) {
            let subject = flaw.about.subject();
            let known = subject
                .and_then(|subject| explained.get(&key(&subject, &finding(&flaw, &report.traces))));
            match known {
                Some(reason) => report.acknowledged.push(Acknowledged {
                    flaw,
                    reason: reason.clone(),
                }),
                None => report.flaws.push(flaw),
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
                    && let Some((finding, reason)) = said(&entry)
                {
                    explained.insert(key(&entry.event.subject, &finding), reason);
                }
            }
        }
    }
}

/// Returns the finding as an acknowledgement identifies it: its code, and for a chain a hash of everything that is wrong with it.
pub(super) fn finding(flaw: &AuditFlaw, traces: &BTreeMap<About, String>) -> String {
    let code = flaw.flaw.code();
    match traces.get(&flaw.about) {
        Some(trace) => format!("{code} {trace}"),
        None => code,
    }
}

fn key(subject: &Subject, finding: &str) -> String {
    format!("{} {} {finding}", subject.kind, subject.id)
}

fn said(entry: &ControlEntry) -> Option<(String, String)> {
    let detail: Value = serde_json::from_str(&entry.event.detail).ok()?;
    let text = |name: &str| detail.get(name)?.as_str().map(str::to_owned);
    Some((text(FINDING)?, text(REASON)?))
}
