//! `otps/verify`: verifying one-time codes. A correct code works once; after that it is treated as wrong.

use vestry_domain::action::Action;
use vestry_domain::code::{self, Code, CodePurpose, MethodId, Reserved};
use vestry_domain::envelope::{Mac, SecretKind};
use vestry_domain::event::Method;
use vestry_domain::ids::UserId;
use vestry_domain::link::LinkPurpose;
use vestry_domain::phone::PhoneNumber;
use vestry_domain::session::{DeviceFingerprint, Factor, Proof, Session, SignIn};
use vestry_domain::{Secret, Timestamp};
use vestry_ports::store::{Repositories, StoreError};

use crate::identity::lockout::{Failure, LockoutSubject};
use crate::identity::quotas::text_was_verified;
use crate::identity::sessions::issue::{
    SessionRequest, StartSessionError, from_start_session_error,
};
use crate::identity::sessions::{IssuedSession, SessionFields};
use crate::identity::users::verification::{
    IdentifierVerification, Proven, Spelling, from_proof_error,
};
use crate::kernel::fault::retried;
use crate::kernel::refusal::has_common;
use crate::{Caller, Fault, Refusal, Service};

/// The parameters of the call.
#[derive(Debug)]
pub struct VerifyCode {
    /// The address or number that the code was sent to.
    pub method_id: MethodId,
    /// The digits.
    pub otp: Secret<String>,
    /// How to handle the session.
    pub session_fields: SessionFields,
    /// The end user's device.
    pub device_fingerprint: DeviceFingerprint,
}

/// A successfully verified code.
#[derive(Debug)]
pub struct VerifiedCode {
    /// The address or number that the code was sent to.
    pub method_id: MethodId,
    /// The user who signed in.
    pub user_id: UserId,
    /// The session, if one was requested.
    pub issued: Option<IssuedSession>,
}

/// The reason why a sign-in failed.
#[derive(Debug, thiserror::Error)]
pub enum VerifyCodeError {
    /// Wrong, expired, used or unknown, or its user is disabled: indistinguishable to the caller.
    #[error("the code is invalid")]
    InvalidCode,
    /// See [`Refusal`].
    #[error(transparent)]
    Common(Refusal),
}

has_common!(VerifyCodeError);
from_proof_error!(VerifyCodeError::InvalidCode);
from_start_session_error!(VerifyCodeError::InvalidCode);

/// The user who signed in, and the session with its token if one was requested.
type SignedIn = (UserId, Option<(Session, Secret<String>)>);

/// The presented values, in the form used for comparison.
struct Presented<'a> {
    command: &'a VerifyCode,
    digits: Secret<String>,
    method: String,
    mac: Mac,
    guarded: LockoutSubject,
}

impl Service {
    /// Verifies a code, marks its address as verified, activates a pending user, and issues or continues a session.
    ///
    /// # Errors
    /// [`VerifyCodeError`]; [`Refusal::TooMany`] after too many consecutive failures for this identifier (OTP-5);
    /// [`Refusal::UnprovenIdentifier`] when it is an unverified claim of an owned account, which only a session of its user can verify. A
    /// wrong attempt stays counted.
    pub async fn verify_code(
        &self,
        caller: &Caller,
        command: VerifyCode,
    ) -> Result<VerifiedCode, VerifyCodeError> {
        caller.authorize(Action::VerifyCode)?;
        let session_request = self
            .check_session_fields(caller, &command.session_fields)
            .await?;
        let signing_key = self.key_for(&caller.world, &session_request).await?;
        // Input that cannot be a code is not a guess and is not counted (M-17).
        let digits = code::typed(command.otp.expose()).ok_or(VerifyCodeError::InvalidCode)?;
        let method = command.method_id.to_string();
        let parts = code::bound_parts(CodePurpose::SignIn, &method, digits.expose());
        let mac = self
            .ports
            .sealer
            .mac(&caller.world, SecretKind::Code, &parts)
            .await?;
        let presented = Presented {
            command: &command,
            digits,
            guarded: LockoutSubject::new(method.clone(), &command.device_fingerprint),
            method,
            mac,
        };
        let Some((user_id, granted)) =
            retried(|| self.try_code(caller, &presented, &session_request)).await?
        else {
            retried(|| self.count_as_wrong(caller, &presented)).await?;
            return Err(VerifyCodeError::InvalidCode);
        };
        let issued = self.issued(caller, signing_key.as_ref(), granted).await?;
        Ok(VerifiedCode {
            method_id: command.method_id,
            user_id,
            issued,
        })
    }

