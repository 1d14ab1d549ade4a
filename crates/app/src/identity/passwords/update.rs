//! `passwords/session/update`: sets or changes the password of the session's user.

use vestry_domain::action::Action;
use vestry_domain::event::Method;
use vestry_domain::ids::UserId;
use vestry_domain::password::{self, Password};
use vestry_domain::session::{Factor, Proof, Session};
use vestry_domain::{Invalid, Secret};

use super::compare::RightPassword;
use super::set::{Grounds, NewPassword};
use crate::identity::lockout::{Failure, LockoutSubject};
use crate::identity::sessions::issue::lock_live;
use crate::identity::sessions::object::check_size;
use crate::kernel::fault::retried;
use crate::{Caller, Fault, Refusal, Service};

/// The parameters of the call.
#[derive(Debug)]
pub struct UpdatePassword {
    /// The new password.
    pub password: Secret<String>,
    /// The current password; replaces a recently verified factor (P-12).
    pub current_password: Option<Secret<String>>,
    /// The session, by token.
    pub session_token: Option<Secret<String>>,
    /// The session, by JWT.
    pub session_jwt: Option<Secret<String>>,
}

/// A password that was set.
#[derive(Debug)]
pub struct UpdatedPassword {
    /// The user whose password was set.
    pub user_id: UserId,
    /// The session, with the password among its factors. Its token stays valid.
    pub session: Session,
}

/// Maximum number of comparisons when the row keeps changing concurrently.
const MAX_LOOKS: u32 = 5;

impl Service {
    /// Sets the password of the session's user, adds it to the session's factors, ends the user's other sessions and tells the
    /// user (S-6).
    ///
    /// # Errors
    /// [`Refusal::InsufficientFactor`] when the session rests on nothing that may set a password, or on nothing that was proved
    /// lately; [`Refusal::InvalidCredentials`] when the current password is wrong, or there is none; [`Refusal::TooMany`] after
    /// too many wrong ones (P-11). Nothing is changed then, but a wrong current password stays counted.
    pub async fn update_password(
        &self,
        caller: &Caller,
        command: UpdatePassword,
    ) -> Result<UpdatedPassword, Refusal> {
        caller.authorize(Action::UpdatePassword)?;
        let password = Password::presented("password", command.password)?;
        let current = command
            .current_password
            .map(|text| Password::presented("current_password", text))
            .transpose()?;
        let presented = self
            .presented(
                caller,
                command.session_token.as_ref(),
                command.session_jwt.as_ref(),
            )
            .await?;
        let presented = presented.ok_or_else(|| Invalid::missing("session_token"))?;
        let (param, session) = (presented.param(), presented.session);
        let mut new = None;
        for _ in 0..MAX_LOOKS {
            let right = match &current {
                Some(current) => Some(self.right_or_counted(caller, &session, current).await?),
                None => {
                    self.require_factors(caller, &session).await?;
                    None
                }
            };
            // Only a caller who may change the password learns why the new one is rejected, and causes a hash.
            let new = match &new {
                Some(new) => new,
                None => new.insert(
                    self.new_password(caller, session.user_id, &password)
                        .await?,
                ),
            };
            let stored =
                retried(|| self.store_update(caller, &session, param, new, right.as_ref()));
            if let Some(session) = stored.await? {
                return Ok(UpdatedPassword {
                    user_id: session.user_id,
                    session,
                });
            }
        }
        Err(Fault::LostRace.into())
    }

    /// Compares the current password.
    async fn right_or_counted(
        &self,
        caller: &Caller,
        session: &Session,
        current: &Password,
    ) -> Result<RightPassword, Refusal> {
        let world = &caller.world;
        let guarded = LockoutSubject::without_device(password::guarded_user(session.user_id));
        let mut read = self.ports.store.read().await?;
        let wait = guarded.wait(&mut *read, world, self.now(world)).await?;
        drop(read);
        if let Some(retry_after) = wait {
            return Err(Refusal::TooMany { retry_after });
        }
        let compared = self.compare_password(world, session.user_id, current);
        if let Some(right) = compared.await? {
            return Ok(right);
        }
        let failure = Failure::wrong(Method::Password, session.user_id);
        retried(|| self.count_wrong_current(caller, &guarded, failure)).await?;
        Err(Refusal::InvalidCredentials)
    }

