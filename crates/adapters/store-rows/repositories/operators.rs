//! Operators and the links that let them in.

use diesel::prelude::{ExpressionMethods, OptionalExtension, QueryDsl, SelectableHelper};
use diesel_async::RunQueryDsl;
use vestry_domain::Timestamp;
use vestry_domain::email::EmailIdentity;
use vestry_domain::event::Actor;
use vestry_domain::ids::{AppId, OperatorLinkId, UserId};
use vestry_domain::operator::{Grants, Operator, OperatorLink};
use vestry_domain::token::TokenHash;
use vestry_ports::port;
use vestry_ports::store::{OperatorLinks, Operators, StoreResult};

use super::{Unit, count, dialect, load_all, load_first};
use vestry_store_rows::prepared::Prepared;
use vestry_store_rows::rows::operators::{OperatorLinkRow, OperatorRow};
use vestry_store_rows::rows::to_json;
use vestry_store_rows::schema::{operator_links, operators};

#[port]
impl Operators for Unit {
    async fn insert(&mut self, operator: &Operator) -> StoreResult<bool> {
        let row = OperatorRow::try_from(operator)?;
        let insert = diesel::insert_into(operators::table)
            .values(row)
            .on_conflict_do_nothing();
        let inserted = insert.execute(self.writing()?).await;
        Ok(self.done(inserted)? == 1)
    }

    async fn find(&mut self, user: UserId) -> StoreResult<Option<Operator>> {
        let query = operators::table
            .filter(operators::app_id.eq(AppId::BUILT_IN.to_string()))
            .filter(operators::user_id.eq(user.to_string()))
            .select(OperatorRow::as_select());
        load_first!(self, query)
    }

    async fn list(&mut self) -> StoreResult<Vec<Operator>> {
        let query = operators::table
            .filter(operators::app_id.eq(AppId::BUILT_IN.to_string()))
            .order(operators::user_id)
            .select(OperatorRow::as_select());
        load_all!(self, query)
    }

    async fn lock_all(&mut self) -> StoreResult<Vec<Operator>> {
        let query = operators::table
            .filter(operators::app_id.eq(AppId::BUILT_IN.to_string()))
            .order(operators::user_id)
            .select(OperatorRow::as_select());
        let found = dialect::for_update!(query).load(self.writing()?).await;
        let rows = self.done(found)?.into_iter();
        rows.map(Operator::try_from).collect()
    }

    async fn update(&mut self, user: UserId, grants: &Grants, at: Timestamp) -> StoreResult<bool> {
        let operator = operators::table
            .filter(operators::app_id.eq(AppId::BUILT_IN.to_string()))
            .filter(operators::user_id.eq(user.to_string()));
        let update = diesel::update(operator).set((
            operators::grants.eq(to_json(grants)?),
            operators::updated_at.eq(at.unix()),
        ));
        let updated = Prepared(update).execute(self.writing()?).await;
        Ok(self.done(updated)? == 1)
    }

    async fn remove(&mut self, user: UserId) -> StoreResult<bool> {
        let operator = operators::table
            .filter(operators::app_id.eq(AppId::BUILT_IN.to_string()))
            .filter(operators::user_id.eq(user.to_string()));
        let removed = diesel::delete(operator).execute(self.writing()?).await;
        Ok(self.done(removed)? == 1)
    }
}

#[port]
impl OperatorLinks for Unit {
    async fn insert(&mut self, link: &OperatorLink) -> StoreResult<()> {
        let row = OperatorLinkRow::try_from(link)?;
        let insert = diesel::insert_into(operator_links::table).values(row);
        let inserted = insert.execute(self.writing()?).await;
        self.done(inserted).map(drop)
    }

    async fn find(&mut self, hash: &TokenHash) -> StoreResult<Option<OperatorLink>> {
        let query = operator_links::table
            .filter(operator_links::app_id.eq(AppId::BUILT_IN.to_string()))
            .filter(operator_links::hash.eq(hash.0.to_vec()))
            .select(OperatorLinkRow::as_select());
        load_first!(self, query)
    }

    async fn list_open(&mut self, now: Timestamp) -> StoreResult<Vec<OperatorLink>> {
        let query = operator_links::table
            .filter(operator_links::app_id.eq(AppId::BUILT_IN.to_string()))
            .filter(operator_links::used_at.is_null())
            .filter(operator_links::expires_at.gt(now.unix()))
            .order(operator_links::id)
            .select(OperatorLinkRow::as_select());
        load_all!(self, query)
    }

    async fn consume(
        &mut self,
        hash: &TokenHash,
        now: Timestamp,
    ) -> StoreResult<Option<OperatorLink>> {
        let link = operator_links::table
            .filter(operator_links::app_id.eq(AppId::BUILT_IN.to_string()))
            .filter(operator_links::hash.eq(hash.0.to_vec()))
            .filter(operator_links::used_at.is_null())
            .filter(operator_links::expires_at.gt(now.unix()));
        let consumed = diesel::update(link)
            .set(operator_links::used_at.eq(now.unix()))
            .returning(OperatorLinkRow::as_returning())
            .get_result(self.writing()?)
            .await
            .optional();
        self.done(consumed)?.map(OperatorLink::try_from).transpose()
    }

    async fn remove(&mut self, id: OperatorLinkId) -> StoreResult<bool> {
        let link = operator_links::table
            .filter(operator_links::app_id.eq(AppId::BUILT_IN.to_string()))
            .filter(operator_links::id.eq(id.to_string()))
            .filter(operator_links::used_at.is_null());
        let removed = diesel::delete(link).execute(self.writing()?).await;
        Ok(self.done(removed)? == 1)
    }

    async fn remove_unused(&mut self, email: &EmailIdentity) -> StoreResult<u64> {
        let links = operator_links::table
            .filter(operator_links::app_id.eq(AppId::BUILT_IN.to_string()))
            .filter(operator_links::identity.eq(email.as_str().to_owned()))
            .filter(operator_links::used_at.is_null());
        let removed = diesel::delete(links).execute(self.writing()?).await;
        self.done(removed).map(count)
    }

    async fn remove_made_by(&mut self, actor: &Actor) -> StoreResult<u64> {
        let links = operator_links::table
            .filter(operator_links::app_id.eq(AppId::BUILT_IN.to_string()))
            .filter(operator_links::created_by.eq(actor.to_string()))
            .filter(operator_links::used_at.is_null());
        let removed = diesel::delete(links).execute(self.writing()?).await;
        self.done(removed).map(count)
    }

    async fn sweep(&mut self, expired_before: Timestamp) -> StoreResult<u64> {
        let links = operator_links::table
            .filter(operator_links::app_id.eq(AppId::BUILT_IN.to_string()))
            .filter(operator_links::expires_at.lt(expired_before.unix()));
        let removed = diesel::delete(links).execute(self.writing()?).await;
        self.done(removed).map(count)
    }
}
