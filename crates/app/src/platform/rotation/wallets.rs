//! Moves wallets to another App key: the keyed hash of the row, and the wrapping of the data key.

use vestry_domain::World;
use vestry_domain::envelope::{Mac, WalletKey};
use vestry_domain::ids::WalletId;
use vestry_domain::wallet::StoredWallet;
use vestry_ports::custody::CustodyError;

use super::{BATCH, Course};
use crate::kernel::fault::retried;
use crate::kernel::key_pins::hold_wallet_key;
use crate::kernel::throttle::paced;
use crate::{Fault, Service};

/// A rewrapped wallet, and the row it replaces.
struct Rewrapped {
    wallet: StoredWallet,
    key: Option<WalletKey>,
    seen: Mac,
}

impl Service {
    /// Returns whether a wallet under an older version can be moved to this one.
    ///
    /// Wallets that fail authentication are not counted: otherwise they would keep the environment from ever getting a new key.
    pub(super) async fn has_wallets_to_rewrap(
        &self,
        world: &World,
        version: u32,
    ) -> Result<bool, Fault> {
        let mut after = None;
        loop {
            let page = self.page_under_older(world, version, after).await?;
            let Some((last, _)) = page.last() else {
                return Ok(false);
            };
            after = Some(last.wallet.id);
            let (batch, _failed) = self.rewrap_page(page, version).await?;
            if !batch.is_empty() {
                return Ok(true);
            }
        }
    }

    async fn page_under_older(
        &self,
        world: &World,
        version: u32,
        after: Option<WalletId>,
    ) -> Result<Vec<(StoredWallet, Option<WalletKey>)>, Fault> {
        let mut read = self.ports.store.read().await?;
        Ok(read
            .wallets()
            .under_older(world, version, after, BATCH)
            .await?)
    }

    pub(super) async fn wallets_under_older(
        &self,
        world: &World,
        version: u32,
    ) -> Result<u64, Fault> {
        let mut read = self.ports.store.read().await?;
        let left = read.wallets().count_under_older(world, version).await?;
        Ok(u64::try_from(left).unwrap_or_default())
    }

    /// Scans the environment until a scan finds nothing left to move.
    pub(super) async fn rewrap_wallets(
        &self,
        world: &World,
        version: u32,
        course: &mut Course<'_>,
    ) -> Result<(), Fault> {
        loop {
            let before = course.rotation.rewrapped;
            let mut after = None;
            loop {
                let page = self.page_under_older(world, version, after).await?;
                let Some((last, _)) = page.last() else { break };
                after = Some(last.wallet.id);
                let (batch, failed) = self.rewrap_page(page, version).await?;
                course.rotation.failed.extend(failed);
                let kept = paced(retried(|| self.keep_rewrapped(&batch)));
                course.rotation.rewrapped += kept.await?;
                course.show();
            }
            if course.rotation.rewrapped == before {
                return Ok(());
            }
        }
    }

    /// Rewraps a page. Returns the wallets to write, and those that failed authentication.
    async fn rewrap_page(
        &self,
        page: Vec<(StoredWallet, Option<WalletKey>)>,
        version: u32,
    ) -> Result<(Vec<Rewrapped>, Vec<WalletId>), Fault> {
        let (mut batch, mut failed) = (Vec::with_capacity(page.len()), Vec::new());
        for (stored, key) in page {
            let (id, seen) = (stored.wallet.id, stored.mac.clone());
            let custodian = &self.ports.custodian;
            match custodian.rewrap_wallet(stored, key, version).await {
                Ok((wallet, key)) => batch.push(Rewrapped { wallet, key, seen }),
                Err(CustodyError::Tampered { .. }) => failed.push(id),
                Err(other) => return Err(other.into()),
            }
        }
        Ok((batch, failed))
    }

    /// Writes a batch. Returns the number of rows that were unchanged since they were read.
    async fn keep_rewrapped(&self, batch: &[Rewrapped]) -> Result<u64, Fault> {
        let mut tx = self.ports.store.begin().await?;
        let mut kept = 0;
        if let Some(Rewrapped { wallet, .. }) = batch.first() {
            // All rows belong to one environment and move to one version.
            let (world, version) = (&wallet.wallet.world, wallet.mac.key_version);
            hold_wallet_key(&mut *tx, world, version).await?;
        }
        for Rewrapped { wallet, key, seen } in batch {
            if tx.wallets().rewrap(wallet, key.as_ref(), seen).await? {
                kept += 1;
            }
        }
        tx.commit().await?;
        Ok(kept)
    }
}
