//! `vestry audit acknowledge`: an acknowledged finding stays in the report but no longer fails the verification.

use serde_json::Value;
use vestry_domain::action::Action;
use vestry_domain::audit::control::{ControlAction, Detail, Subject};
use vestry_domain::extent::Extent;
use vestry_domain::{Invalid, World};

use super::acknowledged::{FINDING, REASON, fingerprint};
use super::checkpoint_audit::SourcedNote;
use super::finding::AuditFinding;
use super::signed_checkpoints::TrustedKeys;
use crate::{Principal, Refusal, Service};

/// Maximum length of a reason in bytes, JSON-escaped. Longer values in an entry are stored as hashes.
const MAX_REASON: usize = 200;

impl Service {
    /// Acknowledges everything that a verification finds about one subject: a chain, the events of an environment, or a checkpoint, as
    /// findings name it.
    ///
    /// Only exactly these findings are acknowledged. A later, different finding about the same subject fails the verification again.
    ///
    /// # Errors
    /// [`Refusal`]; [`Refusal::NotFound`] if there is no finding about it.
    pub async fn acknowledge_finding(
        &self,
        by: &Principal,
        about: &str,
        reason: &str,
        notes: &[SourcedNote],
        keys: &TrustedKeys,
        progress: &(dyn Fn(u64) + Send + Sync),
    ) -> Result<Vec<AuditFinding>, Refusal> {
        by.authorize(Action::AcknowledgeFinding, Extent::Deployment)?;
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
        let is_about = |finding: &AuditFinding| finding.about.to_string() == about;
        let found = report.findings.into_iter().filter(is_about);
        let found: Vec<(Subject, AuditFinding)> = found
            .filter_map(|finding| Some((finding.about.subject()?, finding)))
            .collect();
        if found.is_empty() {
            return Err(Refusal::NotFound("finding"));
        }
        for (subject, finding) in &found {
            let detail = Detail::default()
                .with(FINDING, fingerprint(finding, &traces))
                .with(REASON, reason);
            let action = ControlAction::AuditFindingAcknowledge;
            let event = self.done(&by.at(World::DEPLOYMENT), action, subject.clone(), &detail);
            self.record_for_deployment(event).await?;
        }
        Ok(found.into_iter().map(|(_, finding)| finding).collect())
    }
}
