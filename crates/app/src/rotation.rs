//! `vestry vault rotate-apps`: new App keys under all wallets. Admin only; no API key opens any of this.

use vestry_domain::envelope::{KeyPurpose, Mac, WalletKey};
use vestry_domain::ids::WalletId;
use vestry_domain::wallet::StoredWallet;
use vestry_domain::{Environment, World};
use vestry_ports::custody::{CustodyError, NEWEST_WITHIN};
use vestry_ports::store::{Repositories, StoreError};

use crate::fault::retried;
use crate::pace::paced;
use crate::vault::hold_root;
use crate::{Fault, Service};

/// What `vault rotate-apps` did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AppRotation {
    /// Worlds that got a new App key.
    pub minted: u64,
    /// Wallets that are under the newest App key of their world since this run.
    pub rewrapped: u64,
    /// Wallets that failed their authentication and were left as they are.
    pub failed: Vec<WalletId>,
    /// Old App keys that were destroyed.
    pub retired: u64,
}

/// Wallets in one transaction. Signatures only read the rows, but their entries in the audit log wait for it on SQLite, which
/// has one writer at a time.
const BATCH: i64 = 50;

/// How far a rotation is.
struct Course<'a> {
    rotation: AppRotation,
    total: u64,
    progress: &'a (dyn Fn(u64, u64) + Send + Sync),
}

/// A wallet under another version of the App key, and what it looked like before.
struct Rewrapped {
    wallet: StoredWallet,
    key: Option<WalletKey>,
    seen: Mac,
}

impl Service {
    /// Gives every world a new App key for its wallets and wraps their data keys under it. Online and resumable: private keys
    /// are not opened, running services open every version, and a world in which an earlier run was cut off is finished
    /// under the key that that run made.
    ///
    /// With `retire`, waits until every process uses the new keys, brings in what was made meanwhile, and destroys the old
    /// ones of each world in which nothing stands under them any more. Backups made before cannot be opened then.
    ///
    /// Small secrets (codes, seeds, hashes of passwords) are under App keys of their own, which this leaves alone.
    ///
    /// # Errors
    /// See [`Fault`]; a wallet that fails its authentication is a finding, not an error.
    pub async fn vault_rotate_apps(
        &self,
        retire: bool,
        progress: &(dyn Fn(u64, u64) + Send + Sync),
    ) -> Result<AppRotation, Fault> {
        let mut course = Course {
            rotation: AppRotation::default(),
            total: 0,
            progress,
        };
        let mut versions = Vec::new();
        for world in self.worlds_with_keys().await? {
            versions.push((world, self.next_version(&world, &mut course).await?));
        }
        for (world, version) in &versions {
            course.total += self.left_under_older(world, *version).await?;
        }
        for (world, version) in &versions {
            self.rewrap_world(world, *version, &mut course).await?;
        }
        if retire {
            // Until then a process may make wallets under the old key.
            tokio::time::sleep(NEWEST_WITHIN * 3 / 2).await;
            let rewrapped = course.rotation.rewrapped;
            for (world, version) in &versions {
                self.rewrap_world(world, *version, &mut course).await?;
            }
            if course.rotation.rewrapped > rewrapped {
                // And until then one may sign with what it read of a wallet before.
                tokio::time::sleep(NEWEST_WITHIN * 3 / 2).await;
            }
            for (world, version) in &versions {
                self.retire(world, *version, &mut course).await?;
            }
        }
        course.rotation.failed.sort_unstable();
        course.rotation.failed.dedup();
        Ok(course.rotation)
    }

    pub(crate) async fn worlds_with_keys(&self) -> Result<Vec<World>, Fault> {
        let apps = self.ports.store.read().await?.apps().list().await?;
        let worlds = apps
            .iter()
            .flat_map(|app| Environment::ALL.map(|environment| World::new(app.id, environment)));
        Ok(worlds.collect())
    }

    /// The version that the world's wallets are to be under: the newest there is while not all of them are, else a new one.
    async fn next_version(&self, world: &World, course: &mut Course<'_>) -> Result<u32, Fault> {
        let mut read = self.ports.store.read().await?;
        let newest = read.app_keys().newest(world, KeyPurpose::Wallets).await?;
        drop(read);
        let newest = newest.map_or(0, |key| key.version);
        if self.has_work(world, newest).await? {
            return Ok(newest);
        }
        let version = newest.saturating_add(1);
        let now = self.machine_time();
        let added = retried(|| async {
            let custodian = &self.ports.custodian;
            let key = custodian.mint_app_key(world, KeyPurpose::Wallets, version, now);
            let key = key.await?;
            let mut tx = self.ports.store.begin().await?;
            hold_root(&mut *tx, &key).await?;
            let added = tx.app_keys().add(&key).await?;
            tx.commit().await?;
            Ok::<_, Fault>(added)
        });
        // Another rotation may have been faster; then its key is the one.
        if added.await? {
            course.rotation.minted += 1;
        }
        Ok(version)
    }

