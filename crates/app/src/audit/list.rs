//! `GET wallets/{wallet_id}/audit`: lists the uses of a wallet, newest first.

use vestry_domain::action::Action;
use vestry_domain::audit::AuditEntry;
use vestry_domain::ids::{AuditEntryId, WalletId};

use crate::kernel::page::PageSize;
use crate::kernel::state::chain_macs::entry_matches;
use crate::{Caller, Fault, Refusal, Service};

/// Query parameters.
#[derive(Debug, Clone, Copy)]
pub struct ListAudit {
    /// The wallet.
    pub wallet_id: WalletId,
    /// 10 to 100; 50 when absent.
    pub limit: Option<i64>,
    /// The last entry of the previous page.
    pub starting_after: Option<AuditEntryId>,
}

/// A page of an audit log.
#[derive(Debug, Clone)]
pub struct AuditPage<E> {
    /// The entries, newest first.
    pub entries: Vec<E>,
    /// Whether there is a next page.
    pub has_more: bool,
}

impl Service {
    /// Lists the uses of a wallet, even if it was deleted.
    ///
    /// Each entry is checked against its keyed hash. Only [`Service::verify_audit_log`] detects missing entries.
    ///
    /// # Errors
    /// [`Refusal::NotFound`] if this environment never had the wallet; a tampered entry is a [`Fault`].
    pub async fn list_audit(
        &self,
        caller: &Caller,
        query: ListAudit,
    ) -> Result<AuditPage<AuditEntry>, Refusal> {
        caller.authorize(Action::ListWalletUses)?;
        let size = PageSize::check(query.limit)?;
        let world = &caller.world;
        let mut read = self.ports.store.read().await?;
        let id = query.wallet_id;
        if caller.limits_wallets() {
            // Only an existing wallet has an owner and a type to compare.
            let wallet = read
                .wallets()
                .find(world, id)
                .await?
                .map(|stored| stored.wallet);
            let wallet = wallet.filter(|wallet| caller.reaches_wallet(id, wallet.user_id));
            let wallet = wallet.ok_or(Refusal::NotFound("wallet"))?;
            caller.uses_wallet_type(wallet.wallet_type)?;
        }
        let mut entries = read
            .audit_log()
            .of_wallet(world, id, query.starting_after, size.rows())
            .await?;
        if entries.is_empty() {
            // An empty page means a wallet without entries, the end of the list, or a wallet that never existed.
            let wallet = read.wallets().find(world, id).await;
            let any = read.audit_log().of_wallet(world, id, None, 1).await;
            if wallet?.is_none() && any?.is_empty() {
                return Err(Refusal::NotFound("wallet"));
            }
        }
        drop(read);
        let has_more = size.cut(&mut entries);
        for entry in &entries {
            let place = entry.sequence.saturating_sub(1);
            let (sealer, world) = (&*self.ports.sealer, &entry.event.world);
            let is_authentic = entry.follows(place, &entry.previous)
                && entry_matches(sealer, world, &entry.hash, &entry.mac).await?;
            require_authentic(is_authentic)?;
        }
        Ok(AuditPage { entries, has_more })
    }
}

/// Fails if an entry is not as the service wrote it.
pub(super) fn require_authentic(is_authentic: bool) -> Result<(), Fault> {
    if is_authentic {
        return Ok(());
    }
    Err(Fault::Internal(
        "an audit log entry was altered; run `vestry audit verify`".into(),
    ))
}
