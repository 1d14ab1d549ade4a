//! `GET users/{user_id}`: returns a user with everything attached to it.

use vestry_domain::action::Action;
use vestry_domain::audit::control::{ControlAction, Detail};
use vestry_domain::ids::UserId;
use vestry_domain::limits::Limit;
use vestry_domain::passkey::Passkey;
use vestry_domain::provider::ProviderLink;
use vestry_domain::totp::Totp;
use vestry_domain::user::UserProfile;
use vestry_domain::wallet::Wallet;
use vestry_domain::{Environment, Timestamp, World};
use vestry_ports::store::WholeUser;

use crate::kernel::fault::retried;
use crate::wallets::authenticate_wallets;
use crate::{Caller, Fault, Refusal, Service};

/// The counter of recorded views, by operator and user.
const VIEWS: &str = "user_view";
const ONE_VIEW: Limit = Limit::per_hour(1);

/// A user with identifiers and wallets.
#[derive(Debug, Clone)]
pub struct FullUser {
    /// The user, its e-mail addresses and phone numbers.
    pub profile: UserProfile,
    /// Its wallets, oldest first.
    pub wallets: Vec<Wallet>,
    /// Its authenticator apps, oldest first; without those that expired before their first code.
    pub totps: Vec<Totp>,
    /// Its passkeys, oldest first.
    pub passkeys: Vec<Passkey>,
    /// Its links to identity providers, oldest first.
    pub provider_links: Vec<ProviderLink>,
    /// The user's key in the service that it was imported from.
    pub external_key: Option<String>,
}

impl Service {
    /// Returns a user.
    ///
    /// # Errors
    /// [`Refusal`].
    pub async fn get_user(&self, caller: &Caller, id: UserId) -> Result<FullUser, Refusal> {
        caller.authorize(Action::GetUser)?;
        let id = caller.visible_user(id);
        let user = self.full_user(&caller.world, id).await?;
        let user = user.ok_or(Refusal::NotFound("user"))?;
        if let Some(operator) = caller.principal.as_operator()
            && caller.world.environment == Environment::Live
        {
            retried(|| self.note_view(caller, operator.user_id, id)).await?;
        }
        Ok(user)
    }

    /// Records that an operator read a user, unless it was recorded in the last hour. The counter decides between parallel reads.
    async fn note_view(
        &self,
        caller: &Caller,
        operator: UserId,
        user: UserId,
    ) -> Result<(), Fault> {
        let world = caller.world;
        let mut tx = self.begin_change([world]).await?;
        let (pair, now) = (format!("{operator}:{user}"), self.machine_time());
        let quotas = tx.quotas();
        let verdict = quotas.consume(&world, VIEWS, &pair, ONE_VIEW, now).await?;
        if !verdict.admitted {
            return Ok(());
        }
        let (action, detail) = (ControlAction::UserView, Detail::default());
        tx.note(self.done(&caller.into(), action, user, &detail));
        tx.commit().await
    }

    pub(crate) async fn full_user(
        &self,
        world: &World,
        id: UserId,
    ) -> Result<Option<FullUser>, Fault> {
        match self.find(&self.whole_users, (*world, id)).await? {
            Some(whole) => Ok(Some(self.shown(whole, self.now(world)).await?)),
            None => Ok(None),
        }
    }

    /// A user as shown to callers: with authenticated wallets, without expired authenticator apps.
    pub(super) async fn shown(&self, whole: WholeUser, now: Timestamp) -> Result<FullUser, Fault> {
        let mut totps = whole.totps;
        totps.retain(|totp| totp.is_alive(now));
        Ok(FullUser {
            profile: whole.profile,
            wallets: authenticate_wallets(&*self.ports.custodian, whole.wallets).await?,
            totps,
            passkeys: whole.passkeys,
            provider_links: whole.provider_links,
            external_key: whole.external_key,
        })
    }
}
