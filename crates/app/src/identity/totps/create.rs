//! `totps/create`: creates a seed and recovery codes, shown once, which take effect with the first code.

use vestry_domain::action::Action;
use vestry_domain::envelope::SecretKind;
use vestry_domain::ids::{TotpId, UserId};
use vestry_domain::totp::{
    self, EXPIRES_IN_MINUTES, MAX_PER_USER, RECOVERY_CODES, StoredRecoveryCode, Totp,
};
use vestry_domain::user::UserProfile;
use vestry_domain::{Invalid, Secret, World, limits};
use vestry_ports::entropy::Bytes;

use super::{recovery_place, seed_place};
use crate::kernel::fault::retried;
use crate::{Caller, Fault, Refusal, Service};

/// The parameters of the call.
#[derive(Debug, Clone, Copy)]
pub struct CreateTotp {
    /// The user who will own the authenticator app.
    pub user_id: UserId,
    /// Minutes within which the first code must arrive, 5 to 2160; 30 by default.
    pub expires_in: Option<i64>,
}

/// A new authenticator app, with everything that is shown once.
#[derive(Debug)]
pub struct CreatedTotp {
    /// The record.
    pub totp: Totp,
    /// The seed in base32, for typing.
    pub secret: Secret<String>,
    /// The key URI, for a QR code.
    pub key_uri: Secret<String>,
    /// The recovery codes.
    pub recovery_codes: Vec<Secret<String>>,
}

impl Service {
    /// Creates a seed and recovery codes for a user.
    ///
    /// They prove nothing until a first code is verified, and replace those still waiting for theirs.
    ///
    /// # Errors
    /// [`Refusal`]; [`Refusal::Invalid`] also when the user has as many as a user may have.
    pub async fn create_totp(
        &self,
        caller: &Caller,
        command: CreateTotp,
    ) -> Result<CreatedTotp, Refusal> {
        caller.authorize(Action::CreateTotp)?;
        let (least, most) = EXPIRES_IN_MINUTES;
        let lifetime = command
            .expires_in
            .map(|value| limits::minutes("expires_in", value, least, most))
            .transpose()?
            .unwrap_or(totp::DEFAULT_EXPIRES_IN);
        let world = caller.world;
        let user_id = caller.visible_user(command.user_id);
        let mut read = self.ports.store.read().await?;
        let profile = read.users().profile(&world, user_id).await;
        drop(read);
        let profile = profile?.ok_or(Refusal::NotFound("user"))?;
        let now = self.now(&world);
        let id: TotpId = self.new_id(now);
        let seed = totp::draw_seed(&mut Bytes(&*self.ports.entropy));
        let totp_id = id.to_string();
        let place = seed_place(&world, &totp_id);
        let sealed = self.ports.sealer.seal(place, seed.expose()).await;
        let totp = Totp {
            id,
            world,
            user_id,
            verified: false,
            seed: sealed?,
            expires_at: now + lifetime,
            created_at: now,
            updated_at: now,
        };
        let (recovery_codes, stored) = self.new_recovery_codes(&world, user_id, &totp_id).await?;
        retried(|| self.store_totp(caller, &totp, &stored)).await?;
        Ok(CreatedTotp {
            totp,
            secret: totp::seed_text(seed.expose()),
            key_uri: totp::key_uri(&caller.app.name, account(&profile), seed.expose()),
            recovery_codes,
        })
    }

    /// Recovery codes as they are shown and as they are stored.
    async fn new_recovery_codes(
        &self,
        world: &World,
        user_id: UserId,
        totp_id: &str,
    ) -> Result<(Vec<Secret<String>>, Vec<StoredRecoveryCode>), Fault> {
        let user_id = user_id.to_string();
        let (mut shown, mut stored) = (Vec::new(), Vec::new());
        for number in 0..RECOVERY_CODES {
            let code = totp::draw_recovery_code(&mut Bytes(&*self.ports.entropy));
            let canonical = totp::canonical_recovery_code(code.expose())
                .ok_or_else(|| Fault::Internal("a recovery code is malformed".into()))?;
            let owner = totp::recovery_owner(totp_id, number);
            let sealer = &self.ports.sealer;
            let parts = totp::bound_parts(&user_id, canonical.expose());
            stored.push(StoredRecoveryCode {
                number,
                sealed: sealer
                    .seal(recovery_place(world, &owner), code.expose().as_bytes())
                    .await?,
                mac: sealer.mac(world, SecretKind::RecoveryCode, &parts).await?,
                used: false,
            });
            shown.push(code);
        }
        Ok((shown, stored))
    }

    async fn store_totp(
        &self,
        caller: &Caller,
        totp: &Totp,
        recovery_codes: &[StoredRecoveryCode],
    ) -> Result<(), Refusal> {
        let mut tx = self.ports.store.begin().await?;
        // A concurrent takeover either comes first, or follows and removes it.
        let locked = tx.users().lock(&totp.world, totp.user_id).await;
        if !locked? {
            return Err(Refusal::NotFound("user"));
        }
        tx.totps().replace_waiting(totp, recovery_codes).await?;
        // After the insert, which blocks every other insert of this user: the count is exact.
        let verified = tx.totps().count_verified(&totp.world, totp.user_id).await;
        if verified? >= MAX_PER_USER {
            let message =
                format!("the user already has {MAX_PER_USER} authenticator apps; delete one first");
            return Err(Invalid::value("user_id", message).into());
        }
        caller.commit_last(tx).await?;
        Ok(())
    }
}

/// What an authenticator app shows beside the App's name.
fn account(profile: &UserProfile) -> &str {
    let email = profile.emails.first().map(|email| email.email.address());
    let phone = profile.phones.first().map(|phone| phone.number.as_str());
    email.or(phone).unwrap_or("account")
}