    /// Attempts a code once. `None`: the code is right, but its user may not sign in; nothing was changed.
    async fn try_code(
        &self,
        caller: &Caller,
        presented: &Presented<'_>,
        session_request: &SessionRequest,
    ) -> Result<Option<SignedIn>, VerifyCodeError> {
        let world = &caller.world;
        let now = self.now(world);
        let method_id = presented.command.method_id;
        let mut tx = self.ports.store.begin().await?;
        if caller.is_limited() {
            // Before the lockout, which would show that the identifier exists.
            let found = tx.identifiers().find(world, method_id).await?;
            if found.is_some_and(|found| !caller.reaches_user(found.user_id())) {
                return Err(VerifyCodeError::InvalidCode);
            }
        }
        let reserved = is_reserved(&mut *tx, caller, method_id).await?;
        let (code, has_failed) = begin_attempt(&mut *tx, caller, presented, reserved, now).await?;
        if !caller.reaches_user(code.user_id) {
            // Dropping the transaction forgets the attempt: the key must not use up codes of users it does not reach.
            return Err(VerifyCodeError::InvalidCode);
        }
        if !self.is_right(caller, presented, &code).await? {
            if !reserved {
                let failure = Failure::wrong(Method::Otp, code.user_id);
                presented
                    .guarded
                    .count_failure(self, &mut *tx, caller, failure, now)
                    .await?;
            }
            tx.commit().await?;
            return Err(VerifyCodeError::InvalidCode);
        }
        if !tx
            .codes()
            .consume(world, method_id, CodePurpose::SignIn, now)
            .await?
        {
            return Err(VerifyCodeError::InvalidCode);
        }
        if let MethodId::Email(email) = method_id {
            // The link that may have been mailed with the code is no longer valid.
            tx.links().forget(world, email, LinkPurpose::Login).await?;
        }
        let proof = IdentifierVerification {
            method: method_id,
            user: code.user_id,
            vouched: !code.for_anybody,
            spelling: Spelling::mailed(code.sent_to()),
            in_session: session_request.user(),
        };
        let proven = self.prove(&mut *tx, caller, proof, now).await?;
        let user_id = proven.user_id;
        presented
            .guarded
            .count_success(&mut *tx, world, user_id, has_failed, now)
            .await?;
        if !reserved {
            self.send_quota(world, now)
                .clear(&mut *tx, &proven.identity)
                .await?;
            if matches!(method_id, MethodId::Phone(_)) {
                text_was_verified(&mut *tx, world, &number(&proven)?).await?;
            }
        }
        let sign_in = SignIn {
            user_id,
            factor: factor(method_id, proven, now),
            device_fingerprint: presented.command.device_fingerprint.clone(),
        };
        let granted = match self
            .start_or_extend(&mut *tx, caller, session_request, sign_in, now)
            .await
        {
            Err(StartSessionError::UserDisabled) => return Ok(None),
            granted => granted?,
        };
        caller.commit_last(tx).await?;
        Ok(Some((user_id, granted)))
    }

