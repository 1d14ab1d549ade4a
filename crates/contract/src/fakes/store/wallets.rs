//! Wallets and their keys.

use vestry_domain::World;
use vestry_domain::envelope::{Mac, WalletKey};
use vestry_domain::ids::{UserId, WalletId};
use vestry_domain::wallet::{StoredWallet, WalletType};
use vestry_ports::port;
use vestry_ports::store::{Created, StoreResult, WalletPage, WalletWithKey, Wallets};

use super::Work;
use super::state::{State, add, at_most, remove};

impl State {
    fn wallets_of(
        &self,
        world: World,
        user: Option<UserId>,
    ) -> impl Iterator<Item = &(StoredWallet, Option<WalletKey>)> {
        self.wallets.iter().filter(move |(stored, _)| {
            let owner = stored.wallet.user_id;
            stored.wallet.world == world && user.is_none_or(|user| user == owner)
        })
    }

    /// Adds a row if the unique indexes allow it.
    fn add_wallet(
        &mut self,
        stored: &StoredWallet,
        key: Option<&WalletKey>,
    ) -> Result<Created, &'static str> {
        let wallet = &stored.wallet;
        self.needs_user(wallet.world, wallet.user_id)?;
        let has_default = wallet.is_default
            && self
                .default_wallet(wallet.world, wallet.user_id, wallet.wallet_type)
                .is_some();
        let has_address = self
            .wallet_of_address(wallet.world, wallet.wallet_type, &wallet.public_address)
            .is_some();
        if has_default || has_address {
            return Ok(Created::Exists);
        }
        let row = (stored.clone(), key.cloned());
        add(&mut self.wallets, row, |(a, a_key), (b, b_key)| {
            let same_key = a_key.as_ref().map(|key| key.id) == b_key.as_ref().map(|key| key.id);
            a.wallet.world == b.wallet.world
                && (a.wallet.id == b.wallet.id || a_key.is_some() && same_key)
        })?;
        Ok(Created::Yes)
    }

    fn wallet_of_address(
        &self,
        world: World,
        wallet_type: WalletType,
        public_address: &str,
    ) -> Option<&StoredWallet> {
        let mut rows = self.wallets_of(world, None).map(|(stored, _)| stored);
        rows.find(|stored| {
            stored.wallet.wallet_type == wallet_type
                && stored.wallet.public_address == public_address
        })
    }

    fn default_wallet(
        &self,
        world: World,
        user: UserId,
        wallet_type: WalletType,
    ) -> Option<&StoredWallet> {
        self.wallets_of(world, Some(user))
            .map(|(stored, _)| stored)
            .find(|stored| stored.wallet.is_default && stored.wallet.wallet_type == wallet_type)
    }

    fn under_older(
        &self,
        world: World,
        version: u32,
    ) -> impl Iterator<Item = &(StoredWallet, Option<WalletKey>)> {
        self.wallets_of(world, None).filter(move |(row, key)| {
            let key_version = key.as_ref().map(|key| key.key_version);
            row.mac.key_version < version || key_version.is_some_and(|of| of < version)
        })
    }

    fn page(
        &self,
        world: World,
        user: Option<UserId>,
        after: Option<WalletId>,
        limit: i64,
    ) -> WalletPage {
        let mut all: Vec<_> = self.wallets_of(world, user).map(|(row, _)| row).collect();
        all.sort_by_key(|stored| std::cmp::Reverse(stored.wallet.id));
        let total = i64::try_from(all.len()).unwrap_or(i64::MAX);
        let older = all
            .into_iter()
            .filter(|stored| after.is_none_or(|after| stored.wallet.id < after));
        WalletPage {
            wallets: older.take(at_most(limit)).cloned().collect(),
            total,
        }
    }
}

#[port]
impl Wallets for Work {
    async fn insert(&mut self, stored: &StoredWallet, key: &WalletKey) -> StoreResult<Created> {
        self.writing(|state| state.add_wallet(stored, Some(key)))
    }

    async fn insert_keyless(&mut self, stored: &StoredWallet) -> StoreResult<Created> {
        self.writing(|state| state.add_wallet(stored, None))
    }

    async fn replace(&mut self, stored: &StoredWallet, seen: &Mac) -> StoreResult<bool> {
        self.writing(|state| {
            let mut rows = state.wallets.iter_mut().map(|(row, _)| row);
            let row = rows.find(|row| {
                let (a, b) = (&row.wallet, &stored.wallet);
                a.world == b.world && a.id == b.id && row.mac.tag == seen.tag
            });
            let Some(row) = row else {
                return Ok(false);
            };
            row.wallet.disabled = stored.wallet.disabled;
            row.wallet.is_default = stored.wallet.is_default;
            row.wallet.updated_at = stored.wallet.updated_at;
            row.mac = stored.mac.clone();
            Ok(true)
        })
    }

    async fn under_older(
        &mut self,
        world: &World,
        version: u32,
        after: Option<WalletId>,
        limit: i64,
    ) -> StoreResult<Vec<(StoredWallet, Option<WalletKey>)>> {
        self.reading(|state| {
            let mut found: Vec<_> = state
                .under_older(*world, version)
                .filter(|(row, _)| after.is_none_or(|after| row.wallet.id > after))
                .cloned()
                .collect();
            found.sort_by_key(|(row, _)| row.wallet.id);
            found.truncate(at_most(limit));
            found
        })
    }

    async fn count_under_older(&mut self, world: &World, version: u32) -> StoreResult<i64> {
        self.reading(|state| {
            i64::try_from(state.under_older(*world, version).count()).unwrap_or(i64::MAX)
        })
    }

