//! `passwords/reset/complete`: sets a new password with a mailed link.

use vestry_domain::Secret;
use vestry_domain::action::Action;
use vestry_domain::code::MethodId;
use vestry_domain::event::Method;
use vestry_domain::ids::UserId;
use vestry_domain::link::{Link, LinkProgress, LinkPurpose, reset_guard_subject};
use vestry_domain::password::Password;
use vestry_domain::session::{DeviceFingerprint, Factor, Proof, Session, SignIn};
use vestry_domain::token::TokenHash;
use vestry_ports::store::Repositories;

use super::set::{Grounds, NewPassword};
use crate::identity::lockout::{self, Failure};
use crate::identity::sessions::issue::{SessionRequest, from_start_session_error};
use crate::identity::sessions::{IssuedSession, SessionFields};
use crate::identity::users::verification::{IdentifierVerification, Spelling, from_proof_error};
use crate::kernel::fault::retried;
use crate::kernel::refusal::has_common;
use crate::{Caller, Fault, Refusal, Service};

/// The parameters of the call.
#[derive(Debug)]
pub struct CompleteReset {
    /// The token from the link.
    pub token: Secret<String>,
    /// The new password.
    pub password: Secret<String>,
    /// How to handle the session. A user with an authenticator app needs a session that holds its factor (P-13).
    pub session_fields: SessionFields,
    /// The end user's device.
    pub device_fingerprint: DeviceFingerprint,
}

/// A password that was set.
#[derive(Debug)]
pub struct CompletedReset {
    /// The user whose password was set.
    pub user_id: UserId,
    /// The session, if one was requested.
    pub issued: Option<IssuedSession>,
}

/// The reason why no password was set.
#[derive(Debug, thiserror::Error)]
pub enum CompleteResetError {
    /// Wrong, expired, used, unknown, or of a disabled user: indistinguishable to the caller (ML-3).
    #[error("the token is invalid")]
    InvalidToken,
    /// See [`Refusal`].
    #[error(transparent)]
    Common(Refusal),
}

has_common!(CompleteResetError);
from_proof_error!(CompleteResetError::InvalidToken);
from_start_session_error!(CompleteResetError::InvalidToken);

impl Service {
    /// Sets a new password with a link that was mailed, ends the user's other sessions, and issues or continues a session.
    ///
    /// # Errors
    /// [`CompleteResetError`]; [`Refusal::TooMany`] when the link was tried too often from devices that it was not sent to
    /// (OTP-7), [`Refusal::InsufficientFactor`] when the user has a second factor, and the call continues no session that holds
    /// it (P-13), [`Refusal::UnprovenIdentifier`] when the address is the claim of an owned account. A link that
    /// was good stays good, unless the answer is a success.
    pub async fn complete_reset(
        &self,
        caller: &Caller,
        command: CompleteReset,
    ) -> Result<CompletedReset, CompleteResetError> {
        caller.authorize(Action::CompletePasswordReset)?;
        let password = Password::presented("password", command.password)?;
        let session_request = self
            .check_session_fields(caller, &command.session_fields)
            .await?;
        let signing_key = self.key_for(&caller.world, &session_request).await?;
        let token = TokenHash::of(command.token.expose());
        let link = self
            .good_reset(caller, &token, &command.device_fingerprint)
            .await?;
        // Hashing is expensive, so it is done only for a valid link that may be used.
        self.require_usable_early(caller, link.user_id, &session_request)
            .await?;
        let new = self.new_password(caller, link.user_id, &password).await?;
        let device = &command.device_fingerprint;
        let granted =
            retried(|| self.store_reset(caller, &token, &new, &session_request, device.clone()))
                .await?;
        let issued = self.issued(caller, signing_key.as_ref(), granted).await?;
        Ok(CompletedReset {
            user_id: link.user_id,
            issued,
        })
    }

    /// Finds the link if it can set a password at this moment.
    async fn good_reset(
        &self,
        caller: &Caller,
        token: &TokenHash,
        device: &DeviceFingerprint,
    ) -> Result<Link, CompleteResetError> {
        let world = &caller.world;
        let now = self.now(world);
        let mut read = self.ports.store.read().await?;
        let link = read.links().find(world, token).await?;
        let good = link.filter(|link| {
            link.purpose == LinkPurpose::PasswordReset
                && link.progress(now) == LinkProgress::Waiting
                && caller.reaches_user(link.user_id)
        });
        let link = good.ok_or(CompleteResetError::InvalidToken)?;
        let subject = reset_guard_subject(link.email_id);
        if let Some(retry_after) = lockout::wait(&mut *read, world, &subject, now).await? {
            return Err(Refusal::TooMany { retry_after }.into());
        }
        drop(read);
        let rule = caller.settings().device_fingerprint_match;
        let sent = link.fingerprint.as_ref();
        if sent.is_some_and(|sent| !sent.matches(device, rule)) {
            retried(|| self.count_wrong_device(caller, &subject, link.user_id)).await?;
            return Err(CompleteResetError::InvalidToken);
        }
        Ok(link)
    }