    /// Whether a wallet of the world is under an older version and can be brought under this one: those that fail their
    /// authentication never can, and must not keep the world from ever getting a new key.
    async fn has_work(&self, world: &World, version: u32) -> Result<bool, Fault> {
        let mut after = None;
        loop {
            let page = self.page_under_older(world, version, after).await?;
            let Some((last, _)) = page.last() else {
                return Ok(false);
            };
            after = Some(last.wallet.id);
            for (stored, key) in page {
                let custodian = &self.ports.custodian;
                match custodian.rewrap_wallet(stored, key, version).await {
                    Ok(_) => return Ok(true),
                    Err(CustodyError::Tampered { .. }) => {}
                    Err(other) => return Err(other.into()),
                }
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

    async fn left_under_older(&self, world: &World, version: u32) -> Result<u64, Fault> {
        let mut read = self.ports.store.read().await?;
        let left = read.wallets().count_under_older(world, version).await?;
        Ok(u64::try_from(left).unwrap_or_default())
    }

    /// Walks over the world until a walk finds nothing to do any more.
    async fn rewrap_world(
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
                let batch = self.rewrap_page(page, version, course).await?;
                let kept = paced(retried(|| self.keep_rewrapped(&batch)));
                course.rotation.rewrapped += kept.await?;
                course.total = course.total.max(course.rotation.rewrapped);
                (course.progress)(course.rotation.rewrapped, course.total);
            }
            if course.rotation.rewrapped == before {
                return Ok(());
            }
        }
    }

    async fn rewrap_page(
        &self,
        page: Vec<(StoredWallet, Option<WalletKey>)>,
        version: u32,
        course: &mut Course<'_>,
    ) -> Result<Vec<Rewrapped>, Fault> {
        let mut batch = Vec::with_capacity(page.len());
        for (stored, key) in page {
            let (id, seen) = (stored.wallet.id, stored.mac.clone());
            let custodian = &self.ports.custodian;
            match custodian.rewrap_wallet(stored, key, version).await {
                Ok((wallet, key)) => batch.push(Rewrapped { wallet, key, seen }),
                Err(CustodyError::Tampered { .. }) => course.rotation.failed.push(id),
                Err(other) => return Err(other.into()),
            }
        }
        Ok(batch)
    }

    /// Writes a batch; answers how many of it were still as they had been read.
    async fn keep_rewrapped(&self, batch: &[Rewrapped]) -> Result<u64, Fault> {
        let mut tx = self.ports.store.begin().await?;
        let mut kept = 0;
        if let Some(Rewrapped { wallet, .. }) = batch.first() {
            // All are of one world and come under one version.
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

    /// Destroys the older keys of a world if nothing stands under them, no key pair of an open import either.
    async fn retire(
        &self,
        world: &World,
        version: u32,
        course: &mut Course<'_>,
    ) -> Result<(), Fault> {
        // Not yet the decision, but no reason to hold up who writes.
        if self.left_under_older(world, version).await? > 0 {
            return Ok(());
        }
        let now = self.now(world);
        let retired = retried(|| async {
            let mut tx = self.ports.store.begin().await?;
            // First the keys, then the look: what is written under one meanwhile has held it, and is seen, or does not get it.
            let keys = tx.app_keys();
            let removed = keys.remove_below(world, KeyPurpose::Wallets, version);
            let removed = removed.await?;
            if tx.wallets().count_under_older(world, version).await? > 0 {
                return Ok(0);
            }
            // They live a quarter of an hour; the next run finds them gone.
            let imports = tx.wallet_imports().count_under_older(world, version, now);
            if imports.await? > 0 {
                return Ok(0);
            }
            tx.commit().await?;
            Ok::<_, Fault>(removed)
        });
        course.rotation.retired += retired.await?;
        Ok(())
    }
}

/// To be called in the transaction that writes what stands under a version of a world's App key for wallets, before that is
/// written: nobody destroys the key then.
///
/// # Errors
/// [`StoreError::Unavailable`] when it was destroyed already: this process learned too late that there is a newer one. Running the
/// transaction again would not help; trying again after [`NEWEST_WITHIN`] does.
pub(crate) async fn hold_wallet_key(
    tx: &mut dyn Repositories,
    world: &World,
    version: u32,
) -> Result<(), StoreError> {
    let keys = tx.app_keys();
    if keys.hold(world, KeyPurpose::Wallets, version).await? {
        return Ok(());
    }
    Err(StoreError::Unavailable(
        "the App key was destroyed before something could be stored under it".into(),
    ))
}
