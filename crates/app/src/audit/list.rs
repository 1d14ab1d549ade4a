//! `GET wallets/{wallet_id}/audit`: what was done with a wallet, newest first.

use vestry_domain::Invalid;
use vestry_domain::api_key::Scope;
use vestry_domain::audit::AuditEntry;
use vestry_domain::ids::{AuditEntryId, WalletId};

use crate::audit_seals::entry_matches;
use crate::{Caller, Fault, Refusal, Service};

/// What the caller asks for.
#[derive(Debug, Clone, Copy)]
pub struct ListAudit {
    /// The wallet.
    pub wallet_id: WalletId,
    /// 10 to 100; 50 when absent.
    pub limit: Option<i64>,
    /// The last entry of the page before.
    pub starting_after: Option<AuditEntryId>,
}

/// A page.
#[derive(Debug, Clone)]
pub struct AuditPage {
    /// Newest first.
    pub entries: Vec<AuditEntry>,
    /// Whether there is a next page.
    pub has_more: bool,
}

impl Service {
    /// Lists what was done with a wallet, also when it is gone. Each entry is checked by its keyed hash; that none is missing is for
    /// [`Service::verify_audit_log`] to say.
    ///
    /// # Errors
    /// [`Refusal::NotFound`] when there is and was no such wallet in this world; an entry that somebody edited is a [`Fault`].
    pub async fn list_audit(
        &self,
        caller: &Caller,
        query: ListAudit,
    ) -> Result<AuditPage, Refusal> {
        caller.require(Scope::WalletsRead)?;
        let limit = query.limit.unwrap_or(50);
        if !(10..=100).contains(&limit) {
            return Err(
                Invalid::value("limit", "limit must be a whole number from 10 to 100").into(),
            );
        }
        let world = &caller.world;
        let mut read = self.ports.store.read().await?;
        let id = query.wallet_id;
        let mut entries = read
            .audit_log()
            .of_wallet(world, id, query.starting_after, limit + 1)
            .await?;
        if entries.is_empty() {
            // A wallet with nothing to tell, the end of what there is, or no wallet that there ever was.
            let wallet = read.wallets().find(world, id).await;
            let any = read.audit_log().of_wallet(world, id, None, 1).await;
            if wallet?.is_none() && any?.is_empty() {
                return Err(Refusal::NotFound("wallet"));
            }
        }
        drop(read);
        let shown = usize::try_from(limit).unwrap_or(usize::MAX);
        let has_more = entries.len() > shown;
        entries.truncate(shown);
        for entry in &entries {
            self.authentic(entry).await?;
        }
        Ok(AuditPage { entries, has_more })
    }

    async fn authentic(&self, entry: &AuditEntry) -> Result<(), Fault> {
        let place = entry.sequence.saturating_sub(1);
        let sealer = &*self.ports.sealer;
        let is_authentic = entry.follows(place, &entry.previous)
            && entry_matches(sealer, &entry.event.world, &entry.hash, &entry.mac).await?;
        if is_authentic {
            return Ok(());
        }
        Err(Fault::Internal(
            "an entry of the audit log was altered; run `vestry audit verify`".into(),
        ))
    }
}
