//! `wallets/create`: the default wallet of a user, made at most once (R1).

use vestry_domain::api_key::Scope;
use vestry_domain::audit::AuditAction;
use vestry_domain::envelope::WalletKey;
use vestry_domain::ids::UserId;
use vestry_domain::wallet::{AddressForm, StoredWallet, Wallet, WalletType};
use vestry_domain::{Timestamp, World};
use vestry_ports::custody::{CustodyError, WalletOrder};
use vestry_ports::store::Created;

use crate::fault::retried;
use crate::rotation::hold_wallet_key;
use crate::{Caller, Fault, Refusal, Service};

impl Service {
    /// The user's default wallet of a type, made when there is none. However many calls race, one wallet is kept and all
    /// of them answer it. A new one has an address of the form that is named; one that is there is answered whatever its form.
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
        caller.require(Scope::WalletsWrite)?;
        if let Some(existing) = self
            .default_wallet(&caller.world, user_id, wallet_type)
            .await?
        {
            return Ok(self.ports.custodian.authenticate(existing).await?);
        }
        let now = self.now(&caller.world);
        let made = self
            .new_wallet(&caller.world, user_id, wallet_type, address_form, now)
            .await;
        let (wallet, key) = made?;
        self.note_use(caller, wallet.wallet.id, AuditAction::Create)
            .await?;
        if retried(|| self.keep_wallet(caller, &wallet, &key)).await? == Created::Yes {
            // As it was made, not as it was read: there is nothing to authenticate.
            return Ok(wallet.wallet);
        }
        // Somebody else was faster: their wallet is the answer, and our key is dropped unused.
        let winner = self
            .default_wallet(&caller.world, user_id, wallet_type)
            .await?;
        let stored =
            winner.ok_or_else(|| Fault::Internal("a wallet exists and cannot be found".into()))?;
        Ok(self.ports.custodian.authenticate(stored).await?)
    }

    async fn default_wallet(
        &self,
        world: &World,
        user_id: UserId,
        wallet_type: WalletType,
    ) -> Result<Option<StoredWallet>, Refusal> {
        let mut read = self.ports.store.read().await?;
        let existing = read
            .wallets()
            .default_of(world, user_id, wallet_type)
            .await?;
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
        let Wallet { world, user_id, .. } = wallet.wallet;
        let mut tx = self.ports.store.begin().await?;
        if !tx.users().lock(&world, user_id).await? {
            return Err(Refusal::NotFound("user"));
        }
        hold_wallet_key(&mut *tx, &world, key.key_version).await?;
        let created = tx.wallets().insert(wallet, key).await?;
        if created == Created::Yes {
            caller.commit_last(tx).await?;
        }
        Ok(created)
    }

    /// A fresh key and the wallet around it, not stored yet.
    pub(crate) async fn new_wallet(
        &self,
        world: &World,
        user_id: UserId,
        wallet_type: WalletType,
        address_form: AddressForm,
        now: Timestamp,
    ) -> Result<(StoredWallet, WalletKey), CustodyError> {
        let order = WalletOrder {
            wallet_id: self.new_id(now),
            key_id: self.new_id(now),
            world: *world,
            user_id,
            wallet_type,
            address_form,
            created_at: now,
        };
        self.ports.custodian.create_wallet(order).await
    }
}
