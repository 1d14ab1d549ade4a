//! Writing to the journal: before a wallet or an App is committed, so that no restore loses one (PR-148).

use vestry_domain::app::App;
use vestry_domain::envelope::{AppKey, KeyPurpose, WalletKey};
use vestry_domain::ids::AppId;
use vestry_domain::journal::{JournalEntry, JournaledApp};
use vestry_domain::wallet::StoredWallet;

use crate::kernel::state::journal_lines::{NewLine, WITHIN};
use crate::{Fault, Service};

impl Service {
    /// Stores a new wallet in the journal. Does nothing without one.
    ///
    /// Call it before the transaction that stores the wallet. An entry whose wallet was never committed is harmless.
    ///
    /// # Errors
    /// [`Fault::Unavailable`]: the wallet must not be stored then.
    pub(crate) async fn journal_wallet(
        &self,
        wallet: &StoredWallet,
        key: &WalletKey,
    ) -> Result<(), Fault> {
        if self.journal.is_none() {
            return Ok(());
        }
        let world = &wallet.wallet.world;
        let mut read = self.ports.store.read().await?;
        let keys = read.app_keys();
        let app_key = keys
            .find(world, KeyPurpose::Wallets, key.key_version)
            .await?;
        drop(read);
        let retired = || Fault::Unavailable("App key was retired before it could be used".into());
        let app_key = app_key.ok_or_else(retired)?;
        let entry = JournalEntry::wallet(wallet.clone(), key.clone(), app_key);
        let entry = entry.ok_or_else(|| Fault::Internal("a new wallet is no new wallet".into()))?;
        self.store_in_journal(world.app_id, &entry).await
    }

    /// Stores a new App in the journal. Does nothing without one.
    ///
    /// # Errors
    /// As for [`Service::journal_wallet`].
    pub(crate) async fn journal_app(&self, app: &App, keys: &[AppKey]) -> Result<(), Fault> {
        if self.journal.is_none() {
            return Ok(());
        }
        let entry = JournalEntry::App(JournaledApp {
            id: app.id,
            name: app.name.clone(),
            created_at: app.created_at,
            keys: keys.to_vec(),
        });
        self.store_in_journal(app.id, &entry).await
    }

    async fn store_in_journal(&self, app: AppId, entry: &JournalEntry) -> Result<(), Fault> {
        let Some(journal) = &self.journal else {
            return Ok(());
        };
        let line = entry.line();
        let line = line.map_err(|error| Fault::Internal(Box::new(error)))?;
        let stored = self.batched(journal, NewLine { app, line });
        match tokio::time::timeout(WITHIN, stored).await {
            Ok(Some(Ok(()))) => Ok(()),
            Ok(Some(Err(error))) => Err(Fault::Unavailable(Box::new(error))),
            Ok(None) => Err(Fault::Unavailable("the journal was not written".into())),
            Err(elapsed) => Err(Fault::Unavailable(Box::new(elapsed))),
        }
    }
}
