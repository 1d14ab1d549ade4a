//! Wallets and their keys.

use async_trait::async_trait;
use vestry_domain::World;
use vestry_domain::envelope::WalletKey;
use vestry_domain::ids::{UserId, WalletId};
use vestry_domain::wallet::{StoredWallet, WalletType};
use vestry_ports::store::{Created, StoreResult, WalletPage, Wallets};

use super::Work;
use super::state::{State, add, at_most, remove};

impl State {
    fn wallets_of(
        &self,
        world: World,
        user: Option<UserId>,
    ) -> impl Iterator<Item = &(StoredWallet, WalletKey)> {
        self.wallets.iter().filter(move |(stored, _)| {
            let owner = stored.wallet.user_id;
            stored.wallet.world == world && user.is_none_or(|user| user == owner)
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

#[async_trait]
impl Wallets for Work {
    async fn insert(&mut self, stored: &StoredWallet, key: &WalletKey) -> StoreResult<Created> {
        self.writing(|state| {
            let wallet = &stored.wallet;
            state.needs_user(wallet.world, wallet.user_id)?;
            let has_default = wallet.is_default
                && state
                    .default_wallet(wallet.world, wallet.user_id, wallet.wallet_type)
                    .is_some();
            let has_address = state.wallets_of(wallet.world, None).any(|(row, _)| {
                row.wallet.wallet_type == wallet.wallet_type
                    && row.wallet.public_address == wallet.public_address
            });
            if has_default || has_address {
                return Ok(Created::Exists);
            }
            let row = (stored.clone(), key.clone());
            add(&mut state.wallets, row, |(a, a_key), (b, b_key)| {
                a.wallet.world == b.wallet.world
                    && (a.wallet.id == b.wallet.id || a_key.id == b_key.id)
            })?;
            Ok(Created::Yes)
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
            Some((stored.clone(), Some(key.clone())))
        })
    }

    async fn default_of(
        &mut self,
        world: &World,
        user: UserId,
        wallet_type: WalletType,
    ) -> StoreResult<Option<StoredWallet>> {
        self.reading(|state| state.default_wallet(*world, user, wallet_type).cloned())
    }

    async fn of_user(&mut self, world: &World, user: UserId) -> StoreResult<Vec<StoredWallet>> {
        self.reading(|state| {
            let rows = state.wallets_of(*world, Some(user));
            let mut wallets: Vec<_> = rows.map(|(stored, _)| stored.clone()).collect();
            wallets.sort_by_key(|stored| stored.wallet.id);
            wallets
        })
    }

    async fn of_users(
        &mut self,
        world: &World,
        users: &[UserId],
    ) -> StoreResult<Vec<StoredWallet>> {
        self.reading(|state| {
            let rows = state.wallets_of(*world, None).map(|(stored, _)| stored);
            let mut wallets: Vec<_> = rows
                .filter(|stored| users.contains(&stored.wallet.user_id))
                .cloned()
                .collect();
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
            let mut rows = state.wallets.clone();
            rows.retain(|(stored, _)| after.is_none_or(|after| stored.wallet.id > after));
            rows.sort_by_key(|(stored, _)| stored.wallet.id);
            rows.truncate(at_most(limit));
            rows
        })
    }
}
