//! API keys and public tokens.

use diesel::prelude::{
    BoolExpressionMethods, ExpressionMethods, JoinOnDsl, OptionalExtension, QueryDsl,
    SelectableHelper,
};
use diesel_async::RunQueryDsl;
use vestry_domain::Timestamp;
use vestry_domain::api_key::ApiKey;
use vestry_domain::app::App;
use vestry_domain::ids::{ApiKeyId, AppId};
use vestry_domain::token::TokenHash;
use vestry_ports::port;
use vestry_ports::store::{ApiKeys, StoreResult};

use super::{Unit, load_all};
use vestry_store_rows::prepared::Prepared;
use vestry_store_rows::rows::apps::{ApiKeyRow, AppRow};
use vestry_store_rows::schema::{api_keys, apps};

#[port]
impl ApiKeys for Unit {
    async fn insert(&mut self, key: &ApiKey) -> StoreResult<()> {
        let row = ApiKeyRow::try_from(key)?;
        let insert = diesel::insert_into(api_keys::table).values(row);
        let inserted = insert.execute(self.writing()?).await;
        self.done(inserted).map(drop)
    }

    async fn find_by_hash(&mut self, hash: &TokenHash) -> StoreResult<Option<(ApiKey, App)>> {
        let query = api_keys::table
            .inner_join(apps::table.on(apps::id.eq(api_keys::app_id)))
            .filter(api_keys::hash.eq(hash.0.to_vec()))
            .select((ApiKeyRow::as_select(), AppRow::as_select()));
        let found = query.first(self.reading()?).await.optional();
        let Some((key, app)) = self.done(found)? else {
            return Ok(None);
        };
        Ok(Some((key.try_into()?, app.try_into()?)))
    }

    async fn list(&mut self, app: AppId) -> StoreResult<Vec<ApiKey>> {
        let query = api_keys::table
            .filter(api_keys::app_id.eq(app.to_string()))
            .order((api_keys::created_at, api_keys::id))
            .select(ApiKeyRow::as_select());
        load_all!(self, query)
    }

    async fn revoke(&mut self, app: AppId, id: ApiKeyId, at: Timestamp) -> StoreResult<bool> {
        let key = api_keys::table.filter(
            (api_keys::app_id.eq(app.to_string()))
                .and(api_keys::id.eq(id.to_string()))
                .and(api_keys::revoked_at.is_null()),
        );
        let update = diesel::update(key).set(api_keys::revoked_at.eq(at.unix()));
        let updated = Prepared(update).execute(self.writing()?).await;
        Ok(self.done(updated)? == 1)
    }
}