    async fn count_wrong_device(
        &self,
        caller: &Caller,
        subject: &str,
        user: UserId,
    ) -> Result<(), Fault> {
        let now = self.now(&caller.world);
        let mut tx = self.ports.store.begin().await?;
        let failure = Failure::wrong(Method::MagicLink, user);
        lockout::count_failure(self, &mut *tx, caller, subject, failure, now).await?;
        Ok(tx.commit().await?)
    }

    /// Checks early, before the expensive hash and before any verdict on the password.
    ///
    /// The authenticator app of an account without an owner does not count: the proof removes it.
    async fn require_usable_early(
        &self,
        caller: &Caller,
        user: UserId,
        session_request: &SessionRequest,
    ) -> Result<(), CompleteResetError> {
        let mut read = self.ports.store.read().await?;
        let profile = read.users().profile(&caller.world, user).await?;
        let owner = profile.map(|profile| profile.user);
        if owner.as_ref().is_some_and(|user| user.disabled.is_some()) {
            return Err(CompleteResetError::InvalidToken);
        }
        if owner.is_some_and(|user| user.is_owned) {
            self.require_second_factor(&mut *read, caller, user, session_request)
                .await?;
        }
        Ok(())
    }

    /// A mailbox alone must not bypass an authenticator app (P-13): its owner proves it first and continues that session.
    async fn require_second_factor(
        &self,
        repositories: &mut dyn Repositories,
        caller: &Caller,
        user: UserId,
        session_request: &SessionRequest,
    ) -> Result<(), CompleteResetError> {
        let world = &caller.world;
        let enrolled = repositories.totps().count_verified(world, user).await? > 0;
        let freshness = caller.settings().freshness();
        let now = self.now(world);
        let proved = session_request.continues(user, |session| {
            session.proved_lately(freshness, now, Proof::is_second_factor)
        });
        if enrolled && !proved {
            return Err(Refusal::InsufficientFactor.into());
        }
        Ok(())
    }

    async fn store_reset(
        &self,
        caller: &Caller,
        token: &TokenHash,
        new: &NewPassword,
        session_request: &SessionRequest,
        device_fingerprint: DeviceFingerprint,
    ) -> Result<Option<(Session, Secret<String>)>, CompleteResetError> {
        let world = &caller.world;
        let now = self.now(world);
        let mut tx = self.ports.store.begin().await?;
        // Decided here, whatever was read before (ML-3, R6).
        let used = tx
            .links()
            .consume(world, token, &[LinkPurpose::PasswordReset], now)
            .await?;
        let link = used.ok_or(CompleteResetError::InvalidToken)?;
        // Checked again, and finally. The first code of an authenticator app also locks the user, so it either came before and is seen, or
        // waits until the password is set.
        if !tx.users().lock(world, link.user_id).await? {
            return Err(CompleteResetError::InvalidToken);
        }
        tx.lockouts()
            .reset(world, &reset_guard_subject(link.email_id))
            .await?;
        let method = MethodId::Email(link.email_id);
        let proof = IdentifierVerification {
            method,
            user: link.user_id,
            vouched: true,
            spelling: Spelling::mailed(link.sent_to()),
            in_session: session_request.user(),
        };
        let proven = self.prove(&mut *tx, caller, proof, now).await?;
        if proven.user_id != link.user_id {
            // The session would belong to the current owner of the address, but the link and the password belong to another user.
            return Err(CompleteResetError::InvalidToken);
        }
        self.send_quota(world, now)
            .clear(&mut *tx, &proven.identity)
            .await?;
        // After the proof: factors enrolled before the account had an owner are gone by now (CL-3).
        self.require_second_factor(&mut *tx, caller, proven.user_id, session_request)
            .await?;
        let by_link = Grounds::Link;
        new.store(
            self,
            &mut *tx,
            caller,
            by_link,
            session_request.session(),
            now,
        )
        .await?;
        let sign_in = SignIn {
            user_id: proven.user_id,
            factor: Factor {
                proof: Proof::EmailLink {
                    email_id: link.email_id,
                    email: proven.text,
                },
                last_verified_at: now,
            },
            device_fingerprint,
        };
        let granted = self
            .start_or_extend(&mut *tx, caller, session_request, sign_in, now)
            .await?;
        caller.commit_last(tx).await?;
        Ok(granted)
    }
}
