//! `passwords/verify`: signs in with a password.

use vestry_domain::Secret;
use vestry_domain::action::Action;
use vestry_domain::event::Method;
use vestry_domain::ids::UserId;
use vestry_domain::password::{self, Password};
use vestry_domain::session::{DeviceFingerprint, Factor, Proof, Session, SignIn};

use super::compare::RightPassword;
use crate::identity::lockout::{Failure, LockoutSubject};
use crate::identity::sessions::issue::{SessionRequest, StartSessionError};
use crate::identity::sessions::{IssuedSession, SessionFields};
use crate::kernel::fault::retried;
use crate::{Caller, Fault, Refusal, Service};

/// The parameters of the call.
#[derive(Debug)]
pub struct VerifyPassword {
    /// The user to sign in.
    pub user_id: UserId,
    /// The password.
    pub password: Secret<String>,
    /// How to handle the session.
    pub session_fields: SessionFields,
    /// The end user's device.
    pub device_fingerprint: DeviceFingerprint,
}

/// A password that was right.
#[derive(Debug)]
pub struct VerifiedPassword {
    /// The user who signed in.
    pub user_id: UserId,
    /// The session, if one was requested.
    pub issued: Option<IssuedSession>,
}

/// Maximum number of comparisons when the row keeps changing concurrently: another sign-in rehashed it, or the password changed.
const MAX_LOOKS: u32 = 5;

/// Everything known before the transaction.
struct Compared<'a> {
    user: UserId,
    guarded: &'a LockoutSubject,
    device: &'a DeviceFingerprint,
    right: Option<RightPassword>,
}

enum Concluded {
    SignedIn(Box<Option<(Session, Secret<String>)>>),
    /// The row has changed in the meantime.
    ChangedMeanwhile,
}

impl Service {
    /// Verifies a password, and issues or continues a session.
    ///
    /// # Errors
    /// [`Refusal::InvalidCredentials`] for a wrong password, an unknown user, one without a password and a disabled one, at the same
    /// price (P-10); [`Refusal::TooMany`] after too many for this user, or from this address (P-11). A wrong try stays counted.
    pub async fn verify_password(
        &self,
        caller: &Caller,
        command: VerifyPassword,
    ) -> Result<VerifiedPassword, Refusal> {
        caller.authorize(Action::VerifyPassword)?;
        let password = Password::presented("password", command.password)?;
        let user_id = caller.visible_user(command.user_id);
        let session_request = self
            .check_session_fields(caller, &command.session_fields)
            .await?;
        let signing_key = self.key_for(&caller.world, &session_request).await?;
        let guarded =
            LockoutSubject::new(password::guarded_user(user_id), &command.device_fingerprint);
        for _ in 0..MAX_LOOKS {
            self.refuse_while_blocked(caller, &guarded).await?;
            let right = self
                .compare_password(&caller.world, user_id, &password)
                .await?;
            let compared = Compared {
                user: user_id,
                guarded: &guarded,
                device: &command.device_fingerprint,
                right,
            };
            match retried(|| self.conclude(caller, &compared, &session_request)).await? {
                Concluded::SignedIn(granted) => {
                    let issued = self.issued(caller, signing_key.as_ref(), *granted).await?;
                    return Ok(VerifiedPassword {
                        user_id: command.user_id,
                        issued,
                    });
                }
                Concluded::ChangedMeanwhile => {}
            }
        }
        Err(Fault::LostRace.into())
    }

    /// Rejects an attempt during a lockout without hashing, for known and unknown users alike.
    async fn refuse_while_blocked(
        &self,
        caller: &Caller,
        guarded: &LockoutSubject,
    ) -> Result<(), Refusal> {
        let mut read = self.ports.store.read().await?;
        let now = self.now(&caller.world);
        match guarded.wait(&mut *read, &caller.world, now).await? {
            Some(retry_after) => Err(Refusal::TooMany { retry_after }),
            None => Ok(()),
        }
    }

    async fn conclude(
        &self,
        caller: &Caller,
        compared: &Compared<'_>,
        session_request: &SessionRequest,
    ) -> Result<Concluded, Refusal> {
        let world = &caller.world;
        let now = self.now(world);
        let mut tx = self.ports.store.begin().await?;
        // Checked again: concurrent attempts may have been counted since. A correct guess after too many wrong ones counts as little as
        // they do.
        let look = compared.guarded.status(&mut *tx, world, now).await?;
        if let Some(retry_after) = look.wait {
            return Err(Refusal::TooMany { retry_after });
        }
        let Some(right) = &compared.right else {
            let failure = Failure::wrong(Method::Password, compared.user);
            compared
                .guarded
                .count_failure(self, &mut *tx, caller, failure, now)
                .await?;
            tx.commit().await?;
            return Err(Refusal::InvalidCredentials);
        };
        // The user is locked before the password, in the same order as in a takeover.
        if !tx.users().lock(world, compared.user).await? || !right.lock_unchanged(&mut *tx).await? {
            return Ok(Concluded::ChangedMeanwhile);
        }
        compared
            .guarded
            .count_success(&mut *tx, world, compared.user, look.has_failed, now)
            .await?;
        let sign_in = SignIn {
            user_id: compared.user,
            factor: Factor {
                proof: Proof::Password,
                last_verified_at: now,
            },
            device_fingerprint: compared.device.clone(),
        };
        let granted = self
            .start_or_extend(&mut *tx, caller, session_request, sign_in, now)
            .await;
        let granted = match granted {
            // The next comparison sees this and counts it.
            Err(StartSessionError::UserDisabled) => return Ok(Concluded::ChangedMeanwhile),
            granted => granted.map_err(StartSessionError::into_refusal)?,
        };
        caller.commit_last(tx).await?;
        Ok(Concluded::SignedIn(Box::new(granted)))
    }
}
