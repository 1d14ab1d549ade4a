//! `sessions/list`: where a user is signed in, and was.

use vestry_domain::api_key::Scope;
use vestry_domain::ids::UserId;
use vestry_domain::session::Session;
use vestry_ports::store::Repositories;

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
        let (world, now) = (&caller.world, self.now(&caller.world));
        let mut read = self.ports.store.read().await?;
        let found = read.sessions().of_user(world, user_id).await?;
        let mut sessions = of_somebody(&mut *read, caller, user_id, found).await?;
        sessions.retain(|session| session.is_alive(caller.settings().session_limits(), now));
        Ok(sessions)
    }

    /// The same with those that have ended, as long as they are stored.
    ///
    /// # Errors
    /// [`Refusal`].
    pub async fn list_sessions_with_ended(
        &self,
        caller: &Caller,
        user_id: UserId,
    ) -> Result<Vec<Session>, Refusal> {
        caller.require(Scope::SessionsWrite)?;
        let mut read = self.ports.store.read().await?;
        let found = read.sessions().all_of_user(&caller.world, user_id).await?;
        of_somebody(&mut *read, caller, user_id, found).await
    }
}

/// Nobody's sessions are refused; who has a session is somebody.
async fn of_somebody(
    read: &mut dyn Repositories,
    caller: &Caller,
    user_id: UserId,
    found: Vec<Session>,
) -> Result<Vec<Session>, Refusal> {
    let user = read.users();
    if found.is_empty() && user.profile(&caller.world, user_id).await?.is_none() {
        return Err(Refusal::NotFound("user"));
    }
    Ok(found)
}
