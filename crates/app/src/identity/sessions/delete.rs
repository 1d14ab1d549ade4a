//! `sessions/delete` and `sessions/delete_all`: ending sessions, at once and for good (S-4).

use vestry_domain::action::Action;
use vestry_domain::event::EndReason;
use vestry_domain::ids::UserId;
use vestry_domain::session::{Session, SessionSelector};
use vestry_domain::token::TokenHash;

use super::ended;
use crate::kernel::fault::retried;
use crate::{Caller, Fault, Refusal, Service};

impl Service {
    /// Ends one session.
    ///
    /// # Errors
    /// [`Refusal::NotFound`] for an id, and [`Refusal::InvalidSession`] for a token or JWT, that names no session that has not
    /// ended.
    pub async fn delete_session(
        &self,
        caller: &Caller,
        selector: SessionSelector,
    ) -> Result<(), Refusal> {
        caller.authorize(Action::DeleteSession)?;
        let by_id = matches!(selector, SessionSelector::Id(_));
        let ended = match self.selected(caller, selector).await? {
            Some(session) => retried(|| self.end_session(caller, &session)).await?,
            None => false,
        };
        match (ended, by_id) {
            (true, _) => Ok(()),
            (false, true) => Err(Refusal::NotFound("session")),
            (false, false) => Err(Refusal::InvalidSession),
        }
    }

    /// Finds the named live session; an ended one cannot be ended again.
    async fn selected(
        &self,
        caller: &Caller,
        selector: SessionSelector,
    ) -> Result<Option<Session>, Fault> {
        let world = &caller.world;
        let found = match selector {
            SessionSelector::Token(token) => {
                let hash = TokenHash::of(token.expose());
                let mut read = self.ports.store.read().await?;
                read.sessions().find_by_token(world, &hash).await?
            }
            SessionSelector::Id(id) => {
                let mut read = self.ports.store.read().await?;
                read.sessions().find(world, id).await?
            }
            SessionSelector::Jwt(jwt) => match self.session_named_by(caller, jwt.expose()).await? {
                Some(named) => {
                    let mut read = self.ports.store.read().await?;
                    let sessions = read.sessions();
                    sessions.find_signed(world, named.id, named.key).await?
                }
                None => None,
            },
        };
        let (limits, now) = (caller.settings().session_limits(), self.now(world));
        Ok(found.filter(|session| {
            session.is_alive(limits, now) && caller.reaches_user(session.user_id)
        }))
    }

    async fn end_session(&self, caller: &Caller, session: &Session) -> Result<bool, Fault> {
        let mut tx = self.ports.store.begin().await?;
        let is_ended = tx
            .sessions()
            .delete(&caller.world, session.id, self.now(&caller.world))
            .await?;
        if is_ended {
            let facts = ended(Some(session.user_id), vec![session.id], EndReason::Deleted);
            self.emit(&mut *tx, caller, facts).await?;
        }
        caller.commit_last(tx).await?;
        Ok(is_ended)
    }

    /// Ends all sessions of a user and returns their number.
    ///
    /// # Errors
    /// [`Refusal`].
    pub async fn delete_all_sessions(
        &self,
        caller: &Caller,
        user_id: UserId,
    ) -> Result<u64, Refusal> {
        caller.authorize(Action::DeleteSessionsOfUser)?;
        let user_id = caller.visible_user(user_id);
        retried(|| self.end_all_sessions(caller, user_id)).await
    }

    async fn end_all_sessions(&self, caller: &Caller, user_id: UserId) -> Result<u64, Refusal> {
        let mut tx = self.ports.store.begin().await?;
        if tx.users().profile(&caller.world, user_id).await?.is_none() {
            return Err(Refusal::NotFound("user"));
        }
        let ids = tx
            .sessions()
            .delete_all(&caller.world, user_id, self.now(&caller.world))
            .await?;
        let count = ids.len();
        let facts = ended(Some(user_id), ids, EndReason::Deleted);
        self.emit(&mut *tx, caller, facts).await?;
        caller.commit_last(tx).await?;
        Ok(u64::try_from(count).unwrap_or(u64::MAX))
    }
}
