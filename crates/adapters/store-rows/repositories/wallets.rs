//! Wallets and their keys.

use std::collections::{HashMap, HashSet};

use diesel::prelude::{
    BoolExpressionMethods, ExpressionMethods, JoinOnDsl, NullableExpressionMethods,
    OptionalExtension, QueryDsl, SelectableHelper,
};
use diesel_async::RunQueryDsl;
use vestry_domain::World;
use vestry_domain::envelope::{Mac, WalletKey};
use vestry_domain::ids::{UserId, WalletId};
use vestry_domain::wallet::{StoredWallet, WalletType};
use vestry_ports::port;
use vestry_ports::store::{Created, StoreResult, WalletPage, WalletWithKey, Wallets};

use super::dialect::{self, wallets_with_keys};
use super::{Unit, count, in_world, its_key, load_all, load_first, read_all};
use vestry_store_rows::prepared::Prepared;
use vestry_store_rows::rows::wallets::{WalletKeyRow, WalletRow};
use vestry_store_rows::schema::{wallet_keys, wallets};

/// The condition for a wallet, joined with its key, that a rotation of App keys has not reached yet.
macro_rules! under_older {
    ($version:expr) => {
        wallets::mac_key_version
            .lt(i64::from($version))
            .nullable()
            .or(wallet_keys::key_version.nullable().lt(i64::from($version)))
    };
}

fn with_its_key(
    wallet: WalletRow,
    key: Option<WalletKeyRow>,
) -> StoreResult<(StoredWallet, Option<WalletKey>)> {
    let key = key.map(WalletKey::try_from).transpose()?;
    Ok((wallet.try_into()?, key))
}

#[port]
impl Wallets for Unit {
    async fn insert(&mut self, wallet: &StoredWallet, key: &WalletKey) -> StoreResult<Created> {
        let insert = diesel::insert_into(wallets::table)
            .values(WalletRow::from(wallet))
            .on_conflict_do_nothing();
        let inserted = insert.execute(self.writing()?).await;
        if self.done(inserted)? == 0 {
            return Ok(Created::Exists);
        }
        let row = WalletKeyRow::new(&wallet.wallet.world, key);
        let insert = diesel::insert_into(wallet_keys::table).values(row);
        let inserted = dialect::defer!(self.writing()?, insert).await;
        self.done(inserted)?;
        Ok(Created::Yes)
    }

    async fn insert_keyless(&mut self, wallet: &StoredWallet) -> StoreResult<Created> {
        let insert = diesel::insert_into(wallets::table)
            .values(WalletRow::from(wallet))
            .on_conflict_do_nothing();
        let inserted = insert.execute(self.writing()?).await;
        Ok(match self.done(inserted)? {
            0 => Created::Exists,
            _ => Created::Yes,
        })
    }

    async fn replace(&mut self, stored: &StoredWallet, seen: &Mac) -> StoreResult<bool> {
        let StoredWallet { wallet, mac } = stored;
        let row = in_world!(wallets, wallet.world)
            .filter(wallets::id.eq(wallet.id.to_string()))
            .filter(wallets::mac.eq(&seen.tag));
        let replace = diesel::update(row).set((
            wallets::is_default.eq(wallet.is_default),
            wallets::disabled_at.eq(wallet.disabled.map(|disabled| disabled.at.unix())),
            wallets::disabled_reason.eq(wallet.disabled.map(|disabled| disabled.reason.as_str())),
            wallets::updated_at.eq(wallet.updated_at.unix()),
            wallets::mac_key_version.eq(i64::from(mac.key_version)),
            wallets::mac.eq(&mac.tag),
        ));
        let replaced = replace.execute(self.writing()?).await;
        Ok(self.done(replaced)? == 1)
    }

    async fn by_address(
        &mut self,
        world: &World,
        wallet_type: WalletType,
        public_address: &str,
    ) -> StoreResult<Option<StoredWallet>> {
        let query = in_world!(wallets, world)
            .filter(wallets::wallet_type.eq(wallet_type.as_str()))
            .filter(wallets::public_address.eq(public_address))
            .select(WalletRow::as_select());
        load_first!(self, query)
    }

