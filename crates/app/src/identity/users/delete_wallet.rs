//! `users/wallets/{wallet_id}/delete`: removes wallets whose keys are not stored here.

use vestry_domain::action::Action;
use vestry_domain::event::Fact;
use vestry_domain::ids::{UserId, WalletId};
use vestry_domain::message::CredentialChange;
use vestry_domain::wallet::Wallet;

use super::last_sign_in_method::one_remains;
use super::notices::CredentialChangeNotice;
use crate::kernel::fault::retried;
use crate::kernel::refusal::has_common;
use crate::{Caller, Refusal, Service};

/// The reason why a wallet was not removed.
#[derive(Debug, thiserror::Error)]
pub enum DeleteWalletError {
    /// Its key is stored here, so it is deleted only with its user.
    #[error("only wallets that were imported as read-only can be removed")]
    Managed,
    /// See [`Refusal`].
    #[error(transparent)]
    Common(Refusal),
}

has_common!(DeleteWalletError);

impl Service {
    /// Removes a read-only wallet from its user, and returns that user.
    ///
    /// # Errors
    /// [`DeleteWalletError`]; nothing changes then.
    pub async fn delete_wallet(
        &self,
        caller: &Caller,
        id: WalletId,
    ) -> Result<UserId, DeleteWalletError> {
        caller.authorize(Action::DeleteExternalWallet)?;
        let mut read = self.ports.store.read().await?;
        let stored = read.wallets().find(&caller.world, id).await?;
        drop(read);
        let stored = stored.filter(|stored| caller.reaches_stored(stored));
        let stored = stored.ok_or(Refusal::NotFound("wallet"))?;
        caller.uses_wallet_type(stored.wallet.wallet_type)?;
        let wallet = self.ports.custodian.authenticate(stored).await?;
        if !wallet.is_read_only || wallet.key_id.is_some() {
            return Err(DeleteWalletError::Managed);
        }
        let change = if wallet.is_way_to_sign_in() {
            let removed = CredentialChange::WalletRemoved;
            Some(self.prepare_notice(caller, wallet.user_id, removed).await?)
        } else {
            None
        };
        retried(|| self.try_to_delete_wallet(caller, &wallet, change.as_ref())).await?;
        Ok(wallet.user_id)
    }

    async fn try_to_delete_wallet(
        &self,
        caller: &Caller,
        wallet: &Wallet,
        change: Option<&CredentialChangeNotice>,
    ) -> Result<(), DeleteWalletError> {
        let world = &caller.world;
        let now = self.now(world);
        let mut tx = self.ports.store.begin().await?;
        if !tx.users().lock(world, wallet.user_id).await?
            || !tx.wallets().delete(world, wallet.id).await?
        {
            return Err(Refusal::NotFound("wallet").into());
        }
        let fact = Fact::wallet_deleted(wallet.user_id, wallet.id, wallet.wallet_type);
        self.emit(&mut *tx, caller, [fact]).await?;
        if let Some(change) = change {
            if !one_remains(&mut *tx, caller, wallet.user_id).await? {
                return Err(Refusal::LastSignInMethod.into());
            }
            self.apply_with_notice(&mut *tx, caller, change, None, now)
                .await?;
        }
        caller.commit_last(tx).await?;
        Ok(())
    }
}