    async fn rewrap(
        &mut self,
        stored: &StoredWallet,
        key: Option<&WalletKey>,
        seen: &Mac,
    ) -> StoreResult<bool> {
        self.writing(|state| {
            let found = state.wallets.iter_mut().find(|(row, _)| {
                let (a, b) = (&row.wallet, &stored.wallet);
                a.world == b.world && a.id == b.id && row.mac.tag == seen.tag
            });
            let Some((row, old)) = found else {
                return Ok(false);
            };
            row.mac = stored.mac.clone();
            if let (Some(old), Some(key)) = (old, key) {
                old.key_version = key.key_version;
                old.wrapped_data_key.clone_from(&key.wrapped_data_key);
            }
            Ok(true)
        })
    }

    async fn by_address(
        &mut self,
        world: &World,
        wallet_type: WalletType,
        public_address: &str,
    ) -> StoreResult<Option<StoredWallet>> {
        self.reading(|state| {
            state
                .wallet_of_address(*world, wallet_type, public_address)
                .cloned()
        })
    }

    async fn remove_keyless(&mut self, world: &World, user: UserId) -> StoreResult<u64> {
        self.writing(|state| {
            Ok(remove(&mut state.wallets, |(stored, _)| {
                let wallet = &stored.wallet;
                (wallet.world, wallet.user_id) == (*world, user) && wallet.key_id.is_none()
            }))
        })
    }

    async fn find(&mut self, world: &World, id: WalletId) -> StoreResult<Option<StoredWallet>> {
        let found = self.find_with_key(world, id).await?;
        Ok(found.map(|(stored, _)| stored))
    }

    async fn find_with_key(
        &mut self,
        world: &World,
        id: WalletId,
    ) -> StoreResult<Option<(StoredWallet, Option<WalletKey>)>> {
        self.reading(|state| {
            let mut rows = state.wallets_of(*world, None);
            let (stored, key) = rows.find(|(stored, _)| stored.wallet.id == id)?;
            Some((stored.clone(), key.clone()))
        })
    }

    async fn find_all_with_keys(
        &mut self,
        wanted: &[(World, WalletId)],
    ) -> StoreResult<Vec<Option<WalletWithKey>>> {
        let mut all = Vec::with_capacity(wanted.len());
        for (world, id) in wanted {
            all.push(self.find_with_key(world, *id).await?);
        }
        Ok(all)
    }

    async fn default_of(
        &mut self,
        world: &World,
        user: UserId,
        wallet_type: WalletType,
    ) -> StoreResult<Option<StoredWallet>> {
        self.reading(|state| state.default_wallet(*world, user, wallet_type).cloned())
    }

    async fn held_elsewhere(
        &mut self,
        world: &World,
        user: UserId,
        wallet_type: WalletType,
    ) -> StoreResult<Option<StoredWallet>> {
        self.reading(|state| {
            let rows = state.wallets_of(*world, Some(user));
            let held = rows.map(|(stored, _)| stored).filter(|stored| {
                let wallet = &stored.wallet;
                wallet.wallet_type == wallet_type && wallet.key_id.is_none() && wallet.verified
            });
            held.min_by_key(|stored| (stored.wallet.created_at, stored.wallet.id))
                .cloned()
        })
    }

    async fn of_user(&mut self, world: &World, user: UserId) -> StoreResult<Vec<StoredWallet>> {
        self.reading(|state| {
            let rows = state.wallets_of(*world, Some(user));
            let mut wallets: Vec<_> = rows.map(|(stored, _)| stored.clone()).collect();
            wallets.sort_by_key(|stored| stored.wallet.id);
            wallets
        })
    }

    async fn delete(&mut self, world: &World, id: WalletId) -> StoreResult<bool> {
        self.writing(|state| {
            let gone = remove(&mut state.wallets, |(stored, _)| {
                stored.wallet.world == *world && stored.wallet.id == id
            });
            Ok(gone == 1)
        })
    }

    async fn page(
        &mut self,
        world: &World,
        user: Option<UserId>,
        after: Option<WalletId>,
        limit: i64,
    ) -> StoreResult<WalletPage> {
        self.reading(|state| state.page(*world, user, after, limit))
    }

    async fn walk(
        &mut self,
        after: Option<WalletId>,
        limit: i64,
    ) -> StoreResult<Vec<(StoredWallet, WalletKey)>> {
        self.reading(|state| {
            let rows = state.wallets.iter().cloned();
            let mut rows: Vec<_> = rows
                .filter_map(|(stored, key)| Some((stored, key?)))
                .collect();
            rows.retain(|(stored, _)| after.is_none_or(|after| stored.wallet.id > after));
            rows.sort_by_key(|(stored, _)| stored.wallet.id);
            rows.truncate(at_most(limit));
            rows
        })
    }

    async fn without_key(
        &mut self,
        world: &World,
        after: Option<WalletId>,
        limit: i64,
    ) -> StoreResult<Vec<StoredWallet>> {
        self.reading(|state| {
            let rows = state.wallets_of(*world, None);
            let keyless = rows.filter(|(_, key)| key.is_none());
            let mut rows: Vec<_> = keyless.map(|(stored, _)| stored.clone()).collect();
            rows.retain(|stored| after.is_none_or(|after| stored.wallet.id > after));
            rows.sort_by_key(|stored| stored.wallet.id);
            rows.truncate(at_most(limit));
            rows
        })
    }
}
