//! Sessions.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use diesel::dsl::exists;
use diesel::prelude::{BoolExpressionMethods, ExpressionMethods, QueryDsl, SelectableHelper};
use diesel_async::RunQueryDsl;
use vestry_domain::ids::{SessionId, SigningKeyId, UserId};
use vestry_domain::session::Session;
use vestry_domain::token::TokenHash;
use vestry_domain::{Timestamp, World};
use vestry_ports::port;
use vestry_ports::store::{
    EndedSome, NewToken, SessionActivity, SessionPage, Sessions, StoreResult, SweptWorlds,
};

use super::dialect::{self, sessions_by_tokens};
use super::{Unit, count, in_world, in_worlds, load_all, load_first, oldest_first};
use vestry_store_rows::delete_limited;
use vestry_store_rows::prepared::Prepared;
use vestry_store_rows::rows::Table;
use vestry_store_rows::rows::sessions::{SessionChange, SessionRow};
use vestry_store_rows::schema::{sessions, signing_keys};

fn ids(found: Vec<String>) -> StoreResult<Vec<SessionId>> {
    let table = Table("sessions");
    let ids = found.iter();
    ids.map(|id| table.parse("id", id)).collect()
}

#[port]
impl Sessions for Unit {
    async fn insert(&mut self, session: &Session, token: &TokenHash) -> StoreResult<()> {
        let row = SessionRow::try_from(session)?;
        let insert = diesel::insert_into(sessions::table)
            .values((row, sessions::token_hash.eq(token.0.to_vec())));
        let inserted = dialect::defer!(self.writing()?, insert).await;
        self.done(inserted)
    }

    async fn find_by_token(
        &mut self,
        world: &World,
        token: &TokenHash,
    ) -> StoreResult<Option<Session>> {
        let query = in_world!(sessions, world)
            .filter(sessions::token_hash.eq(token.0.to_vec()))
            .select(SessionRow::as_select());
        load_first!(self, query)
    }

    async fn find_all_by_tokens(
        &mut self,
        wanted: &[(World, TokenHash)],
    ) -> StoreResult<Vec<Option<Session>>> {
        let distinct: HashSet<_> = wanted.iter().copied().collect();
        let (distinct, is_distributed) = (distinct.into_iter().collect(), self.is_distributed());
        let found = sessions_by_tokens(self.reading()?, distinct, is_distributed).await;
        let mut sessions = HashMap::with_capacity(wanted.len());
        for (row, token) in self.done(found)? {
            let session = Session::try_from(row)?;
            let token = <[u8; 32]>::try_from(token)
                .map_err(|_other_length| Table("sessions").corrupt("token_hash"))?;
            sessions.insert((session.world, TokenHash(token)), session);
        }
        Ok(wanted.iter().map(|of| sessions.get(of).cloned()).collect())
    }

    async fn find(&mut self, world: &World, id: SessionId) -> StoreResult<Option<Session>> {
        let query = in_world!(sessions, world)
            .filter(sessions::id.eq(id.to_string()))
            .select(SessionRow::as_select());
        load_first!(self, query)
    }

    async fn find_signed(
        &mut self,
        world: &World,
        id: SessionId,
        key: SigningKeyId,
    ) -> StoreResult<Option<Session>> {
        let key = in_world!(signing_keys, world).filter(signing_keys::id.eq(key.to_string()));
        let query = in_world!(sessions, world)
            .filter(sessions::id.eq(id.to_string()))
            .filter(exists(key))
            .select(SessionRow::as_select());
        load_first!(self, query)
    }

    async fn of_user(&mut self, world: &World, user: UserId) -> StoreResult<Vec<Session>> {
        let query = in_world!(sessions, world)
            .filter(sessions::user_id.eq(user.to_string()))
            .filter(sessions::deleted_at.is_null())
            .order((sessions::created_at.desc(), sessions::id.desc()))
            .select(SessionRow::as_select());
        load_all!(self, query)
    }

    async fn page_of_user(
        &mut self,
        world: &World,
        user: UserId,
        page: SessionPage,
    ) -> StoreResult<Vec<Session>> {
        // An id begins with its creation time, so this is the order of the index.
        let mut query = in_world!(sessions, world)
            .filter(sessions::user_id.eq(user.to_string()))
            .order(sessions::id.desc())
            .limit(page.limit)
            .select(SessionRow::as_select())
            .into_boxed();
        if let Some(after) = page.after {
            query = query.filter(sessions::id.lt(after.to_string()));
        }
        if let Some((limits, now)) = page.alive {
            query = query
                .filter(sessions::deleted_at.is_null())
                .filter(sessions::expires_at.gt(now.unix()))
                .filter(sessions::started_at.gt((now - limits.absolute).unix()));
            if let Some(idle) = limits.idle {
                query = query.filter(sessions::last_active_at.gt((now - idle).unix()));
            }
        }
        load_all!(self, query)
    }

    async fn update(&mut self, session: &Session, token: Option<NewToken>) -> StoreResult<bool> {
        let change = SessionChange::new(session, token.map(|token| token.hash))?;
        let alive = in_world!(sessions, session.world)
            .filter(sessions::id.eq(session.id.to_string()))
            .filter(sessions::deleted_at.is_null());
        let updated = match token.and_then(|token| token.replaces) {
            None => {
                let update = diesel::update(alive).set(change);
                Prepared(update).execute(self.writing()?).await
            }
            Some(presented) => {
                let unchanged = alive.filter(sessions::token_hash.eq(presented.0.to_vec()));
                let update = diesel::update(unchanged).set(change);
                Prepared(update).execute(self.writing()?).await
            }
        };
        Ok(self.done(updated)? == 1)
    }

