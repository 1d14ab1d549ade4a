//! `magic_links/email/login_status`: tells the requesting browser that its link was used, and issues a session of its own.
//!
//! No issuable session is stored. The link records which session its use started, and the origin gets **another** one, created here, once.
//! That session rests on the link alone and ends with the first one. It is no longer issued once the first one has ended, so signing out
//! everywhere covers it too.

use vestry_domain::action::Action;
use vestry_domain::ids::{EmailId, SessionId, UserId};
use vestry_domain::link::{Link, LinkProgress, LinkPurpose};
use vestry_domain::session::{Session, SignIn};
use vestry_domain::token::TokenHash;
use vestry_domain::user::UserStatus;
use vestry_domain::{Secret, Timestamp};
use vestry_ports::store::Repositories;

use super::verify::factor;
use crate::identity::sessions::IssuedSession;
use crate::identity::sessions::issue::{from_start_session_error, lock_live, record_sign_in};
use crate::kernel::fault::retried;
use crate::kernel::mint;
use crate::kernel::refusal::has_common;
use crate::kernel::replay_guard::{CredentialKind, ReplayGuard};
use crate::{Caller, Fault, Refusal, Service};

/// The parameters of the call.
#[derive(Debug)]
pub struct LoginStatusQuery {
    /// The address that the link proves.
    pub email_id: EmailId,
    /// The origin token that `create` returned.
    pub origin_token: Secret<String>,
}

/// The status of a link that was used.
#[derive(Debug)]
pub struct LoginStatus {
    /// The user that the link signed in.
    pub user_id: UserId,
    /// The user's status.
    pub status: UserStatus,
    /// The origin's own session, if using the link started one.
    pub issued: Option<IssuedSession>,
}

/// The reason why there is no status to report.
#[derive(Debug, thiserror::Error)]
pub enum LoginStatusError {
    /// The link has not been used yet; poll again.
    #[error("the link has not been used yet")]
    NotVerified,
    /// The link was not used in time, or its status was not polled in time, or its session has ended, or its user is disabled.
    #[error("the link has expired; send a new one")]
    Expired,
    /// Not the token of this address's newest link, or its session was already issued.
    #[error("the request origin token is invalid")]
    InvalidOrigin,
    /// See [`Refusal`].
    #[error(transparent)]
    Common(Refusal),
}

has_common!(LoginStatusError);
from_start_session_error!(LoginStatusError::Expired);

impl Service {
    /// Reports the status of a link. Returns a session only once.
    ///
    /// # Errors
    /// [`LoginStatusError`].
    pub async fn login_status(
        &self,
        caller: &Caller,
        query: LoginStatusQuery,
    ) -> Result<LoginStatus, LoginStatusError> {
        caller.authorize(Action::ReadLoginStatus)?;
        let world = &caller.world;
        let origin = TokenHash::of(query.origin_token.expose());
        let mut read = self.ports.store.read().await?;
        let link = read
            .links()
            .of_email(world, query.email_id, LinkPurpose::Create)
            .await?;
        let link =
            link.filter(|link| link.origin == Some(origin) && caller.reaches_user(link.user_id));
        let link = link.ok_or(LoginStatusError::InvalidOrigin)?;
        let used_at = match link.progress(self.now(world)) {
            LinkProgress::Waiting => return Err(LoginStatusError::NotVerified),
            LinkProgress::Over => return Err(LoginStatusError::Expired),
            LinkProgress::Handed => return Err(LoginStatusError::InvalidOrigin),
            LinkProgress::Used { at } => at,
        };
        let profile = read.users().profile(world, link.user_id).await?;
        drop(read);
        let owner = profile.map(|profile| profile.user);
        let owner = owner.filter(|user| user.disabled.is_none());
        let status = owner.ok_or(LoginStatusError::Expired)?.status;
        caller.record_guard(ReplayGuard::MaySignIn(link.user_id, CredentialKind::Origin));
        let issued = match link.session_id {
            Some(session) => Some(self.hand_over(caller, &link, session, used_at).await?),
            None => None,
        };
        Ok(LoginStatus {
            user_id: link.user_id,
            status,
            issued,
        })
    }

    async fn hand_over(
        &self,
        caller: &Caller,
        link: &Link,
        session: SessionId,
        used_at: Timestamp,
    ) -> Result<IssuedSession, LoginStatusError> {
        let key = self.ready_signing_key(&caller.world).await?;
        let granted = retried(|| self.try_hand_over(caller, link, session, used_at)).await?;
        let issued = self.issued(caller, Some(&key), Some(granted)).await?;
        Ok(issued.ok_or_else(|| Fault::Internal("a session was created but not issued".into()))?)
    }

    async fn try_hand_over(
        &self,
        caller: &Caller,
        link: &Link,
        session: SessionId,
        used_at: Timestamp,
    ) -> Result<(Session, Secret<String>), LoginStatusError> {
        let world = &caller.world;
        let now = self.now(world);
        let limits = caller.settings().session_limits();
        let mut tx = self.ports.store.begin().await?;
        if !tx.links().hand_over(world, &link.token, now).await? {
            return Err(LoginStatusError::InvalidOrigin);
        }
        record_sign_in(&mut *tx, caller, link.user_id, CredentialKind::Origin, now).await?;
        let known = tx.sessions().find(world, session).await?;
        let first = match &known {
            Some(known) => lock_live(&mut *tx, known, limits, now).await?,
            None => None,
        };
        let first = first.ok_or(LoginStatusError::Expired)?;
        let email = address(&mut *tx, caller, link.email_id).await?;
        let sign_in = SignIn {
            user_id: link.user_id,
            factor: factor(link.email_id, email, used_at),
            device_fingerprint: link.fingerprint.clone().unwrap_or_default(),
        };
        let length = first.expires_at - now;
        let mut own = Session::start(self.new_id(now), *world, sign_in, length, limits, now);
        own.permissions = first.permissions;
        let token = mint::session_token(&*self.ports.entropy);
        let hash = TokenHash::of(token.expose());
        tx.sessions().insert(&own, &hash).await?;
        caller.commit_last(tx).await?;
        Ok((own, token))
    }
}

async fn address(
    tx: &mut dyn Repositories,
    caller: &Caller,
    id: EmailId,
) -> Result<String, LoginStatusError> {
    let email = tx.identifiers().email(&caller.world, id).await?;
    let email = email.ok_or(LoginStatusError::Expired)?;
    Ok(email.email.address().to_owned())
}
