//! Sessions.

use vestry_domain::ids::{SessionId, SigningKeyId, UserId};
use vestry_domain::session::Session;
use vestry_domain::token::TokenHash;
use vestry_domain::{Timestamp, World};
use vestry_ports::port;
use vestry_ports::store::{
    EndedSome, NewToken, SessionActivity, SessionPage, Sessions, StoreResult, SweptWorlds,
};

use super::Work;
use super::state::{State, add, at_most, remove_few};

impl State {
    /// The row of a session that has not been ended.
    fn living_session(&mut self, world: World, id: SessionId) -> Option<&mut (TokenHash, Session)> {
        self.sessions.iter_mut().find(|(_, session)| {
            session.world == world && session.id == id && session.deleted_at.is_none()
        })
    }
}

fn end(session: &mut Session, at: Timestamp) {
    session.deleted_at = Some(at);
    session.updated_at = at;
}

#[port]
impl Sessions for Work {
    async fn insert(&mut self, session: &Session, token: &TokenHash) -> StoreResult<()> {
        self.writing(|state| {
            state.needs_user(session.world, session.user_id)?;
            let row = (*token, session.clone());
            add(&mut state.sessions, row, |a, b| {
                a.1.world == b.1.world && (a.1.id == b.1.id || a.0 == b.0)
            })
        })
    }

    async fn find_by_token(
        &mut self,
        world: &World,
        token: &TokenHash,
    ) -> StoreResult<Option<Session>> {
        self.reading(|state| {
            let mut rows = state.sessions.iter();
            let found = rows.find(|(of, session)| of == token && session.world == *world);
            found.map(|(_, session)| session.clone())
        })
    }

    async fn find_all_by_tokens(
        &mut self,
        wanted: &[(World, TokenHash)],
    ) -> StoreResult<Vec<Option<Session>>> {
        let mut all = Vec::with_capacity(wanted.len());
        for (world, token) in wanted {
            all.push(self.find_by_token(world, token).await?);
        }
        Ok(all)
    }

    async fn find(&mut self, world: &World, id: SessionId) -> StoreResult<Option<Session>> {
        self.reading(|state| {
            let mut rows = state.sessions.iter();
            let found = rows.find(|(_, session)| session.id == id && session.world == *world);
            found.map(|(_, session)| session.clone())
        })
    }

    async fn find_signed(
        &mut self,
        world: &World,
        id: SessionId,
        key: SigningKeyId,
    ) -> StoreResult<Option<Session>> {
        self.reading(|state| {
            let mut keys = state.signing_keys.iter();
            keys.find(|row| row.world == *world && row.id == key)?;
            let mut rows = state.sessions.iter().map(|(_, session)| session);
            rows.find(|session| session.id == id && session.world == *world)
                .cloned()
        })
    }

    async fn of_user(&mut self, world: &World, user: UserId) -> StoreResult<Vec<Session>> {
        self.reading(|state| {
            let all = state.sessions.iter().map(|(_, session)| session);
            let mut sessions: Vec<_> = all
                .filter(|session| session.world == *world && session.user_id == user)
                .filter(|session| session.deleted_at.is_none())
                .cloned()
                .collect();
            sessions.sort_by_key(|session| std::cmp::Reverse(session.id));
            sessions
        })
    }

    async fn page_of_user(
        &mut self,
        world: &World,
        user: UserId,
        page: SessionPage,
    ) -> StoreResult<Vec<Session>> {
        self.reading(|state| {
            let all = state.sessions.iter().map(|(_, session)| session);
            let is_alive = |session: &&Session| {
                let at = page.alive;
                at.is_none_or(|(limits, now)| session.is_alive(limits, now))
            };
            let mut sessions: Vec<_> = all
                .filter(|session| session.world == *world && session.user_id == user)
                .filter(is_alive)
                .filter(|session| page.after.is_none_or(|after| session.id < after))
                .cloned()
                .collect();
            sessions.sort_by_key(|session| std::cmp::Reverse(session.id));
            sessions.truncate(at_most(page.limit));
            sessions
        })
    }