    /// Requires recently verified factors when the current password is missing (P-12, S-7).
    ///
    /// The first password requires one that verifies an identifier. A mailbox or phone alone must not bypass an authenticator app, just as
    /// in a reset (P-13): its owner must have verified it as recently.
    async fn require_factors(&self, caller: &Caller, session: &Session) -> Result<(), Refusal> {
        let world = &caller.world;
        let mut read = self.ports.store.read().await?;
        let password = read.passwords().find(world, session.user_id).await?;
        let enrolled = read.totps().count_verified(world, session.user_id).await? > 0;
        drop(read);
        let mut proofs = session.factors.iter().map(|factor| &factor.proof);
        let may_set = password.is_some() || proofs.any(proves_identifier);
        let (freshness, now) = (caller.settings().freshness(), self.now(world));
        let lately = |kinds: fn(&Proof) -> bool| session.proved_lately(freshness, now, kinds);
        let stands = lately(stands_for_password)
            || (lately(proves_identifier) && (!enrolled || lately(Proof::is_second_factor)));
        if may_set && stands {
            Ok(())
        } else {
            Err(Refusal::InsufficientFactor)
        }
    }

    async fn count_wrong_current(
        &self,
        caller: &Caller,
        guarded: &LockoutSubject,
        failure: Failure,
    ) -> Result<(), Fault> {
        let mut tx = self.ports.store.begin().await?;
        let now = self.now(&caller.world);
        guarded
            .count_failure(self, &mut *tx, caller, failure, now)
            .await?;
        Ok(tx.commit().await?)
    }

    /// `None`: the current password has changed in the meantime.
    async fn store_update(
        &self,
        caller: &Caller,
        known: &Session,
        param: &'static str,
        new: &NewPassword,
        right: Option<&RightPassword>,
    ) -> Result<Option<Session>, Refusal> {
        let world = &caller.world;
        let now = self.now(world);
        let mut tx = self.ports.store.begin().await?;
        let kept = Some(known.id);
        let grounds = right.map_or(Grounds::Session, Grounds::Current);
        if !new
            .store(self, &mut *tx, caller, grounds, kept, now)
            .await?
        {
            return Ok(None);
        }
        let limits = caller.settings().session_limits();
        let held = lock_live(&mut *tx, known, limits, now).await?;
        let mut session = held.ok_or(Refusal::InvalidSession)?;
        session.add_factor(
            Factor {
                proof: Proof::Password,
                last_verified_at: now,
            },
            now,
        );
        check_size(&session, param)?;
        if !tx.sessions().update(&session, None).await? {
            return Err(Refusal::InvalidSession);
        }
        caller.commit_last(tx).await?;
        Ok(Some(session))
    }
}

/// Whether this factor can authorise a first password: a verified identifier, or the password itself.
const fn proves_identifier(proof: &Proof) -> bool {
    match proof {
        Proof::EmailCode { .. }
        | Proof::SmsCode { .. }
        | Proof::EmailLink { .. }
        | Proof::Provider { .. }
        | Proof::Password => true,
        Proof::Totp { .. }
        | Proof::RecoveryCode { .. }
        | Proof::Passkey { .. }
        | Proof::Wallet { .. } => false,
    }
}

/// Whether a recent factor can replace the current password: the password itself, or a passkey.
///
/// A second factor alone cannot. Neither can a wallet, which does not show who else can reach the account.
const fn stands_for_password(proof: &Proof) -> bool {
    matches!(proof, Proof::Passkey { .. } | Proof::Password)
}