    async fn lock(&mut self, world: &World, id: SessionId) -> StoreResult<bool> {
        // Only a write locks a row on every engine.
        let alive = in_world!(sessions, world)
            .filter(sessions::id.eq(id.to_string()))
            .filter(sessions::deleted_at.is_null());
        let update =
            diesel::update(alive).set(sessions::last_active_at.eq(sessions::last_active_at));
        let locked = Prepared(update).execute(self.writing()?).await;
        Ok(self.done(locked)? == 1)
    }

    async fn touch(&mut self, seen: &[SessionActivity]) -> StoreResult<()> {
        // Sorted, so that concurrent updates lock rows in the same order and the latest time is written last.
        let mut moments = BTreeMap::<_, BTreeSet<_>>::new();
        for SessionActivity { world, at, id } in seen {
            moments.entry((*world, *at)).or_default().insert(*id);
        }
        for ((world, at), ids) in moments {
            let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
            let alive = in_world!(sessions, world)
                .filter(sessions::id.eq_any(ids))
                .filter(sessions::deleted_at.is_null());
            let update = diesel::update(alive).set(sessions::last_active_at.eq(at.unix()));
            let updated = Prepared(update).execute(self.writing()?).await;
            self.done(updated)?;
        }
        Ok(())
    }

    async fn delete(&mut self, world: &World, id: SessionId, at: Timestamp) -> StoreResult<bool> {
        let alive = in_world!(sessions, world)
            .filter(sessions::id.eq(id.to_string()))
            .filter(sessions::deleted_at.is_null());
        let update = diesel::update(alive).set((
            sessions::deleted_at.eq(at.unix()),
            sessions::updated_at.eq(at.unix()),
        ));
        let updated = Prepared(update).execute(self.writing()?).await;
        Ok(self.done(updated)? == 1)
    }

    async fn delete_all(
        &mut self,
        world: &World,
        user: UserId,
        at: Timestamp,
    ) -> StoreResult<Vec<SessionId>> {
        let alive = in_world!(sessions, world)
            .filter(sessions::user_id.eq(user.to_string()))
            .filter(sessions::deleted_at.is_null());
        let update = diesel::update(alive)
            .set((
                sessions::deleted_at.eq(at.unix()),
                sessions::updated_at.eq(at.unix()),
            ))
            .returning(sessions::id);
        let updated = Prepared(update).load(self.writing()?).await;
        ids(self.done(updated)?)
    }

    async fn delete_some(
        &mut self,
        world: &World,
        after: Option<SessionId>,
        limit: i64,
        at: Timestamp,
    ) -> StoreResult<EndedSome> {
        let mut next = in_world!(sessions, world)
            .filter(sessions::deleted_at.is_null())
            .order(sessions::id)
            .limit(limit)
            .select(sessions::id)
            .into_boxed();
        if let Some(after) = after {
            next = next.filter(sessions::id.gt(after.to_string()));
        }
        let found = next.load(self.reading()?).await;
        let next: Vec<String> = self.done(found)?;
        let table = Table("sessions");
        let last = next.last().map(|id| table.parse("id", id)).transpose()?;
        let alive = in_world!(sessions, world)
            .filter(sessions::id.eq_any(next))
            .filter(sessions::deleted_at.is_null());
        let update = diesel::update(alive)
            .set((
                sessions::deleted_at.eq(at.unix()),
                sessions::updated_at.eq(at.unix()),
            ))
            .returning(sessions::id);
        let updated = Prepared(update).load(self.writing()?).await;
        let ids = ids(self.done(updated)?)?;
        Ok(EndedSome { ids, last })
    }

    async fn delete_others(
        &mut self,
        world: &World,
        user: UserId,
        kept: SessionId,
        at: Timestamp,
    ) -> StoreResult<Vec<SessionId>> {
        let others = in_world!(sessions, world)
            .filter(sessions::user_id.eq(user.to_string()))
            .filter(sessions::id.ne(kept.to_string()))
            .filter(sessions::deleted_at.is_null());
        let update = diesel::update(others)
            .set((
                sessions::deleted_at.eq(at.unix()),
                sessions::updated_at.eq(at.unix()),
            ))
            .returning(sessions::id);
        let updated = Prepared(update).load(self.writing()?).await;
        ids(self.done(updated)?)
    }

    async fn sweep(&mut self, worlds: &SweptWorlds, over_before: Timestamp) -> StoreResult<u64> {
        let moment = over_before.unix();
        // Two statements, each in index order: a single one with `OR` would read all ended sessions to find the first few.
        let expired = in_worlds!(sessions, worlds).filter(sessions::expires_at.lt(moment));
        let expired = oldest_first!(expired, worlds, sessions::expires_at);
        let expired = delete_limited!(self, sessions, expired)?;
        let ended = in_worlds!(sessions, worlds).filter(sessions::deleted_at.lt(moment));
        let ended = oldest_first!(ended, worlds, sessions::deleted_at);
        let ended = delete_limited!(self, sessions, ended)?;
        Ok(expired + ended)
    }
}