    async fn remove_keyless(&mut self, world: &World, user: UserId) -> StoreResult<u64> {
        let keyless = in_world!(wallets, world)
            .filter(wallets::user_id.eq(user.to_string()))
            .filter(wallets::key_id.is_null());
        let removed = diesel::delete(keyless).execute(self.writing()?).await;
        self.done(removed).map(count)
    }

    async fn find(&mut self, world: &World, id: WalletId) -> StoreResult<Option<StoredWallet>> {
        let query = in_world!(wallets, world)
            .filter(wallets::id.eq(id.to_string()))
            .select(WalletRow::as_select());
        load_first!(self, query)
    }

    async fn find_with_key(
        &mut self,
        world: &World,
        id: WalletId,
    ) -> StoreResult<Option<(StoredWallet, Option<WalletKey>)>> {
        let query = in_world!(wallets, world)
            .filter(wallets::id.eq(id.to_string()))
            .left_join(wallet_keys::table.on(its_key!()))
            .select((WalletRow::as_select(), Option::<WalletKeyRow>::as_select()));
        let found = query.first(self.reading()?).await.optional();
        let found: Option<(WalletRow, Option<WalletKeyRow>)> = self.done(found)?;
        found
            .map(|(wallet, key)| with_its_key(wallet, key))
            .transpose()
    }

    async fn find_all_with_keys(
        &mut self,
        wanted: &[(World, WalletId)],
    ) -> StoreResult<Vec<Option<WalletWithKey>>> {
        let distinct: HashSet<_> = wanted.iter().copied().collect();
        let (distinct, is_distributed) = (distinct.into_iter().collect(), self.is_distributed());
        let found = wallets_with_keys(self.reading()?, distinct, is_distributed).await;
        let mut rows = HashMap::with_capacity(wanted.len());
        for (wallet, key) in self.done(found)? {
            let found = with_its_key(wallet, key)?;
            rows.insert((found.0.wallet.world, found.0.wallet.id), found);
        }
        Ok(wanted.iter().map(|id| rows.get(id).cloned()).collect())
    }

    async fn default_of(
        &mut self,
        world: &World,
        user: UserId,
        wallet_type: WalletType,
    ) -> StoreResult<Option<StoredWallet>> {
        let query = in_world!(wallets, world)
            .filter(wallets::user_id.eq(user.to_string()))
            .filter(wallets::wallet_type.eq(wallet_type.as_str()))
            .filter(wallets::is_default)
            .select(WalletRow::as_select());
        load_first!(self, query)
    }

    async fn held_elsewhere(
        &mut self,
        world: &World,
        user: UserId,
        wallet_type: WalletType,
    ) -> StoreResult<Option<StoredWallet>> {
        let query = in_world!(wallets, world)
            .filter(wallets::user_id.eq(user.to_string()))
            .filter(wallets::wallet_type.eq(wallet_type.as_str()))
            .filter(wallets::key_id.is_null())
            .filter(wallets::verified)
            .order((wallets::created_at, wallets::id))
            .select(WalletRow::as_select());
        load_first!(self, query)
    }

    async fn of_user(&mut self, world: &World, user: UserId) -> StoreResult<Vec<StoredWallet>> {
        let query = in_world!(wallets, world)
            .filter(wallets::user_id.eq(user.to_string()))
            .order((wallets::created_at, wallets::id))
            .select(WalletRow::as_select());
        load_all!(self, query)
    }

    async fn delete(&mut self, world: &World, id: WalletId) -> StoreResult<bool> {
        let key = in_world!(wallet_keys, world).filter(wallet_keys::wallet_id.eq(id.to_string()));
        let deleted = diesel::delete(key).execute(self.writing()?).await;
        self.done(deleted)?;
        let row = in_world!(wallets, world).filter(wallets::id.eq(id.to_string()));
        let deleted = diesel::delete(row).execute(self.writing()?).await;
        Ok(self.done(deleted)? == 1)
    }

    async fn page(
        &mut self,
        world: &World,
        user: Option<UserId>,
        after: Option<WalletId>,
        limit: i64,
    ) -> StoreResult<WalletPage> {
        let mut total = in_world!(wallets, world).into_boxed();
        let mut page = in_world!(wallets, world)
            .order(wallets::id.desc())
            .limit(limit)
            .select(WalletRow::as_select())
            .into_boxed();
        if let Some(user) = user {
            total = total.filter(wallets::user_id.eq(user.to_string()));
            page = page.filter(wallets::user_id.eq(user.to_string()));
        }
        if let Some(after) = after {
            page = page.filter(wallets::id.lt(after.to_string()));
        }
        let total = total.count().get_result(self.reading()?).await;
        let total = self.done(total)?;
        let found = page.load(self.reading()?).await;
        Ok(WalletPage {
            wallets: read_all(self.done(found)?)?,
            total,
        })
    }