    async fn update(&mut self, session: &Session, token: Option<NewToken>) -> StoreResult<bool> {
        self.writing(|state| {
            let Some((hash, row)) = state.living_session(session.world, session.id) else {
                return Ok(false);
            };
            if let Some(token) = token {
                if token.replaces.is_some_and(|expected| expected != *hash) {
                    return Ok(false);
                }
                *hash = token.hash;
            }
            *row = Session {
                user_id: row.user_id,
                started_at: row.started_at,
                created_at: row.created_at,
                deleted_at: row.deleted_at,
                ..session.clone()
            };
            Ok(true)
        })
    }

    async fn lock(&mut self, world: &World, id: SessionId) -> StoreResult<bool> {
        // The transaction holds the write lock.
        self.writing(|state| Ok(state.living_session(*world, id).is_some()))
    }

    async fn touch(&mut self, seen: &[SessionActivity]) -> StoreResult<()> {
        let mut in_order = seen.to_vec();
        in_order.sort_unstable();
        self.writing(|state| {
            for SessionActivity { world, at, id } in in_order {
                if let Some((_, session)) = state.living_session(world, id) {
                    session.last_active_at = at;
                }
            }
            Ok(())
        })
    }

    async fn delete(&mut self, world: &World, id: SessionId, at: Timestamp) -> StoreResult<bool> {
        self.writing(|state| {
            let living = state.living_session(*world, id);
            Ok(living.map(|(_, session)| end(session, at)).is_some())
        })
    }

    async fn delete_all(
        &mut self,
        world: &World,
        user: UserId,
        at: Timestamp,
    ) -> StoreResult<Vec<SessionId>> {
        self.writing(|state| {
            let all = state.sessions.iter_mut().map(|(_, session)| session);
            let living = all
                .filter(|session| session.world == *world && session.user_id == user)
                .filter(|session| session.deleted_at.is_none());
            let ended = living.map(|session| {
                end(session, at);
                session.id
            });
            Ok(ended.collect())
        })
    }

    async fn delete_some(
        &mut self,
        world: &World,
        after: Option<SessionId>,
        limit: i64,
        at: Timestamp,
    ) -> StoreResult<EndedSome> {
        self.writing(|state| {
            let all = state.sessions.iter_mut().map(|(_, session)| session);
            let mut next: Vec<_> = all
                .filter(|session| session.world == *world && session.deleted_at.is_none())
                .filter(|session| after.is_none_or(|after| after < session.id))
                .collect();
            next.sort_by_key(|session| session.id);
            next.truncate(at_most(limit));
            let last = next.last().map(|session| session.id);
            let ended = next.into_iter().map(|session| {
                end(session, at);
                session.id
            });
            let ids = ended.collect();
            Ok(EndedSome { ids, last })
        })
    }

    async fn delete_others(
        &mut self,
        world: &World,
        user: UserId,
        kept: SessionId,
        at: Timestamp,
    ) -> StoreResult<Vec<SessionId>> {
        self.writing(|state| {
            let all = state.sessions.iter_mut().map(|(_, session)| session);
            let others = all
                .filter(|session| session.world == *world && session.user_id == user)
                .filter(|session| session.id != kept && session.deleted_at.is_none());
            let ended = others.map(|session| {
                end(session, at);
                session.id
            });
            Ok(ended.collect())
        })
    }

    async fn sweep(&mut self, worlds: &SweptWorlds, over_before: Timestamp) -> StoreResult<u64> {
        self.writing(|state| {
            let is_over = |(_, session): &(TokenHash, Session)| {
                let ended = session.deleted_at.is_some_and(|at| at < over_before);
                worlds.include(&session.world) && (ended || session.expires_at < over_before)
            };
            Ok(remove_few(&mut state.sessions, is_over))
        })
    }
}
