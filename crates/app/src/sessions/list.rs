//! `sessions/list`: where a user is signed in.

use vestry_domain::api_key::Scope;
use vestry_domain::ids::UserId;
use vestry_domain::session::Session;

use crate::{Caller, Fault, NotAllowed, Service};

/// Why there is no list.
#[derive(Debug, thiserror::Error)]
pub enum ListSessionsError {
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

impl Service {
    /// The user's sessions that are alive, newest first.
    ///
    /// # Errors
    /// [`ListSessionsError`].
    pub async fn list_sessions(
        &self,
        caller: &Caller,
        user_id: UserId,
    ) -> Result<Vec<Session>, ListSessionsError> {
        caller.require(Scope::SessionsWrite)?;
        let now = self.now(&caller.world);
        let mut read = self.ports.store.read().await.map_err(Fault::from)?;
        let mut sessions = read
            .sessions()
            .of_user(&caller.world, user_id)
            .await
            .map_err(Fault::from)?;
        if sessions.is_empty()
            && read
                .users()
                .profile(&caller.world, user_id)
                .await
                .map_err(Fault::from)?
                .is_none()
        {
            return Err(ListSessionsError::UserNotFound);
        }
        sessions.retain(|session| session.is_alive(caller.settings().session_limits(), now));
        Ok(sessions)
    }
}