    async fn under_older(
        &mut self,
        world: &World,
        version: u32,
        after: Option<WalletId>,
        limit: i64,
    ) -> StoreResult<Vec<(StoredWallet, Option<WalletKey>)>> {
        let after = after.map(|id| id.to_string()).unwrap_or_default();
        let query = in_world!(wallets, world)
            .left_join(wallet_keys::table.on(its_key!()))
            .filter(wallets::id.gt(after))
            .filter(under_older!(version))
            .order(wallets::id)
            .limit(limit)
            .select((WalletRow::as_select(), Option::<WalletKeyRow>::as_select()));
        let found = query.load(self.reading()?).await;
        let found: Vec<(WalletRow, Option<WalletKeyRow>)> = self.done(found)?;
        found
            .into_iter()
            .map(|(wallet, key)| with_its_key(wallet, key))
            .collect()
    }

    async fn count_under_older(&mut self, world: &World, version: u32) -> StoreResult<i64> {
        let query = in_world!(wallets, world)
            .left_join(wallet_keys::table.on(its_key!()))
            .filter(under_older!(version))
            .count();
        let counted = query.get_result(self.reading()?).await;
        self.done(counted)
    }

    async fn rewrap(
        &mut self,
        stored: &StoredWallet,
        key: Option<&WalletKey>,
        seen: &Mac,
    ) -> StoreResult<bool> {
        let StoredWallet { wallet, mac } = stored;
        let row = in_world!(wallets, wallet.world)
            .filter(wallets::id.eq(wallet.id.to_string()))
            .filter(wallets::mac.eq(&seen.tag));
        let update = diesel::update(row).set((
            wallets::mac_key_version.eq(i64::from(mac.key_version)),
            wallets::mac.eq(&mac.tag),
        ));
        let updated = Prepared(update).execute(self.writing()?).await;
        if self.done(updated)? == 0 {
            return Ok(false);
        }
        let Some(key) = key else { return Ok(true) };
        let row = in_world!(wallet_keys, wallet.world)
            .filter(wallet_keys::id.eq(key.id.to_string()))
            .filter(wallet_keys::wallet_id.eq(key.wallet_id.to_string()));
        let update = diesel::update(row).set((
            wallet_keys::key_version.eq(i64::from(key.key_version)),
            wallet_keys::wrapped_data_key.eq(&key.wrapped_data_key),
        ));
        let updated = Prepared(update).execute(self.writing()?).await;
        self.done(updated).map(|rows| rows == 1)
    }

    async fn walk(
        &mut self,
        after: Option<WalletId>,
        limit: i64,
    ) -> StoreResult<Vec<(StoredWallet, WalletKey)>> {
        // Every id is greater than the empty string.
        let after = after.map(|id| id.to_string()).unwrap_or_default();
        // Starts from the keys, which have an index for it.
        let query = wallet_keys::table
            .inner_join(wallets::table.on(its_key!()))
            .filter(wallet_keys::wallet_id.gt(after))
            .order(wallet_keys::wallet_id)
            .limit(limit)
            .select((WalletRow::as_select(), WalletKeyRow::as_select()));
        let found = query.load(self.reading()?).await;
        let found: Vec<(WalletRow, WalletKeyRow)> = self.done(found)?;
        found
            .into_iter()
            .map(|(wallet, key)| Ok((wallet.try_into()?, key.try_into()?)))
            .collect()
    }

    async fn without_key(
        &mut self,
        world: &World,
        after: Option<WalletId>,
        limit: i64,
    ) -> StoreResult<Vec<StoredWallet>> {
        let after = after.map(|id| id.to_string()).unwrap_or_default();
        let query = in_world!(wallets, world)
            .left_join(wallet_keys::table.on(its_key!()))
            .filter(wallets::id.gt(after))
            .filter(wallet_keys::id.nullable().is_null())
            .order(wallets::id)
            .limit(limit)
            .select(WalletRow::as_select());
        load_all!(self, query)
    }
}
