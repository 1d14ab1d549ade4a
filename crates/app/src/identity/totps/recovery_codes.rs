//! `totps/recovery_codes`: the recovery codes that a user has left.

use vestry_domain::action::Action;
use vestry_domain::ids::UserId;
use vestry_domain::totp::{Totp, recovery_owner};
use vestry_domain::{Secret, World};

use super::recovery_place;
use crate::{Caller, Fault, Refusal, Service};

/// An authenticator app with the recovery codes that were not used.
#[derive(Debug)]
pub struct TotpRecoveryCodes {
    /// The record.
    pub totp: Totp,
    /// The unused codes, in the order in which they were shown first.
    pub recovery_codes: Vec<Secret<String>>,
}

impl Service {
    /// The authenticator apps of a user, each with its unused recovery codes. Those that have expired without a first code
    /// are not among them.
    ///
    /// # Errors
    /// [`Refusal`].
    pub async fn recovery_codes(
        &self,
        caller: &Caller,
        user_id: UserId,
    ) -> Result<Vec<TotpRecoveryCodes>, Refusal> {
        // It answers secrets, so reading rights are not enough.
        caller.authorize(Action::ShowRecoveryCodes)?;
        let world = &caller.world;
        let user_id = caller.visible_user(user_id);
        let mut read = self.ports.store.read().await?;
        let user = read.users().profile(world, user_id).await;
        if user?.is_none() {
            return Err(Refusal::NotFound("user"));
        }
        let totps = read.totps().of_user(world, user_id).await;
        let stored = read.totps().recovery_codes(world, user_id).await;
        drop(read);
        let (totps, stored) = (totps?, stored?);
        let now = self.now(world);
        let mut shown = Vec::new();
        for totp in totps.into_iter().filter(|totp| totp.is_alive(now)) {
            let mut recovery_codes = Vec::new();
            for (_, code) in stored
                .iter()
                .filter(|(id, code)| *id == totp.id && !code.used)
            {
                let owner = recovery_owner(&totp.id.to_string(), code.number);
                recovery_codes.push(self.open_text(world, &owner, &code.sealed).await?);
            }
            shown.push(TotpRecoveryCodes {
                totp,
                recovery_codes,
            });
        }
        Ok(shown)
    }

    async fn open_text(
        &self,
        world: &World,
        owner: &str,
        sealed: &vestry_domain::envelope::Sealed,
    ) -> Result<Secret<String>, Fault> {
        let place = recovery_place(world, owner);
        let opened = self.ports.sealer.open(place, sealed).await?;
        let text = str::from_utf8(opened.expose())
            .map_err(|_other| Fault::Internal("a recovery code is not text".into()))?;
        Ok(Secret::new(text.to_owned()))
    }
}
