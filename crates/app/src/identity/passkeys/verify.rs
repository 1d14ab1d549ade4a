//! `webauthn/verify`: a passkey signs its user in.

use serde_json::Value;
use vestry_domain::action::Action;
use vestry_domain::event::{Fact, Method};
use vestry_domain::ids::{UserId, WebauthnCredentialId};
use vestry_domain::passkey::{Ceremony, Passkey, PasskeyChallenge};
use vestry_domain::session::{DeviceFingerprint, Factor, Proof, Session, SignIn};
use vestry_domain::token::TokenHash;
use vestry_domain::user::ShownStatus;
use vestry_domain::{Secret, Timestamp};
use vestry_ports::passkeys::{Asserted, Expected, KnownCredential, PresentedAssertion, Refused};
use vestry_ports::store::PasskeyUse;

use super::{must_verify_user, origins};
use crate::identity::lockout::{Failure, emit_failure};
use crate::identity::sessions::issue::{SessionRequest, StartSessionError};
use crate::identity::sessions::{IssuedSession, SessionFields};
use crate::identity::users::status::status_of;
use crate::kernel::fault::retried;
use crate::{Caller, Refusal, Service};

/// The parameters of the call.
#[derive(Debug)]
pub struct VerifyPasskey {
    /// `PublicKeyCredential.toJSON()`, as an object or as text.
    pub credential: Value,
    /// How to handle the session.
    pub session_fields: SessionFields,
    /// The end user's device.
    pub device_fingerprint: DeviceFingerprint,
}

/// A successful passkey sign-in.
#[derive(Debug)]
pub struct VerifiedPasskey {
    /// The user who signed in.
    pub user_id: UserId,
    /// The passkey that was used.
    pub passkey_id: WebauthnCredentialId,
    /// The session, if one was requested.
    pub issued: Option<IssuedSession>,
}

/// The verified answer of an authenticator, before anything is written.
struct Answer {
    challenge: PasskeyChallenge,
    /// The user who would sign in: the one the challenge names, or the passkey's owner.
    user: Option<UserId>,
    checked: Result<(Passkey, Asserted), Refused>,
}

impl Service {
    /// Verifies the answer of an authenticator, and issues or continues a session.
    ///
    /// Everything is checked before the transaction; inside it, one guarded statement uses the challenge up, whatever the
    /// checks said, and another one writes the count of signatures if it may follow the stored one.
    ///
    /// # Errors
    /// [`Refusal::InvalidCredentials`] for a challenge that is unknown, used or expired, an unknown passkey, a check that failed, and
    /// a disabled user; [`Refusal::InsufficientFactor`] while the user is pending.
    pub async fn verify_passkey(
        &self,
        caller: &Caller,
        command: VerifyPasskey,
    ) -> Result<VerifiedPasskey, Refusal> {
        caller.authorize(Action::AuthenticateWithPasskey)?;
        let session_request = self
            .check_session_fields(caller, &command.session_fields)
            .await?;
        let signing_key = self.key_for(&caller.world, &session_request).await?;
        let presented = self.ports.passkeys.read_assertion(&command.credential)?;
        let answer = self.check_answer(caller, &presented).await?;
        let device = &command.device_fingerprint;
        let accepted = retried(|| self.accept(caller, &answer, &session_request, device)).await?;
        let (passkey, granted) = accepted;
        let issued = self.issued(caller, signing_key.as_ref(), granted).await?;
        Ok(VerifiedPasskey {
            user_id: passkey.user_id,
            passkey_id: passkey.id,
            issued,
        })
    }

    async fn check_answer(
        &self,
        caller: &Caller,
        presented: &PresentedAssertion,
    ) -> Result<Answer, Refusal> {
        let world = &caller.world;
        let hash = TokenHash::of(&presented.challenge);
        let mut read = self.ports.store.read().await?;
        let challenge = read.passkeys().challenge(world, &hash).await?;
        let challenge = challenge.filter(|challenge| {
            challenge
                .user_id
                .is_none_or(|user| caller.reaches_user(user))
        });
        let challenge = challenge.ok_or(Refusal::InvalidCredentials)?;
        let credential_id = &presented.credential_id;
        let passkey = read
            .passkeys()
            .find_by_credential(world, credential_id)
            .await?
            .filter(|passkey| caller.reaches_user(passkey.user_id));
        let handle = match &passkey {
            Some(passkey) => read.passkeys().handle(world, passkey.user_id).await?,
            None => None,
        };
        drop(read);
        let handle = handle.as_ref().map(|handle| handle.0.as_slice());
        let owner = passkey.as_ref().map(|passkey| passkey.user_id);
        let user = challenge.user_id.or(owner);
        let checked = passkey
            .ok_or(Refused("unknown credential"))
            .and_then(|passkey| {
                identify(&challenge, &passkey, handle, presented)?;
                let asserted = self.check_assertion(caller, &challenge, &passkey, presented)?;
                Ok((passkey, asserted))
            });
        Ok(Answer {
            challenge,
            user,
            checked,
        })
    }

