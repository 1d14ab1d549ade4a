//! `vestry audit acknowledge`: an acknowledged finding stays in the report but no longer fails the verification.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;
use vestry_domain::action::Action;
use vestry_domain::audit::control::{ControlAction, ControlEntry, ControlFilter, Detail, Subject};
use vestry_domain::{Invalid, World};

use super::flaw::{About, Acknowledged, AuditFlaw, AuditReport};
use super::witness::{SourcedNote, TrustedKeys};
use crate::{Fault, Principal, Refusal, Service};

/// Maximum length of a reason in bytes, JSON-escaped. Longer values in an entry are stored as hashes.
const MAX_REASON: usize = 200;
/// Entries read in one query.
const PAGE: i64 = 100;
/// Names of the detail fields of an acknowledgement entry.
const FINDING: &str = "finding";
const REASON: &str = "reason";

impl Service {
    /// Acknowledges everything that a verification finds about one subject: a chain, the events of an environment, or a checkpoint, as
    /// findings name it.
    ///
    /// Only exactly these findings are acknowledged. A later, different finding about the same subject fails the verification again.
    ///
    /// # Errors
    /// [`Refusal`]; [`Refusal::NotFound`] if there is no finding about it.
    pub async fn acknowledge_flaw(
        &self,
        by: &Principal,
        about: &str,
        reason: &str,
        notes: &[SourcedNote],
        keys: &TrustedKeys,
        progress: &(dyn Fn(u64) + Send + Sync),
    ) -> Result<Vec<AuditFlaw>, Refusal> {
        by.authorize(Action::AcknowledgeFinding)?;
        let reason = reason.trim();
        let escaped = Value::from(reason).to_string();
        // Length without the enclosing quotes.
        if reason.is_empty() || escaped.len().saturating_sub(2) > MAX_REASON {
            let message = format!(
                "reason must be 1 to {MAX_REASON} bytes long; a quote or line break counts as two"
            );
            return Err(Invalid::value("reason", message).into());
        }
        let report = self.verify_audit_log_against(notes, keys, progress).await?;
        let traces = report.traces;
        let is_about = |flaw: &AuditFlaw| flaw.about.to_string() == about;
        let found = report.flaws.into_iter().filter(is_about);
        let found: Vec<(Subject, AuditFlaw)> = found
            .filter_map(|flaw| Some((flaw.about.subject()?, flaw)))
            .collect();
        if found.is_empty() {
            return Err(Refusal::NotFound("finding"));
        }
        for (subject, flaw) in &found {
            let detail = Detail::default()
                .with(FINDING, finding(flaw, &traces))
                .with(REASON, reason);
            let action = ControlAction::AuditFindingAcknowledge;
            let event = self.done(&by.at(World::DEPLOYMENT), action, subject.clone(), &detail);
            self.record_for_deployment(event).await?;
        }
        Ok(found.into_iter().map(|(_, flaw)| flaw).collect())
    }

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

    /// BatchedReads all acknowledgements with their reasons. Entries that are not authentic are ignored.
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
fn finding(flaw: &AuditFlaw, traces: &BTreeMap<About, String>) -> String {
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