    /// Counts a correct code of a user who may not sign in like a wrong one, with the same limits.
    async fn count_as_wrong(
        &self,
        caller: &Caller,
        presented: &Presented<'_>,
    ) -> Result<(), VerifyCodeError> {
        let now = self.now(&caller.world);
        let mut tx = self.ports.store.begin().await?;
        let reserved = is_reserved(&mut *tx, caller, presented.command.method_id).await?;
        let (code, _) = begin_attempt(&mut *tx, caller, presented, reserved, now).await?;
        if !reserved {
            let failure = Failure::user_disabled(Method::Otp, code.user_id);
            presented
                .guarded
                .count_failure(self, &mut *tx, caller, failure, now)
                .await?;
        }
        Ok(tx.commit().await?)
    }

    /// Compares the digits in constant time, and the device (OTP-7, OTP-8).
    async fn is_right(
        &self,
        caller: &Caller,
        presented: &Presented<'_>,
        code: &Code,
    ) -> Result<bool, Fault> {
        let command = presented.command;
        let digits = if code.mac.key_version == presented.mac.key_version {
            code.mac.matches(&presented.mac)
        } else {
            // The App key was rotated since the code was sent. This is rare enough to call the sealer from here.
            let parts =
                code::bound_parts(code.purpose, &presented.method, presented.digits.expose());
            self.ports
                .sealer
                .mac_matches(&caller.world, SecretKind::Code, &parts, &code.mac)
                .await?
        };
        let rule = caller.settings().device_fingerprint_match;
        let device = code
            .fingerprint
            .as_ref()
            .is_none_or(|sent| sent.matches(&command.device_fingerprint, rule));
        Ok(digits && device)
    }
}

/// Returns the code to compare with, and whether its identifier has failed before.
///
/// The attempt is counted before anything is compared, and the row stays locked until the end (OTP-3, OTP-4).
async fn begin_attempt(
    tx: &mut dyn Repositories,
    caller: &Caller,
    presented: &Presented<'_>,
    reserved: bool,
    now: Timestamp,
) -> Result<(Code, bool), VerifyCodeError> {
    let world = &caller.world;
    let look = presented.guarded.status(tx, world, now).await?;
    if let Some(retry_after) = look.wait {
        return Err(Refusal::TooMany { retry_after }.into());
    }
    let method_id = presented.command.method_id;
    let most_tries = if reserved { i64::MAX } else { code::MAX_TRIES };
    let attempt = tx
        .codes()
        .attempt(world, method_id, CodePurpose::SignIn, most_tries, now)
        .await?;
    let code = attempt.ok_or(VerifyCodeError::InvalidCode)?.code;
    Ok((code, look.has_failed))
}

/// The session factor for a verified identifier.
fn factor(method: MethodId, proven: Proven, now: Timestamp) -> Factor {
    let proof = match method {
        MethodId::Email(email_id) => Proof::EmailCode {
            email_id,
            email: proven.text,
        },
        MethodId::Phone(phone_number_id) => Proof::SmsCode {
            phone_number_id,
            phone_number: proven.text,
        },
    };
    Factor {
        proof,
        last_verified_at: now,
    }
}

fn number(proven: &Proven) -> Result<PhoneNumber, Fault> {
    PhoneNumber::stored(proven.text.clone()).map_err(|error| Fault::Internal(Box::new(error)))
}

/// Whether this is a reserved identity of the test environment, to which no limits apply.
async fn is_reserved(
    tx: &mut dyn Repositories,
    caller: &Caller,
    method_id: MethodId,
) -> Result<bool, StoreError> {
    if !caller.is_test() {
        return Ok(false);
    }
    let reserved = match method_id {
        MethodId::Email(id) => {
            let email = tx.identifiers().email(&caller.world, id).await?;
            email.and_then(|email| Reserved::of_email(email.email.identity()))
        }
        MethodId::Phone(id) => {
            let phone = tx.identifiers().phone(&caller.world, id).await?;
            phone.and_then(|phone| Reserved::of_phone(&phone.number))
        }
    };
    Ok(reserved.is_some())
}
