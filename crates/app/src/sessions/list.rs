//! `sessions/list`: where a user is signed in.

use vestry_domain::api_key::Scope;
use vestry_domain::ids::UserId;
use vestry_domain::session::Session;

use crate::{Caller, Refusal, Service};

impl Service {
    /// The user's sessions that are alive, newest first.
    ///
    /// # Errors
    /// [`Refusal`].
    pub async fn list_sessions(
        &self,
        caller: &Caller,
        user_id: UserId,
    ) -> Result<Vec<Session>, Refusal> {
        caller.require(Scope::SessionsWrite)?;
        let now = self.now(&caller.world);
        let mut read = self.ports.store.read().await?;
        let mut sessions = read.sessions().of_user(&caller.world, user_id).await?;
        if sessions.is_empty()
            && read
                .users()
                .profile(&caller.world, user_id)
                .await?
                .is_none()
        {
            return Err(Refusal::NotFound("user"));
        }
        sessions.retain(|session| session.is_alive(caller.settings().session_limits(), now));
        Ok(sessions)
    }
}
