//! Wallets possibly left by another person in an account that turned out not to be theirs (CL-3).

use vestry_domain::Timestamp;
use vestry_domain::audit::AuditAction;
use vestry_domain::event::Fact;
use vestry_domain::ids::UserId;
use vestry_domain::wallet::{DisabledReason, StoredWallet, Wallet};
use vestry_ports::custody::{CustodyError, WalletChange};
use vestry_ports::store::{Repositories, StoreError};

use crate::kernel::key_pins::hold_wallet_key;
use crate::kernel::source::Source;
use crate::{Fault, Service};

impl Service {
    /// Disables the user's wallets whose keys another person may know: those that were imported or ever exported.
    ///
    /// They no longer sign, and are not chosen where no wallet is named. The audit log has no entry, because it is written outside the
    /// transaction. The wallet itself records why it signs nothing.
    pub(super) async fn disable_unproven_wallets(
        &self,
        tx: &mut dyn Repositories,
        by: &Source<'_>,
        user: UserId,
        now: Timestamp,
    ) -> Result<(), Fault> {
        for stored in tx.wallets().of_user(&by.world, user).await? {
            if !may_be_known(tx, &stored.wallet).await? {
                continue;
            }
            self.disable_unproven(tx, by, stored, now).await?;
        }
        Ok(())
    }

    async fn disable_unproven(
        &self,
        tx: &mut dyn Repositories,
        by: &Source<'_>,
        stored: StoredWallet,
        now: Timestamp,
    ) -> Result<(), Fault> {
        let seen = stored.mac.clone();
        let signed = stored.wallet.disabled.is_none();
        let change = WalletChange {
            disabled: Some(DisabledReason::UnprovenOrigin),
            at: now,
        };
        let changed = match self.ports.custodian.change_wallet(stored, change).await {
            Ok(changed) => changed,
            // It signs nothing as it is; using it reports that, and the audit log records it.
            Err(CustodyError::Tampered { .. }) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        let wallet = &changed.wallet;
        hold_wallet_key(tx, &wallet.world, changed.mac.key_version).await?;
        if !tx.wallets().replace(&changed, &seen).await? {
            // It is being changed concurrently; the next run sees the result.
            return Err(Fault::LostRace);
        }
        // One that signed nothing before has got another reason only.
        let facts =
            signed.then(|| Fact::wallet_disabled(wallet.user_id, wallet.id, wallet.wallet_type));
        Ok(self.emit(tx, by.clone(), facts).await?)
    }
}

async fn may_be_known(tx: &mut dyn Repositories, wallet: &Wallet) -> Result<bool, StoreError> {
    if wallet.key_id.is_none() || wallet.is_imported {
        return Ok(wallet.is_imported);
    }
    let world = &wallet.world;
    tx.audit_log()
        .has(world, wallet.id, AuditAction::Export)
        .await
}
