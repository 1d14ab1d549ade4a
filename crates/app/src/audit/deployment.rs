//! The deployment's own keys and audit chain.

use vestry_domain::World;
use vestry_domain::audit::control::{ControlAction, ControlEvent, Detail, Outcome, Subject};
use vestry_domain::envelope::KeyPurpose;
use vestry_domain::event::Actor;
use vestry_domain::metric::AuditLogName;
use vestry_ports::meter::Counted;

use super::finding::AuditFinding;
use crate::kernel::fault::{causes, retried};
use crate::kernel::key_pins::hold_root;
use crate::{Fault, Service};

/// Version number of the first key.
const FIRST_VERSION: u32 = 1;

impl Service {
    /// Ensures that the deployment has a key for this purpose.
    pub(crate) async fn hold_deployment_key(&self, purpose: KeyPurpose) -> Result<(), Fault> {
        let world = &World::DEPLOYMENT;
        let mut read = self.ports.store.read().await?;
        let is_there = read.app_keys().newest(world, purpose).await?.is_some();
        drop(read);
        if is_there {
            return Ok(());
        }
        retried(|| self.add_deployment_key(purpose)).await
    }

    async fn add_deployment_key(&self, purpose: KeyPurpose) -> Result<(), Fault> {
        let (world, now) = (&World::DEPLOYMENT, self.machine_time());
        let custodian = &self.ports.custodian;
        let key = custodian.mint_app_key(world, purpose, FIRST_VERSION, now);
        let key = key.await?;
        let mut tx = self.ports.store.begin().await?;
        hold_root(&mut *tx, &key).await?;
        // If another process was faster, its key is used.
        tx.app_keys().add(&key).await?;
        Ok(tx.commit().await?)
    }

    /// Records an event about the audit log itself. A failure to do so is only logged.
    pub(crate) async fn note_of_log(
        &self,
        action: ControlAction,
        subject: Subject,
        outcome: Outcome,
        detail: &Detail,
    ) {
        let event = ControlEvent {
            world: World::DEPLOYMENT,
            actor: Actor::System,
            action,
            subject,
            detail: detail.text(),
            outcome,
            request_id: None,
            at: self.machine_time(),
        };
        if let Err(fault) = self.record_for_deployment(event).await {
            let error = causes(&fault);
            let failed = Counted::AuditFailure(AuditLogName::Control);
            self.ports.meter.count(failed);
            tracing::error!(alert = "VestryAuditFailing", error, %action, "audit entry about the audit log could not be written");
        }
    }

    /// Writes an entry to the deployment's own chain.
    pub(crate) async fn record_for_deployment(&self, event: ControlEvent) -> Result<(), Fault> {
        self.hold_deployment_key(KeyPurpose::Secrets).await?;
        self.record_change(event).await
    }

    /// Records that a sink and the database disagree.
    pub(super) async fn note_findings(
        &self,
        sink: &str,
        checkpoint: i64,
        findings: &[AuditFinding],
    ) {
        let first = findings.first().map(ToString::to_string);
        let detail = Detail::default()
            .with("checkpoint", checkpoint)
            .with("flaws", findings.len())
            .with("first", first);
        self.note_of_log(
            ControlAction::AuditFindingReport,
            Subject::audit_sink(sink),
            Outcome::Done,
            &detail,
        )
        .await;
    }
}
