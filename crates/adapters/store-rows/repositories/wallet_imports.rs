//! Key pairs that encrypt private keys for import.

use diesel::prelude::{BoolExpressionMethods, ExpressionMethods, QueryDsl, SelectableHelper};
use diesel_async::RunQueryDsl;
use vestry_domain::ids::{UserId, WalletImportId};
use vestry_domain::key_transfer::ImportKey;
use vestry_domain::wallet::WalletType;
use vestry_domain::{Timestamp, World};
use vestry_ports::port;
use vestry_ports::store::{StoreResult, SweptWorlds, WalletImports};

use super::{Unit, count, in_world, in_worlds, load_all, oldest_first};
use vestry_store_rows::delete_limited;
use vestry_store_rows::rows::wallet_imports::WalletImportRow;
use vestry_store_rows::schema::wallet_imports;

#[port]
impl WalletImports for Unit {
    async fn insert(&mut self, key: &ImportKey) -> StoreResult<()> {
        let insert = diesel::insert_into(wallet_imports::table).values(WalletImportRow::from(key));
        let inserted = insert.execute(self.writing()?).await;
        self.done(inserted).map(drop)
    }

    async fn living(
        &mut self,
        world: &World,
        wallet_type: WalletType,
        public_address: &str,
        now: Timestamp,
        limit: i64,
    ) -> StoreResult<Vec<ImportKey>> {
        let query = in_world!(wallet_imports, world)
            .filter(wallet_imports::wallet_type.eq(wallet_type.as_str()))
            .filter(wallet_imports::public_address.eq(public_address))
            .filter(wallet_imports::expires_at.gt(now.unix()))
            .order(wallet_imports::id.desc())
            .limit(limit)
            .select(WalletImportRow::as_select());
        load_all!(self, query)
    }

    async fn consume(
        &mut self,
        world: &World,
        id: WalletImportId,
        now: Timestamp,
    ) -> StoreResult<bool> {
        let living = in_world!(wallet_imports, world)
            .filter(wallet_imports::id.eq(id.to_string()))
            .filter(wallet_imports::expires_at.gt(now.unix()));
        let deleted = diesel::delete(living).execute(self.writing()?).await;
        Ok(self.done(deleted)? == 1)
    }

    async fn forget(&mut self, world: &World, user: UserId) -> StoreResult<()> {
        let theirs =
            in_world!(wallet_imports, world).filter(wallet_imports::user_id.eq(user.to_string()));
        let deleted = diesel::delete(theirs).execute(self.writing()?).await;
        self.done(deleted).map(drop)
    }

    async fn sweep(&mut self, worlds: &SweptWorlds, expired_by: Timestamp) -> StoreResult<u64> {
        let old = in_worlds!(wallet_imports, worlds)
            .filter(wallet_imports::expires_at.le(expired_by.unix()));
        let old = oldest_first!(old, worlds, wallet_imports::expires_at);
        delete_limited!(self, wallet_imports, old)
    }
}
