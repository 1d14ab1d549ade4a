//! Writing of wallet audit entries.

use vestry_domain::audit::{AuditAction, AuditEvent, ResultHash};
use vestry_domain::event::{EventKind, SignedBy};
use vestry_domain::ids::WalletId;
use vestry_domain::signing::{Signed, SigningRequest};
use vestry_domain::wallet::Wallet;
use vestry_ports::custody::CustodyError;
use vestry_ports::store::StoreError;

use crate::kernel::state::audit_trail::{AuditNote, EmittedUse, PendingEvent, unwritten};
use crate::{Caller, Fault, Service};

/// Maximum length of a method name in an entry, in bytes. All existing names are shorter.
const MAX_DETAIL: usize = 64;

impl Service {
    /// Writes an audit event and the emitted event that belongs to it. When this returns, the entry is on disk.
    ///
    /// # Errors
    /// The entry may be missing, so the result that it records must not be returned to the caller.
    async fn record(&self, event: AuditEvent, pending: Option<PendingEvent>) -> Result<(), Fault> {
        let written = self
            .batched(&self.trail, AuditNote { event, pending })
            .await;
        written.unwrap_or_else(|| Err(unwritten()))
    }

    /// Records the use of a wallet. The result of the use may be returned only after this succeeds.
    ///
    /// Never call this while a transaction is open, including one kept open by [`Caller::commit_last`]: on SQLite the audit write would
    /// wait for it. Calls that create or change a wallet are therefore recorded beforehand.
    ///
    /// # Errors
    /// The log cannot be written.
    pub(crate) async fn note_use(
        &self,
        caller: &Caller,
        wallet_id: WalletId,
        action: AuditAction,
    ) -> Result<(), Fault> {
        let event = self.event(caller, wallet_id, action, String::new(), None);
        self.record(event, None).await
    }

    /// [`Service::note_use`] for the export of a private key.
    ///
    /// # Errors
    /// The log cannot be written.
    pub(crate) async fn note_export(&self, caller: &Caller, wallet: &Wallet) -> Result<(), Fault> {
        let event = self.event(caller, wallet.id, AuditAction::Export, String::new(), None);
        let usage = EmittedUse::Exported(wallet.user_id, wallet.wallet_type);
        self.record(event, Some(self.pending(caller, usage))).await
    }

    /// [`Service::note_use`] for a signature.
    ///
    /// # Errors
    /// The log cannot be written.
    pub(crate) async fn note_signature(
        &self,
        caller: &Caller,
        wallet_id: WalletId,
        request: &SigningRequest,
        signed: &Signed,
    ) -> Result<(), Fault> {
        let (action, by, detail) = match request {
            SigningRequest::Message(_) => (
                AuditAction::SignMessage,
                SignedBy::SignMessage,
                String::new(),
            ),
            SigningRequest::Transaction(_) => (
                AuditAction::SignTransaction,
                SignedBy::SignTransaction,
                String::new(),
            ),
            SigningRequest::Method { name, .. } => {
                let detail = name.chars().take(MAX_DETAIL).collect();
                (AuditAction::Rpc, SignedBy::Rpc, detail)
            }
        };
        let is_told = caller.wants(EventKind::WalletSigned);
        let pending = is_told.then(|| self.pending(caller, EmittedUse::Signed(by)));
        let event = self.event(caller, wallet_id, action, detail, Some(signed));
        self.record(event, pending).await
    }

    fn pending(&self, caller: &Caller, usage: EmittedUse) -> PendingEvent {
        PendingEvent {
            id: self.new_id(self.machine_time()),
            actor: caller.principal.actor(),
            request_id: caller.principal.request_id.as_deref().map(str::to_owned),
            usage,
        }
    }

    /// Records a failure if it indicates tampering with a wallet or its key, and returns it unchanged.
    ///
    /// If recording fails, that is only logged.
    pub(crate) async fn noted(
        &self,
        caller: &Caller,
        wallet_id: WalletId,
        failure: impl Into<Fault>,
    ) -> Fault {
        let fault = failure.into();
        if let Some(place) = tampered(&fault) {
            let action = AuditAction::Tampered;
            let pending = self.pending(caller, EmittedUse::Tampered);
            let event = self.event(caller, wallet_id, action, place.to_owned(), None);
            drop(self.record(event, Some(pending)).await);
        }
        fault
    }

    fn event(
        &self,
        caller: &Caller,
        wallet_id: WalletId,
        action: AuditAction,
        detail: String,
        signed: Option<&Signed>,
    ) -> AuditEvent {
        AuditEvent {
            world: caller.world,
            wallet_id,
            action,
            detail,
            actor: caller.principal.actor(),
            result: signed.map(ResultHash::of),
            payload: signed.map(|signed| signed.payload),
            request_id: caller.principal.request_id.as_deref().map(str::to_owned),
            at: self.now(&caller.world),
        }
    }
}

/// Returns the name of the tampered object: data that failed its authentication, or a table with a value that the service never writes.
fn tampered(fault: &Fault) -> Option<&'static str> {
    match fault {
        Fault::Tampered(CustodyError::Tampered { place }) => Some(place),
        Fault::Internal(cause) => match cause.downcast_ref() {
            Some(StoreError::Corrupt { table, .. }) => Some(table),
            _ => None,
        },
        _ => None,
    }
}
