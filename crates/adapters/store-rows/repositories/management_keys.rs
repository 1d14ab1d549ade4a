//! Keys of the management API.

use diesel::prelude::{BoolExpressionMethods, ExpressionMethods, QueryDsl, SelectableHelper};
use diesel_async::RunQueryDsl;
use vestry_domain::Timestamp;
use vestry_domain::ids::{AppId, ManagementKeyId};
use vestry_domain::management_key::ManagementKey;
use vestry_domain::token::TokenHash;
use vestry_ports::port;
use vestry_ports::store::{ManagementKeys, StoreResult};

use super::{Unit, load_all, load_first};
use vestry_store_rows::prepared::Prepared;
use vestry_store_rows::rows::management_keys::ManagementKeyRow;
use vestry_store_rows::schema::management_keys;

#[port]
impl ManagementKeys for Unit {
    async fn insert(&mut self, key: &ManagementKey) -> StoreResult<()> {
        let row = ManagementKeyRow::try_from(key)?;
        let insert = diesel::insert_into(management_keys::table).values(row);
        let inserted = insert.execute(self.writing()?).await;
        self.done(inserted).map(drop)
    }

    async fn find_by_hash(&mut self, hash: &TokenHash) -> StoreResult<Option<ManagementKey>> {
        let query = management_keys::table
            .filter(management_keys::app_id.eq(AppId::BUILT_IN.to_string()))
            .filter(management_keys::hash.eq(hash.0.to_vec()))
            .select(ManagementKeyRow::as_select());
        load_first!(self, query)
    }

    async fn list(&mut self) -> StoreResult<Vec<ManagementKey>> {
        let query = management_keys::table
            .filter(management_keys::app_id.eq(AppId::BUILT_IN.to_string()))
            .order(management_keys::id)
            .select(ManagementKeyRow::as_select());
        load_all!(self, query)
    }

    async fn revoke(&mut self, id: ManagementKeyId, at: Timestamp) -> StoreResult<bool> {
        let key = management_keys::table.filter(
            (management_keys::app_id.eq(AppId::BUILT_IN.to_string()))
                .and(management_keys::id.eq(id.to_string()))
                .and(management_keys::revoked_at.is_null()),
        );
        let update = diesel::update(key).set(management_keys::revoked_at.eq(at.unix()));
        let updated = Prepared(update).execute(self.writing()?).await;
        Ok(self.done(updated)? == 1)
    }
}