    fn check_assertion(
        &self,
        caller: &Caller,
        challenge: &PasskeyChallenge,
        passkey: &Passkey,
        presented: &PresentedAssertion,
    ) -> Result<Asserted, Refused> {
        let expected = Expected {
            challenge: &presented.challenge,
            origins: &origins(caller, challenge.domain.clone()),
            user_verification: must_verify_user(caller),
        };
        let known = KnownCredential {
            public_key: &passkey.public_key,
            backup_eligible: passkey.backup_eligible,
        };
        self.ports
            .passkeys
            .check_assertion(presented, &expected, known)
    }

    async fn accept(
        &self,
        caller: &Caller,
        answer: &Answer,
        session_request: &SessionRequest,
        device: &DeviceFingerprint,
    ) -> Result<(Passkey, Option<(Session, Secret<String>)>), Refusal> {
        let world = &caller.world;
        let now = self.now(world);
        let mut tx = self.ports.store.begin().await?;
        // Before the challenge and the passkey, in the lock order of a takeover.
        if let Ok((passkey, _)) = &answer.checked
            && !tx.users().lock(world, passkey.user_id).await?
        {
            return Err(Refusal::InvalidCredentials);
        }
        let hash = &answer.challenge.hash;
        if !tx
            .passkeys()
            .consume_challenge(world, hash, Ceremony::Authentication, now)
            .await?
        {
            return Err(Refusal::InvalidCredentials);
        }
        let (passkey, asserted) = match &answer.checked {
            Ok(checked) => checked,
            Err(refused) => {
                let failure = answer
                    .user
                    .map(|user| Failure::wrong(Method::Webauthn, user));
                if let Some(failure) = failure {
                    emit_failure(self, &mut *tx, caller, failure, now).await?;
                }
                tx.commit().await?;
                tracing::info!(%refused, "passkey assertion refused");
                return Err(Refusal::InvalidCredentials);
            }
        };
        let usage = PasskeyUse {
            sign_count: asserted.sign_count,
            backed_up: asserted.backed_up,
            at: now,
        };
        if !tx.passkeys().record_use(world, passkey.id, usage).await? {
            // A passkey that still exists was refused for its counter. The user's lock keeps it from being deleted now.
            let there = tx.passkeys().find(world, passkey.id).await?;
            let facts =
                there.map(|passkey| Fact::passkey_counter_regressed(passkey.user_id, passkey.id));
            self.emit(&mut *tx, caller, facts).await?;
            tx.commit().await?;
            tracing::warn!(
                passkey = %passkey.id,
                "a passkey was refused: its count of signatures did not grow, or it was removed; it may have been copied"
            );
            return Err(Refusal::InvalidCredentials);
        }
        let refused = match status_of(&mut *tx, world, passkey.user_id).await? {
            Some(ShownStatus::Active) => None,
            Some(ShownStatus::Pending) => Some(Refusal::InsufficientFactor),
            Some(ShownStatus::Disabled) | None => Some(Refusal::InvalidCredentials),
        };
        if let Some(refused) = refused {
            let failure = Failure::user_disabled(Method::Webauthn, passkey.user_id);
            emit_failure(self, &mut *tx, caller, failure, now).await?;
            tx.commit().await?;
            return Err(refused);
        }
        let sign_in = sign_in(passkey, device, now);
        let granted = self
            .start_or_extend(&mut *tx, caller, session_request, sign_in, now)
            .await;
        let granted = granted.map_err(StartSessionError::into_refusal)?;
        caller.commit_last(tx).await?;
        Ok((passkey.clone(), granted))
    }
}

/// Steps 5 and 6 of section 7.2: the passkey is one that the challenge was for, and the authenticator means its owner.
fn identify(
    challenge: &PasskeyChallenge,
    passkey: &Passkey,
    handle: Option<&[u8]>,
    presented: &PresentedAssertion,
) -> Result<(), Refused> {
    if challenge.domain != passkey.domain {
        return Err(Refused("domain"));
    }
    if challenge
        .user_id
        .is_some_and(|user| user != passkey.user_id)
    {
        return Err(Refused("user"));
    }
    match presented.user_handle.as_deref() {
        Some(named) if Some(named) != handle => Err(Refused("user handle")),
        // No user was named, so the authenticator must name one.
        None if challenge.user_id.is_none() => Err(Refused("no user handle")),
        _ => Ok(()),
    }
}

fn sign_in(passkey: &Passkey, device: &DeviceFingerprint, now: Timestamp) -> SignIn {
    SignIn {
        user_id: passkey.user_id,
        factor: Factor {
            proof: Proof::Passkey {
                webauthn_credential_id: passkey.id,
            },
            last_verified_at: now,
        },
        device_fingerprint: device.clone(),
    }
}
