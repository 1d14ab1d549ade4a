//! `sessions/verify`: checks whether a session is live, normally with one indexed read.

use vestry_domain::action::Action;
use vestry_domain::limits;
use vestry_domain::session::{self, DeviceFingerprint, EXPIRES_IN_MINUTES, Session, SessionLimits};
use vestry_domain::signing_key::SigningKey;
use vestry_domain::timestamp::Seconds;
use vestry_domain::token::TokenHash;
use vestry_domain::{Invalid, Secret, Timestamp};
use vestry_ports::store::SessionActivity;

use super::issue::lock_live;
use super::object::{SessionObject, check_size};
use crate::kernel::fault::retried;
use crate::kernel::state::last_seen;
use crate::{Caller, Fault, Refusal, Service};

/// The parameters of the call.
#[derive(Debug, Default)]
pub struct VerifySession {
    /// The session's token.
    pub session_token: Option<Secret<String>>,
    /// One of its JWTs, also an expired one within the App's renewal window.
    pub session_jwt: Option<Secret<String>>,
    /// New remaining lifetime, in minutes from now.
    pub session_expires_in: Option<i64>,
    /// New permissions that the session carries for the App; unchanged when absent.
    pub permissions: Option<Vec<String>>,
    /// The end user's device; only its form is validated.
    pub device_fingerprint: DeviceFingerprint,
}

/// A live session.
#[derive(Debug)]
pub struct VerifiedSession {
    /// The session.
    pub session: Session,
    /// The token that was presented; `None` when only a JWT was.
    pub token: Option<Secret<String>>,
    /// The session object of the response.
    pub object: SessionObject,
    /// A JWT with at least nine tenths of its lifetime left.
    pub jwt: Secret<String>,
}

/// What a verify changes besides `last_active_at`.
struct Change {
    length: Option<Seconds>,
    permissions: Option<Vec<String>>,
}

impl Change {
    const fn is_wanted(&self) -> bool {
        self.length.is_some() || self.permissions.is_some()
    }
}

impl Service {
    /// Verifies a session, extends it if requested, and returns a new or recently signed JWT.
    ///
    /// # Errors
    /// [`Refusal`].
    pub async fn verify_session(
        &self,
        caller: &Caller,
        command: VerifySession,
    ) -> Result<VerifiedSession, Refusal> {
        caller.authorize(Action::VerifySession)?;
        let (least, most) = EXPIRES_IN_MINUTES;
        let length = command
            .session_expires_in
            .map(|value| limits::minutes("session_expires_in", value, least, most))
            .transpose()?;
        let permissions = command.permissions.map(session::permissions).transpose()?;
        let change = Change {
            length,
            permissions,
        };
        let now = self.now(&caller.world);
        let presented = self
            .presented(
                caller,
                command.session_token.as_ref(),
                command.session_jwt.as_ref(),
            )
            .await?;
        let mut session = presented
            .ok_or_else(|| Invalid::missing("session_token"))?
            .session;
        let key = self.ready_signing_key(&caller.world).await?;
        let limits = caller.settings().session_limits();
        if change.is_wanted() {
            session = retried(|| self.change(&session, &change, limits, now)).await?;
        } else {
            self.note_activity(&mut session, limits, now).await?;
        }
        let token = command.session_token;
        Ok(self.verified(caller, &key, session, token, now).await?)
    }

    /// A fast path of [`Service::verify_session`] that waits only for batched work.
    ///
    /// It reads the session by its token and at most records its activity. `None` says nothing about the session; fall back to the full
    /// path.
    ///
    /// The web worker may drop it at any moment, because other tasks do its reads and writes.
    pub async fn verify_session_at_once(
        &self,
        caller: &Caller,
        command: &VerifySession,
    ) -> Option<Result<VerifiedSession, Refusal>> {
        let VerifySession {
            session_token: Some(token),
            session_jwt: None,
            session_expires_in: None,
            permissions: None,
            device_fingerprint: _,
        } = command
        else {
            return None;
        };
        caller.authorize(Action::VerifySession).ok()?;
        let key = self.signing_key_at_once(&caller.world)?;
        let now = self.now(&caller.world);
        let named = (caller.world, TokenHash::of(token.expose()));
        let found = self.find_with_others(&self.presented_sessions, named);
        let mut session = match self.if_alive(caller, found.await?) {
            Ok(session) => session,
            Err(refusal) => return Some(Err(refusal)),
        };
        if session.needs_activity_update(caller.settings().session_limits(), now) {
            if !self.touch_with_others(seen(&session, now)).await {
                return None;
            }
            session.last_active_at = now;
        }
        let verified = self.verified(caller, &key, session, Some(token.clone()), now);
        Some(verified.await.map_err(Refusal::from))
    }

    async fn verified(
        &self,
        caller: &Caller,
        key: &SigningKey,
        session: Session,
        token: Option<Secret<String>>,
        now: Timestamp,
    ) -> Result<VerifiedSession, Fault> {
        let object = SessionObject::of(&session);
        let jwt = self.session_jwt(caller, key, &session, &object, now);
        let jwt = jwt.await?;
        Ok(VerifiedSession {
            session,
            token,
            object,
            jwt,
        })
    }

    /// Guarded: a session that ended concurrently is not extended.
    async fn change(
        &self,
        known: &Session,
        change: &Change,
        limits: SessionLimits,
        now: Timestamp,
    ) -> Result<Session, Refusal> {
        let mut tx = self.ports.store.begin().await?;
        let held = lock_live(&mut *tx, known, limits, now).await;
        let mut session = held?.ok_or(Refusal::InvalidSession)?;
        session.last_active_at = now;
        if let Some(length) = change.length {
            session.extend(length, limits, now);
        }
        if let Some(permissions) = &change.permissions {
            session.permissions.clone_from(permissions);
            session.updated_at = now;
            check_size(&session, "permissions")?;
        }
        let kept = tx.sessions().update(&session, None).await;
        if !kept? {
            return Err(Refusal::InvalidSession);
        }
        tx.commit().await?;
        Ok(session)
    }

    /// Records the use of a session, if that is due.
    pub(crate) async fn note_activity(
        &self,
        session: &mut Session,
        limits: SessionLimits,
        now: Timestamp,
    ) -> Result<(), Fault> {
        if session.needs_activity_update(limits, now) {
            let seen = seen(session, now);
            if !self.touch_with_others(seen).await {
                last_seen::write(&*self.ports.store, &[seen]).await?;
            }
            session.last_active_at = now;
        }
        Ok(())
    }

    /// Records session activity in a batch (PR-103); `false` when that failed.
    async fn touch_with_others(&self, seen: SessionActivity) -> bool {
        self.batched(&self.last_seen, seen).await == Some(true)
    }
}

const fn seen(session: &Session, at: Timestamp) -> SessionActivity {
    SessionActivity {
        world: session.world,
        at,
        id: session.id,
    }
}
