//! `users/{user_id}/unlock`: the API call equivalent to `vestry users unlock`.

use vestry_domain::api_key::Scope;
use vestry_domain::ids::UserId;

use super::get::FullUser;
use crate::{Caller, Refusal, Service};

impl Service {
    /// Runs [`Service::unlock_user`] in the caller's world and returns the user.
    ///
    /// # Errors
    /// [`Refusal`].
    pub async fn unlock_own_user(&self, caller: &Caller, id: UserId) -> Result<FullUser, Refusal> {
        caller.require(Scope::UsersWrite)?;
        self.unlock_by(|| caller.into(), id).await?;
        let user = self.full_user(&caller.world, id).await?;
        user.ok_or(Refusal::NotFound("user"))
    }
}
