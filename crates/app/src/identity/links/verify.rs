//! `magic_links/verify`: verifying single-use links.

use vestry_domain::action::Action;
use vestry_domain::code::{CodePurpose, MethodId, Reserved};
use vestry_domain::event::Method;
use vestry_domain::ids::{EmailId, UserId};
use vestry_domain::link::{Link, LinkProgress, LinkPurpose, guard_subject};
use vestry_domain::pkce;
use vestry_domain::session::{DeviceFingerprint, Factor, Proof, Session, SignIn};
use vestry_domain::token::TokenHash;
use vestry_domain::{Secret, Timestamp};
use vestry_ports::store::{Repositories, StoreError};

use crate::identity::lockout::{self, Failure};
use crate::identity::sessions::issue::{SessionRequest, from_start_session_error};
use crate::identity::sessions::{IssuedSession, SessionFields};
use crate::identity::users::verification::{IdentifierVerification, Spelling, from_proof_error};
use crate::kernel::fault::retried;
use crate::kernel::refusal::has_common;
use crate::{Caller, Refusal, Service};

/// The parameters of the call.
#[derive(Debug)]
pub struct VerifyLink {
    /// The token from the link.
    pub token: Secret<String>,
    /// The origin token that `create` returned. Binds the link to the requesting browser, if the App wants that (ML-8).
    pub origin_token: Option<Secret<String>>,
    /// The PKCE verifier of the challenge passed to `login_or_create`.
    pub code_verifier: Option<Secret<String>>,
    /// How to handle the session.
    pub session_fields: SessionFields,
    /// The end user's device.
    pub device_fingerprint: DeviceFingerprint,
}

/// A successfully verified link.
#[derive(Debug)]
pub struct VerifiedLink {
    /// The address that it verified.
    pub email_id: EmailId,
    /// The user who signed in.
    pub user_id: UserId,
    /// The session, if one was requested.
    pub issued: Option<IssuedSession>,
}

/// The reason why a sign-in failed.
#[derive(Debug, thiserror::Error)]
pub enum VerifyLinkError {
    /// Unknown, used, expired, replaced, for another purpose, of a disabled user, opened on another device, or without its verifier:
    /// indistinguishable to the caller (ML-3).
    #[error("the link is invalid")]
    InvalidToken,
    /// The link is valid, but not in this browser (ML-8). It was not used up.
    #[error("the link was not requested by this browser")]
    InvalidOrigin,
    /// See [`Refusal`].
    #[error(transparent)]
    Common(Refusal),
}

has_common!(VerifyLinkError);
from_proof_error!(VerifyLinkError::InvalidToken);
from_start_session_error!(VerifyLinkError::InvalidToken);

/// The used link, and the session with its token if one was requested.
type Used = (Link, Option<(Session, Secret<String>)>);

impl Service {
    /// Uses a link up, marks its address as verified, activates a pending user, and issues or continues a session.
    ///
    /// # Errors
    /// [`VerifyLinkError`]; [`Refusal::UnprovenIdentifier`] when the address is an unverified claim of an owned account, which only a
    /// session of its user can verify. A valid link stays valid unless the call succeeds.
    pub async fn verify_link(
        &self,
        caller: &Caller,
        command: VerifyLink,
    ) -> Result<VerifiedLink, VerifyLinkError> {
        caller.authorize(Action::VerifyLink)?;
        let session_request = self
            .check_session_fields(caller, &command.session_fields)
            .await?;
        let signing_key = self.key_for(&caller.world, &session_request).await?;
        retried(|| self.check_link_verifier(caller, &command)).await?;
        let (link, granted) = retried(|| self.try_link(caller, &command, &session_request)).await?;
        let issued = self.issued(caller, signing_key.as_ref(), granted).await?;
        Ok(VerifiedLink {
            email_id: link.email_id,
            user_id: link.user_id,
            issued,
        })
    }

    /// Checks that the verifying client requested the link (M-2).
    ///
    /// An attempt is counted before it is compared, and a wrong one stays counted before the outcome is revealed. The last allowed attempt
    /// invalidates the link.
    ///
    /// It runs in a transaction of its own. Using a link up first locks the code of its mail, which a wrong attempt must not touch.
    async fn check_link_verifier(
        &self,
        caller: &Caller,
        command: &VerifyLink,
    ) -> Result<(), VerifyLinkError> {
        let world = &caller.world;
        let now = self.now(world);
        let token = TokenHash::of(command.token.expose());
        let mut read = self.ports.store.read().await?;
        let link = read.links().find(world, &token).await?;
        drop(read);
        let link = link
            .filter(|link| is_good(link, now) && caller.reaches_user(link.user_id))
            .ok_or(VerifyLinkError::InvalidToken)?;
        let (challenge, verifier) = (link.challenge.as_ref(), command.code_verifier.as_ref());
        if challenge.is_none() && verifier.is_none() {
            return Ok(());
        }
        let purposes = &LinkPurpose::SIGNING_IN;
        let mut tx = self.ports.store.begin().await?;
        let tries = tx.links().attempt(world, &token, purposes, now).await?;
        let tries = tries.ok_or(VerifyLinkError::InvalidToken)?;
        if pkce::is_met(challenge, verifier) {
            // Not committed: a valid link stays valid until it is used, however often that fails for other reasons.
            return Ok(());
        }
        if tries >= pkce::MAX_TRIES {
            tx.links().consume(world, &token, purposes, now).await?;
        }
        tx.commit().await?;
        Err(VerifyLinkError::InvalidToken)
    }

