//! Magic links.

use diesel::prelude::{
    BoolExpressionMethods, ExpressionMethods, OptionalExtension, QueryDsl, SelectableHelper,
};
use diesel_async::RunQueryDsl;
use vestry_domain::ids::{EmailId, SessionId, UserId};
use vestry_domain::link::{Link, LinkPurpose};
use vestry_domain::token::TokenHash;
use vestry_domain::{Timestamp, World};
use vestry_ports::port;
use vestry_ports::store::{Links, StoreResult, SweptWorlds};

use super::{Unit, count, dialect, in_world, in_worlds, load_first, oldest_first};
use vestry_store_rows::delete_limited;
use vestry_store_rows::prepared::Prepared;
use vestry_store_rows::rows::links::LinkRow;
use vestry_store_rows::schema::magic_links;

#[port]
impl Links for Unit {
    async fn replace(&mut self, link: &Link) -> StoreResult<()> {
        let upsert = diesel::insert_into(magic_links::table)
            .values(LinkRow::try_from(link)?)
            .on_conflict((
                magic_links::app_id,
                magic_links::environment,
                magic_links::email_id,
                magic_links::purpose,
            ))
            .do_update()
            .set(LinkRow::try_from(link)?);
        let replaced = dialect::defer!(self.writing()?, Prepared(upsert)).await;
        self.done(replaced)
    }

    async fn find(&mut self, world: &World, token: &TokenHash) -> StoreResult<Option<Link>> {
        let query = in_world!(magic_links, world)
            .filter(magic_links::token_hash.eq(token.0.to_vec()))
            .select(LinkRow::as_select());
        load_first!(self, query)
    }

    async fn of_email(
        &mut self,
        world: &World,
        email: EmailId,
        purpose: LinkPurpose,
    ) -> StoreResult<Option<Link>> {
        let query = in_world!(magic_links, world)
            .filter(magic_links::email_id.eq(email.to_string()))
            .filter(magic_links::purpose.eq(purpose.as_str()))
            .select(LinkRow::as_select());
        load_first!(self, query)
    }

    async fn attempt(
        &mut self,
        world: &World,
        token: &TokenHash,
        purposes: &[LinkPurpose],
        now: Timestamp,
    ) -> StoreResult<Option<i64>> {
        let purposes = purposes.iter().map(|purpose| purpose.as_str());
        let alive = in_world!(magic_links, world)
            .filter(magic_links::token_hash.eq(token.0.to_vec()))
            .filter(magic_links::purpose.eq_any(purposes))
            .filter(magic_links::used_at.is_null())
            .filter(magic_links::expires_at.gt(now.unix()));
        let update = diesel::update(alive)
            .set(magic_links::tries.eq(magic_links::tries + 1))
            .returning(magic_links::tries);
        let counted = Prepared(update)
            .get_result(self.writing()?)
            .await
            .optional();
        self.done(counted)
    }

    async fn consume(
        &mut self,
        world: &World,
        token: &TokenHash,
        purposes: &[LinkPurpose],
        now: Timestamp,
    ) -> StoreResult<Option<Link>> {
        let purposes = purposes.iter().map(|purpose| purpose.as_str());
        // Postgres re-evaluates the condition on the newest version of the row after waiting for its lock.
        let alive = in_world!(magic_links, world)
            .filter(magic_links::token_hash.eq(token.0.to_vec()))
            .filter(magic_links::purpose.eq_any(purposes))
            .filter(magic_links::used_at.is_null())
            .filter(magic_links::expires_at.gt(now.unix()));
        let update = diesel::update(alive)
            .set(magic_links::used_at.eq(now.unix()))
            .returning(LinkRow::as_select());
        let used = Prepared(update)
            .get_result(self.writing()?)
            .await
            .optional();
        self.done(used)?.map(Link::try_from).transpose()
    }

    async fn offer(
        &mut self,
        world: &World,
        token: &TokenHash,
        session: SessionId,
    ) -> StoreResult<()> {
        let link =
            in_world!(magic_links, world).filter(magic_links::token_hash.eq(token.0.to_vec()));
        let update = diesel::update(link).set(magic_links::session_id.eq(session.to_string()));
        let offered = dialect::defer!(self.writing()?, Prepared(update)).await;
        self.done(offered)
    }

    async fn hand_over(
        &mut self,
        world: &World,
        token: &TokenHash,
        now: Timestamp,
    ) -> StoreResult<bool> {
        let offered = in_world!(magic_links, world)
            .filter(magic_links::token_hash.eq(token.0.to_vec()))
            .filter(magic_links::session_id.is_not_null())
            .filter(magic_links::handed_at.is_null());
        let update = diesel::update(offered).set(magic_links::handed_at.eq(now.unix()));
        let handed = Prepared(update).execute(self.writing()?).await;
        Ok(self.done(handed)? == 1)
    }

    async fn forget(
        &mut self,
        world: &World,
        email: EmailId,
        purpose: LinkPurpose,
    ) -> StoreResult<()> {
        let link = in_world!(magic_links, world)
            .filter(magic_links::email_id.eq(email.to_string()))
            .filter(magic_links::purpose.eq(purpose.as_str()));
        let deleted = dialect::defer!(self.writing()?, diesel::delete(link)).await;
        self.done(deleted)
    }

    async fn forget_unused(&mut self, world: &World, user: UserId) -> StoreResult<()> {
        let unused = in_world!(magic_links, world)
            .filter(magic_links::user_id.eq(user.to_string()))
            .filter(magic_links::used_at.is_null());
        let deleted = dialect::defer!(self.writing()?, diesel::delete(unused)).await;
        self.done(deleted)
    }

    async fn sweep(&mut self, worlds: &SweptWorlds, expired_before: Timestamp) -> StoreResult<u64> {
        let old = in_worlds!(magic_links, worlds)
            .filter(magic_links::expires_at.lt(expired_before.unix()));
        let old = oldest_first!(old, worlds, magic_links::expires_at);
        delete_limited!(self, magic_links, old)
    }
}
