//! `wallets/create`: returns the user's wallet of a type, creating it at most once (R1).
//!
//! A wallet that the user signed in with counts (M-32): its key is held elsewhere, and no other wallet is created beside it. A wallet that
//! the account lost when it was claimed does not count, nor does one whose ownership was never verified.

use vestry_domain::World;
use vestry_domain::action::Action;
use vestry_domain::audit::AuditAction;
use vestry_domain::envelope::WalletKey;
use vestry_domain::event::Fact;
use vestry_domain::ids::UserId;
use vestry_domain::wallet::{AddressForm, StoredWallet, Wallet, WalletType};
use vestry_ports::store::Created;

use super::new_wallet;
use crate::kernel::fault::retried;
use crate::kernel::key_pins::hold_wallet_key;
use crate::{Caller, Fault, Refusal, Service};

impl Service {
    /// Returns the user's default wallet of a type, else the oldest one of that type that the user signed in with, else a new one.
    ///
    /// Concurrent calls create one wallet, and all return it. `address_form` applies to a new wallet; an existing one is returned whatever
    /// its form.
    ///
    /// # Errors
    /// [`Refusal`].
    pub async fn create_wallet(
        &self,
        caller: &Caller,
        user_id: UserId,
        wallet_type: WalletType,
        address_form: AddressForm,
    ) -> Result<Wallet, Refusal> {
        caller.authorize(Action::CreateWallet)?;
        let user_id = caller.visible_user(user_id);
        let existing = self
            .wallet_of_type(&caller.world, user_id, wallet_type)
            .await?;
        caller.uses_wallet_type(wallet_type)?;
        if let Some(existing) = existing {
            return Ok(self.ports.custodian.authenticate(existing).await?);
        }
        let now = self.now(&caller.world);
        let world = &caller.world;
        let made = new_wallet(&self.ports, world, user_id, wallet_type, address_form, now);
        let (wallet, key) = made.await?;
        self.note_use(caller, wallet.wallet.id, AuditAction::Create)
            .await?;
        self.journal_wallet(&wallet, &key).await?;
        if retried(|| self.keep_wallet(caller, &wallet, &key)).await? == Created::Yes {
            // This is the wallet as created, not read from the database, so there is nothing to authenticate.
            return Ok(wallet.wallet);
        }
        // A concurrent call was faster: return its wallet and drop the unused key.
        let winner = self.wallet_of_type(&caller.world, user_id, wallet_type);
        let stored = winner
            .await?
            .ok_or_else(|| Fault::Internal("wallet exists but cannot be found".into()))?;
        Ok(self.ports.custodian.authenticate(stored).await?)
    }

    async fn wallet_of_type(
        &self,
        world: &World,
        user_id: UserId,
        wallet_type: WalletType,
    ) -> Result<Option<StoredWallet>, Refusal> {
        let mut read = self.ports.store.read().await?;
        let wallets = read.wallets();
        let mut existing = wallets.default_of(world, user_id, wallet_type).await?;
        if existing.is_none()
            && let Some(held) = wallets.held_elsewhere(world, user_id, wallet_type).await?
        {
            // Both may have been created since the first query. No default wallet is created beside an external one, so this second query
            // is final.
            let default = wallets.default_of(world, user_id, wallet_type).await?;
            existing = Some(default.unwrap_or(held));
        }
        if existing.is_none() && read.users().profile(world, user_id).await?.is_none() {
            return Err(Refusal::NotFound("user"));
        }
        Ok(existing)
    }

    async fn keep_wallet(
        &self,
        caller: &Caller,
        wallet: &StoredWallet,
        key: &WalletKey,
    ) -> Result<Created, Refusal> {
        let Wallet {
            world,
            user_id,
            wallet_type,
            ..
        } = wallet.wallet;
        let mut tx = self.ports.store.begin().await?;
        if !tx.users().lock(&world, user_id).await? {
            return Err(Refusal::NotFound("user"));
        }
        // A wallet sign-in also locks the user. It is therefore either complete and seen here, or happens afterwards.
        let held = tx.wallets().held_elsewhere(&world, user_id, wallet_type);
        if held.await?.is_some() {
            return Ok(Created::Exists);
        }
        hold_wallet_key(&mut *tx, &world, key.key_version).await?;
        let created = tx.wallets().insert(wallet, key).await?;
        if created == Created::Yes {
            let fact = Fact::wallet_created(user_id, wallet.wallet.id, wallet_type);
            self.emit(&mut *tx, caller, [fact]).await?;
            caller.commit_last(tx).await?;
        }
        Ok(created)
    }
}
