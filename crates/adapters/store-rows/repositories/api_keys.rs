//! API keys and public tokens.

use diesel::prelude::{
    BoolExpressionMethods, ExpressionMethods, JoinOnDsl, OptionalExtension, QueryDsl,
    SelectableHelper,
};
use diesel::upsert::excluded;
use diesel_async::RunQueryDsl;
use vestry_domain::Timestamp;
use vestry_domain::api_key::{ApiKey, KeyUse};
use vestry_domain::app::App;
use vestry_domain::ids::{ApiKeyId, AppId};
use vestry_domain::token::TokenHash;
use vestry_ports::port;
use vestry_ports::store::{ApiKeys, StoreResult};

use super::{Unit, load_all};
use vestry_store_rows::prepared::Prepared;
use vestry_store_rows::rows::apps::{ApiKeyRow, AppRow, KeyUseRow};
use vestry_store_rows::schema::{api_key_uses, api_keys, apps};

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

    async fn update(&mut self, key: &ApiKey) -> StoreResult<bool> {
        let ApiKeyRow {
            app_id,
            environment,
            id,
            name,
            scopes,
            restrictions,
            ..
        } = ApiKeyRow::try_from(key)?;
        let key = api_keys::table.filter(
            (api_keys::app_id.eq(app_id))
                .and(api_keys::environment.eq(environment))
                .and(api_keys::id.eq(id))
                .and(api_keys::revoked_at.is_null()),
        );
        let update = diesel::update(key).set((
            api_keys::name.eq(name),
            api_keys::scopes.eq(scopes),
            api_keys::restrictions.eq(restrictions),
        ));
        let updated = Prepared(update).execute(self.writing()?).await;
        Ok(self.done(updated)? == 1)
    }

    async fn note_uses(&mut self, uses: &[KeyUse]) -> StoreResult<()> {
        for fresh in uses {
            let insert = diesel::insert_into(api_key_uses::table)
                .values(KeyUseRow::from(fresh))
                .on_conflict((
                    api_key_uses::app_id,
                    api_key_uses::environment,
                    api_key_uses::key_id,
                    api_key_uses::operation,
                ))
                .do_update()
                .set(api_key_uses::last_used_at.eq(excluded(api_key_uses::last_used_at)));
            let noted = Prepared(insert).execute(self.writing()?).await;
            self.done(noted)?;
        }
        Ok(())
    }

    async fn uses(&mut self, app: AppId) -> StoreResult<Vec<KeyUse>> {
        let query = api_key_uses::table
            .filter(api_key_uses::app_id.eq(app.to_string()))
            .order((api_key_uses::key_id, api_key_uses::operation))
            .select(KeyUseRow::as_select());
        let found: Vec<KeyUseRow> = {
            let found = query.load(self.reading()?).await;
            self.done(found)?
        };
        let known = found.into_iter().filter(KeyUseRow::is_known);
        known.map(KeyUse::try_from).collect()
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
