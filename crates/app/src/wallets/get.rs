//! `GET wallets/{wallet_id}`.

use vestry_domain::action::Action;
use vestry_domain::ids::WalletId;
use vestry_domain::wallet::{StoredWallet, Wallet};
use vestry_ports::custody::CustodyError;

use crate::{Caller, Fault, Refusal, Service};

/// A wallet with the version of the App key that wraps its data key.
#[derive(Debug, Clone)]
pub struct VersionedWallet {
    /// The wallet.
    pub wallet: Wallet,
    /// The version; `None` for a wallet whose key is held elsewhere.
    pub key_version: Option<u32>,
}

impl Service {
    /// Returns a wallet.
    ///
    /// # Errors
    /// [`Refusal`]; a row or key that was tampered with or moved is a [`Fault`] (T1, T6).
    pub async fn get_wallet(&self, caller: &Caller, id: WalletId) -> Result<Wallet, Refusal> {
        let found = self.get_versioned_wallet(caller, id).await?;
        Ok(found.wallet)
    }

    /// Returns a wallet with the version of its key.
    ///
    /// # Errors
    /// As [`Service::get_wallet`].
    pub async fn get_versioned_wallet(
        &self,
        caller: &Caller,
        id: WalletId,
    ) -> Result<VersionedWallet, Refusal> {
        caller.authorize(Action::GetWallet)?;
        let mut read = self.ports.store.read().await?;
        let found = read.wallets().find_with_key(&caller.world, id).await?;
        drop(read);
        let found = found.filter(|(stored, _)| caller.reaches_stored(stored));
        let (stored, key) = found.ok_or(Refusal::NotFound("wallet"))?;
        caller.uses_wallet_type(stored.wallet.wallet_type)?;
        let Some(key) = key else {
            return Ok(VersionedWallet {
                wallet: self.keyless(stored).await?,
                key_version: None,
            });
        };
        let (wallet, key_version) = (stored.wallet.clone(), Some(key.key_version));
        // Verify the key too, so that a wallet with a swapped key does not look intact.
        self.ports.custodian.verify_wallet(stored, key).await?;
        Ok(VersionedWallet {
            wallet,
            key_version,
        })
    }

    /// Authenticates a wallet without a key. If it should have one, the key was removed from the database.
    pub(crate) async fn keyless(&self, stored: StoredWallet) -> Result<Wallet, Fault> {
        let wallet = self.ports.custodian.authenticate(stored).await?;
        if wallet.is_read_only {
            return Ok(wallet);
        }
        // Its key was removed from the database.
        let place = "wallet key";
        Err(CustodyError::Tampered { place }.into())
    }
}
