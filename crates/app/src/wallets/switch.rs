//! `wallets/{wallet_id}/disable` and `enable`.

use vestry_domain::action::Action;
use vestry_domain::audit::AuditAction;
use vestry_domain::event::Fact;
use vestry_domain::ids::WalletId;
use vestry_domain::wallet::{DisabledReason, StoredWallet, Wallet};
use vestry_ports::custody::WalletChange;

use crate::kernel::fault::retried;
use crate::kernel::key_pins::hold_wallet_key;
use crate::kernel::refusal::has_common;
use crate::{Caller, Fault, Refusal, Service};

/// Reason why a wallet was neither disabled nor enabled.
#[derive(Debug, thiserror::Error)]
pub enum SwitchWalletError {
    /// The wallet's key is held elsewhere, so it cannot sign anyway.
    #[error("the wallet is read-only")]
    ReadOnly,
    /// See [`Refusal`].
    #[error(transparent)]
    Common(Refusal),
}

has_common!(SwitchWalletError);

impl Service {
    /// Disables signing with a wallet until it is enabled again. A wallet that is already disabled keeps its original time.
    ///
    /// # Errors
    /// [`SwitchWalletError`].
    pub async fn disable_wallet(
        &self,
        caller: &Caller,
        id: WalletId,
    ) -> Result<Wallet, SwitchWalletError> {
        self.switch(caller, id, Some(DisabledReason::Requested))
            .await
    }

    /// Enables signing with a wallet again.
    ///
    /// # Errors
    /// [`SwitchWalletError`].
    pub async fn enable_wallet(
        &self,
        caller: &Caller,
        id: WalletId,
    ) -> Result<Wallet, SwitchWalletError> {
        self.switch(caller, id, None).await
    }

    async fn switch(
        &self,
        caller: &Caller,
        id: WalletId,
        disabled: Option<DisabledReason>,
    ) -> Result<Wallet, SwitchWalletError> {
        caller.authorize(Action::SwitchWallet)?;
        let at = self.now(&caller.world);
        let change = WalletChange { disabled, at };
        let action = match disabled {
            Some(_) => AuditAction::Disable,
            None => AuditAction::Enable,
        };
        retried(|| async {
            let stored = self.switchable(caller, id).await?;
            if stored.wallet.disabled.is_some() == disabled.is_some() {
                let authentic = self.ports.custodian.authenticate(stored).await;
                return Ok(authentic?);
            }
            let seen = stored.mac.clone();
            let changed = self.ports.custodian.change_wallet(stored, change).await?;
            // Record it beforehand: an unrecorded re-enabled wallet would be worse than a superfluous entry.
            self.note_use(caller, id, action).await?;
            let mut tx = self.ports.store.begin().await?;
            let held = hold_wallet_key(&mut *tx, &caller.world, changed.mac.key_version).await;
            held?;
            let replaced = tx.wallets().replace(&changed, &seen).await;
            if !replaced? {
                // A concurrent call changed it, so decide again.
                return Err(SwitchWalletError::from(Fault::LostRace));
            }
            self.emit(&mut *tx, caller, [switched(&changed.wallet)])
                .await?;
            caller.commit_last(tx).await?;
            Ok(changed.wallet)
        })
        .await
    }

    async fn switchable(
        &self,
        caller: &Caller,
        id: WalletId,
    ) -> Result<StoredWallet, SwitchWalletError> {
        let mut read = self.ports.store.read().await?;
        let found = read.wallets().find(&caller.world, id).await;
        drop(read);
        let stored = found?;
        let stored = stored.filter(|stored| caller.reaches_stored(stored));
        let stored = stored.ok_or(Refusal::NotFound("wallet"))?;
        caller.uses_wallet_type(stored.wallet.wallet_type)?;
        if stored.wallet.is_read_only {
            self.keyless(stored).await?;
            return Err(SwitchWalletError::ReadOnly);
        }
        Ok(stored)
    }
}

fn switched(wallet: &Wallet) -> Fact {
    let (user, id, wallet_type) = (wallet.user_id, wallet.id, wallet.wallet_type);
    match wallet.disabled {
        Some(_) => Fact::wallet_disabled(user, id, wallet_type),
        None => Fact::wallet_enabled(user, id, wallet_type),
    }
}