    async fn try_link(
        &self,
        caller: &Caller,
        command: &VerifyLink,
        session_request: &SessionRequest,
    ) -> Result<Used, VerifyLinkError> {
        let world = &caller.world;
        let now = self.now(world);
        let token = TokenHash::of(command.token.expose());
        let mut tx = self.ports.store.begin().await?;
        let link = tx.links().find(world, &token).await?;
        let link = link
            .filter(|link| is_good(link, now) && caller.reaches_user(link.user_id))
            .ok_or(VerifyLinkError::InvalidToken)?;
        let subject = guard_subject(link.email_id);
        if let Some(retry_after) = lockout::wait(&mut *tx, world, &subject, now).await? {
            return Err(Refusal::TooMany { retry_after }.into());
        }
        if let Err(refused) = fits(caller, command, &link) {
            if !is_reserved(&mut *tx, caller, link.email_id).await? {
                let failure = Failure::wrong(Method::MagicLink, link.user_id);
                lockout::count_failure(self, &mut *tx, caller, &subject, failure, now).await?;
                tx.commit().await?;
            }
            return Err(refused);
        }
        let method = MethodId::Email(link.email_id);
        if link.purpose == LinkPurpose::Login {
            // The code from the same mail is no longer valid. It is removed before the link, in the same order as when a code is verified;
            // otherwise the two calls could deadlock.
            tx.codes()
                .consume(world, method, CodePurpose::SignIn, now)
                .await?;
        }
        // The values read above never change. Whether the link still exists and is unused is decided here (ML-3, R6).
        let used = tx
            .links()
            .consume(world, &token, &LinkPurpose::SIGNING_IN, now)
            .await?;
        let link = used.ok_or(VerifyLinkError::InvalidToken)?;
        tx.lockouts().reset(world, &subject).await?;
        let proof = IdentifierVerification {
            method,
            user: link.user_id,
            // The App itself named the user or the address, and has the link.
            vouched: link.purpose == LinkPurpose::Create,
            spelling: Spelling::mailed(link.sent_to()),
            in_session: session_request.user(),
        };
        let proven = self.prove(&mut *tx, caller, proof, now).await?;
        let user_id = proven.user_id;
        self.send_quota(world, now)
            .clear(&mut *tx, &proven.identity)
            .await?;
        let sign_in = SignIn {
            user_id,
            factor: factor(link.email_id, proven.text, now),
            device_fingerprint: command.device_fingerprint.clone(),
        };
        let granted = self
            .start_or_extend(&mut *tx, caller, session_request, sign_in, now)
            .await?;
        if let Some((session, _)) = &granted
            && link.origin.is_some()
            // An existing session may rest on more than this link, which is all that the origin has seen.
            && session_request.user().is_none()
        {
            tx.links().offer(world, &token, session.id).await?;
        }
        caller.commit_last(tx).await?;
        let link = Link { user_id, ..link };
        Ok((link, granted))
    }
}

/// Whether a link can sign a user in at this moment.
fn is_good(link: &Link, now: Timestamp) -> bool {
    link.progress(now) == LinkProgress::Waiting && LinkPurpose::SIGNING_IN.contains(&link.purpose)
}

/// Checks that device and browser match those of the call that created the link, as far as the App requires (OTP-7, ML-8).
fn fits(caller: &Caller, command: &VerifyLink, link: &Link) -> Result<(), VerifyLinkError> {
    let rule = caller.settings().device_fingerprint_match;
    let sent = link.fingerprint.as_ref();
    if sent.is_some_and(|sent| !sent.matches(&command.device_fingerprint, rule)) {
        return Err(VerifyLinkError::InvalidToken);
    }
    let presented = command.origin_token.as_ref();
    let presented = presented.map(|token| TokenHash::of(token.expose()));
    if presented.is_some() && presented != link.origin {
        return Err(VerifyLinkError::InvalidOrigin);
    }
    Ok(())
}

/// The session factor for a verified address.
pub(super) const fn factor(email_id: EmailId, email: String, at: Timestamp) -> Factor {
    Factor {
        proof: Proof::EmailLink { email_id, email },
        last_verified_at: at,
    }
}

/// Whether this is a reserved address of the test environment, to which no limits apply.
async fn is_reserved(
    tx: &mut dyn Repositories,
    caller: &Caller,
    email_id: EmailId,
) -> Result<bool, StoreError> {
    if !caller.is_test() {
        return Ok(false);
    }
    let email = tx.identifiers().email(&caller.world, email_id).await?;
    Ok(email.is_some_and(|email| Reserved::of_email(email.email.identity()).is_some()))
}
