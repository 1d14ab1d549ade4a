//! One-time passcodes.

use diesel::prelude::{
    BoolExpressionMethods, ExpressionMethods, OptionalExtension, QueryDsl, SelectableHelper,
};
use diesel_async::RunQueryDsl;
use vestry_domain::code::{Code, CodePurpose, MethodId};
use vestry_domain::{Timestamp, World};
use vestry_ports::port;
use vestry_ports::store::{Attempt, Codes, StoreResult, SweptWorlds};

use super::{Unit, count, dialect, in_world, in_worlds, load_first, oldest_first};
use vestry_store_rows::delete_limited;
use vestry_store_rows::prepared::Prepared;
use vestry_store_rows::rows::codes::CodeRow;
use vestry_store_rows::schema::codes;

#[port]
impl Codes for Unit {
    async fn replace(&mut self, code: &Code) -> StoreResult<()> {
        let upsert = diesel::insert_into(codes::table)
            .values(CodeRow::try_from(code)?)
            .on_conflict((
                codes::app_id,
                codes::environment,
                codes::method_id,
                codes::purpose,
            ))
            .do_update()
            .set(CodeRow::try_from(code)?);
        let replaced = dialect::defer!(self.writing()?, Prepared(upsert)).await;
        self.done(replaced)
    }

    async fn attempt(
        &mut self,
        world: &World,
        method: MethodId,
        purpose: CodePurpose,
        most_tries: i64,
        now: Timestamp,
    ) -> StoreResult<Option<Attempt>> {
        // Postgres re-evaluates the condition on the newest version of the row after waiting for its lock.
        let alive = in_world!(codes, world)
            .filter(codes::method_id.eq(method.to_string()))
            .filter(codes::purpose.eq(purpose.as_str()))
            .filter(codes::used_at.is_null())
            .filter(codes::expires_at.gt(now.unix()))
            .filter(codes::tries.lt(most_tries));
        let update = diesel::update(alive)
            .set(codes::tries.eq(codes::tries + 1))
            .returning(CodeRow::as_select());
        let counted = Prepared(update)
            .get_result(self.writing()?)
            .await
            .optional();
        self.done(counted)?.map(Attempt::try_from).transpose()
    }

    async fn made_since(
        &mut self,
        world: &World,
        method: MethodId,
        purpose: CodePurpose,
        most_tries: i64,
        since: Timestamp,
        now: Timestamp,
    ) -> StoreResult<Option<Code>> {
        let query = in_world!(codes, world)
            .filter(codes::method_id.eq(method.to_string()))
            .filter(codes::purpose.eq(purpose.as_str()))
            .filter(codes::used_at.is_null())
            .filter(codes::expires_at.gt(now.unix()))
            .filter(codes::tries.lt(most_tries))
            .filter(codes::created_at.gt(since.unix()))
            .select(CodeRow::as_select());
        let found: Option<Attempt> = load_first!(self, query)?;
        Ok(found.map(|attempt| attempt.code))
    }

    async fn consume(
        &mut self,
        world: &World,
        method: MethodId,
        purpose: CodePurpose,
        now: Timestamp,
    ) -> StoreResult<bool> {
        let unused = in_world!(codes, world)
            .filter(codes::method_id.eq(method.to_string()))
            .filter(codes::purpose.eq(purpose.as_str()))
            .filter(codes::expires_at.gt(now.unix()))
            .filter(codes::used_at.is_null());
        let update = diesel::update(unused).set(codes::used_at.eq(now.unix()));
        let used = Prepared(update).execute(self.writing()?).await;
        Ok(self.done(used)? == 1)
    }

    async fn forget(&mut self, world: &World, method: MethodId) -> StoreResult<()> {
        let all = in_world!(codes, world).filter(codes::method_id.eq(method.to_string()));
        let deleted = dialect::defer!(self.writing()?, diesel::delete(all)).await;
        self.done(deleted)
    }

    async fn sweep(&mut self, worlds: &SweptWorlds, expired_before: Timestamp) -> StoreResult<u64> {
        let old = in_worlds!(codes, worlds).filter(codes::expires_at.lt(expired_before.unix()));
        let old = oldest_first!(old, worlds, codes::expires_at);
        delete_limited!(self, codes, old)
    }
}
