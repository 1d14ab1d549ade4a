//! `sessions/delete` and `sessions/delete_all`: ending sessions, at once and for good (S-4).

use vestry_domain::api_key::Scope;
use vestry_domain::ids::{SessionId, UserId};
use vestry_domain::session::SessionSelector;
use vestry_domain::token::TokenHash;

use super::issue::InvalidSession;
use crate::fault::{may_lose_race, retried};
use crate::{Caller, Fault, NotAllowed, Service};

/// Why no session was ended.
#[derive(Debug, thiserror::Error)]
pub enum DeleteSessionError {
    /// See [`NotAllowed`].
    #[error(transparent)]
    NotAllowed(#[from] NotAllowed),
    /// The token or JWT names no session that has not ended.
    #[error(transparent)]
    InvalidSession(#[from] InvalidSession),
    /// The id names no session that has not ended.
    #[error("the session does not exist")]
    NotFound,
    /// See [`Fault`].
    #[error(transparent)]
    Fault(#[from] Fault),
}

/// Why no sessions were ended.
#[derive(Debug, thiserror::Error)]
pub enum DeleteAllSessionsError {
    /// See [`NotAllowed`].
    #[error(transparent)]
    NotAllowed(#[from] NotAllowed),
    /// No such user in this world.
    #[error("the user does not exist")]
    UserNotFound,
    /// See [`Fault`].
    #[error(transparent)]
    Fault(#[from] Fault),
}

may_lose_race!(DeleteAllSessionsError);

impl Service {
    /// Ends one session.
    ///
    /// # Errors
    /// [`DeleteSessionError`].
    pub async fn delete_session(
        &self,
        caller: &Caller,
        selector: SessionSelector,
    ) -> Result<(), DeleteSessionError> {
        caller.require(Scope::SessionsWrite)?;
        let by_id = matches!(selector, SessionSelector::Id(_));
        let id = self.selected(caller, selector).await?;
        let ended = retried(|| self.end_session(caller, id)).await?;
        match (ended, by_id) {
            (true, _) => Ok(()),
            (false, true) => Err(DeleteSessionError::NotFound),
            (false, false) => Err(InvalidSession.into()),
        }
    }

    async fn selected(
        &self,
        caller: &Caller,
        selector: SessionSelector,
    ) -> Result<SessionId, DeleteSessionError> {
        match selector {
            SessionSelector::Id(id) => Ok(id),
            SessionSelector::Token(token) => {
                let hash = TokenHash::of(token.expose());
                let mut read = self.ports.store.read().await.map_err(Fault::from)?;
                let session = read
                    .sessions()
                    .find_by_token(&caller.world, &hash)
                    .await
                    .map_err(Fault::from)?;
                Ok(session.ok_or(InvalidSession)?.id)
            }
            SessionSelector::Jwt(jwt) => {
                let named = self.session_named_by(&caller.world, jwt.expose()).await?;
                Ok(named.ok_or(InvalidSession)?.0)
            }
        }
    }

    async fn end_session(&self, caller: &Caller, id: SessionId) -> Result<bool, Fault> {
        let mut tx = self.ports.store.begin().await?;
        let ended = tx
            .sessions()
            .delete(&caller.world, id, self.now(&caller.world))
            .await?;
        tx.commit().await?;
        Ok(ended)
    }

    /// Ends all sessions of a user and says how many there were.
    ///
    /// # Errors
    /// [`DeleteAllSessionsError`].
    pub async fn delete_all_sessions(
        &self,
        caller: &Caller,
        user_id: UserId,
    ) -> Result<u64, DeleteAllSessionsError> {
        caller.require(Scope::SessionsWrite)?;
        retried(|| self.end_all_sessions(caller, user_id)).await
    }

    async fn end_all_sessions(
        &self,
        caller: &Caller,
        user_id: UserId,
    ) -> Result<u64, DeleteAllSessionsError> {
        let mut tx = self.ports.store.begin().await.map_err(Fault::from)?;
        if tx
            .users()
            .profile(&caller.world, user_id)
            .await
            .map_err(Fault::from)?
            .is_none()
        {
            return Err(DeleteAllSessionsError::UserNotFound);
        }
        let ended = tx
            .sessions()
            .delete_all(&caller.world, user_id, self.now(&caller.world))
            .await
            .map_err(Fault::from)?;
        tx.commit().await.map_err(Fault::from)?;
        Ok(ended)
    }
}
