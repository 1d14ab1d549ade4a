//! Issuing, renewing and extending sessions in verify calls.

use std::sync::Arc;

use vestry_domain::activity::{Measure, SignInMethod};
use vestry_domain::event::Fact;
use vestry_domain::ids::{SessionId, UserId};
use vestry_domain::limits;
use vestry_domain::session::{EXPIRES_IN_MINUTES, Session, SessionLimits, SignIn, permissions};
use vestry_domain::signing_key::SigningKey;
use vestry_domain::timestamp::Seconds;
use vestry_domain::token::TokenHash;
use vestry_domain::{Invalid, Secret, Timestamp, World};
use vestry_ports::store::{NewToken, Repositories, StoreError};

use super::keys::NamedSession;
use super::object::{SessionObject, check_size};
use crate::kernel::mint;
use crate::kernel::refusal::has_common;
use crate::kernel::replay_guard::{CredentialKind, ReplayGuard};
use crate::{Caller, Fault, Refusal, Service};

/// The optional session fields of every verify call.
#[derive(Debug, Clone, Default)]
pub struct SessionFields {
    /// Minutes, 5 to 525600: the lifetime of a new session, or the new remaining lifetime of an existing one.
    pub session_expires_in: Option<i64>,
    /// An existing session, by token: the new factor is added to it.
    pub session_token: Option<Secret<String>>,
    /// An existing session, by JWT.
    pub session_jwt: Option<Secret<String>>,
    /// Permissions that the session carries for the App. When absent: none in a new session, unchanged in a continued one.
    pub permissions: Option<Vec<String>>,
}

/// A session named only to identify its user.
#[derive(Debug, Clone, Default)]
pub struct SessionNamed {
    /// By its token.
    pub token: Option<Secret<String>>,
    /// By its JWT.
    pub jwt: Option<Secret<String>>,
}

/// The session part of a verify response.
#[derive(Debug)]
pub struct IssuedSession {
    /// The session.
    pub session: Session,
    /// The session object of the response.
    pub object: SessionObject,
    /// Its fresh token; the one presented, if any, has stopped working.
    pub token: Secret<String>,
    /// Its JWT.
    pub jwt: Secret<String>,
}

/// Validated session fields.
pub(crate) struct SessionRequest {
    length: Option<Seconds>,
    presented: Option<Presented>,
    permissions: Option<Vec<String>>,
}

/// A presented session, and the token that named it.
pub(crate) struct Presented {
    pub(crate) session: Session,
    token: Option<TokenHash>,
}

/// The reason why a proved factor does not sign its user in.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StartSessionError {
    /// The user is disabled or was deleted concurrently. Drop the transaction and respond as to a wrong credential.
    #[error("the user may not sign in")]
    UserDisabled,
    #[error(transparent)]
    Common(Refusal),
}

has_common!(StartSessionError);

/// Converts a [`StartSessionError`] to an error with `Common`; the given case stands for a disabled user.
macro_rules! from_start_session_error {
    ($error:ident::$disabled:ident) => {
        impl From<$crate::identity::sessions::issue::StartSessionError> for $error {
            fn from(error: $crate::identity::sessions::issue::StartSessionError) -> Self {
                use $crate::identity::sessions::issue::StartSessionError;
                match error {
                    StartSessionError::UserDisabled => Self::$disabled,
                    StartSessionError::Common(refusal) => refusal.into(),
                }
            }
        }
    };
}
pub(crate) use from_start_session_error;

impl StartSessionError {
    /// The refusal for use cases without a specific one.
    pub(crate) fn into_refusal(self) -> Refusal {
        match self {
            Self::UserDisabled => Refusal::InvalidCredentials,
            Self::Common(refusal) => refusal,
        }
    }
}

impl Presented {
    /// The field that named it.
    pub(crate) const fn param(&self) -> &'static str {
        match self.token {
            Some(_) => "session_token",
            None => "session_jwt",
        }
    }
}

impl SessionRequest {
    /// The user of the session to continue, if one was presented.
    pub(crate) fn user(&self) -> Option<UserId> {
        let presented = self.presented.as_ref();
        presented.map(|presented| presented.session.user_id)
    }

    /// The session to continue, if one was presented.
    pub(crate) fn session(&self) -> Option<SessionId> {
        let presented = self.presented.as_ref();
        presented.map(|presented| presented.session.id)
    }

    /// Whether a session of this user that satisfies the condition is to be continued.
    pub(crate) fn continues(&self, user: UserId, holds: impl Fn(&Session) -> bool) -> bool {
        let presented = self.presented.as_ref();
        presented
            .is_some_and(|presented| presented.session.user_id == user && holds(&presented.session))
    }

    /// Whether the response will carry a session.
    pub(crate) const fn wants_session(&self) -> bool {
        self.length.is_some() || self.presented.is_some()
    }
}

impl Service {
    /// Validates the fields before anything is decided, so that an invalid session never uses up a code.
    pub(crate) async fn check_session_fields(
        &self,
        caller: &Caller,
        session_fields: &SessionFields,
    ) -> Result<SessionRequest, Refusal> {
        let (least, most) = EXPIRES_IN_MINUTES;
        let length = session_fields
            .session_expires_in
            .map(|value| limits::minutes("session_expires_in", value, least, most))
            .transpose()?;
        let permissions = session_fields
            .permissions
            .clone()
            .map(permissions)
            .transpose()?;
        let presented = self
            .presented(
                caller,
                session_fields.session_token.as_ref(),
                session_fields.session_jwt.as_ref(),
            )
            .await?;
        Ok(SessionRequest {
            length,
            presented,
            permissions,
        })
    }

    /// The user of the session that a call names, if any.
    pub(crate) async fn user_in(
        &self,
        caller: &Caller,
        named: &SessionNamed,
    ) -> Result<Option<UserId>, Refusal> {
        let presented = self.presented(caller, named.token.as_ref(), named.jwt.as_ref());
        Ok(presented.await?.map(|presented| presented.session.user_id))
    }

    /// The live session that a token, a JWT or both name.
    pub(crate) async fn presented(
        &self,
        caller: &Caller,
        token: Option<&Secret<String>>,
        jwt: Option<&Secret<String>>,
    ) -> Result<Option<Presented>, Refusal> {
        let hash = token.map(|token| TokenHash::of(token.expose()));
        let by_token = match &hash {
            Some(hash) => Some(self.living(caller, Lookup::Token(*hash)).await?),
            None => None,
        };
        let by_jwt = match jwt {
            Some(jwt) => {
                let named = self.session_named_by(caller, jwt.expose()).await?;
                let named = named.ok_or(Refusal::InvalidSession)?;
                let user_id = named.user_id;
                let session = self.living(caller, Lookup::Jwt(named)).await?;
                if session.user_id != user_id {
                    return Err(Refusal::InvalidSession);
                }
                Some(session)
            }
            None => None,
        };
        match (by_token, by_jwt) {
            (Some(a), Some(b)) if a.id != b.id => Err(Invalid::value(
                "session_jwt",
                "session_token and session_jwt name different sessions; send one of them",
            )
            .into()),
            (Some(session), _) | (None, Some(session)) => {
                caller.record_guard(ReplayGuard::MaySignIn(
                    session.user_id,
                    CredentialKind::Session,
                ));
                Ok(Some(Presented {
                    session,
                    token: hash,
                }))
            }
            (None, None) => Ok(None),
        }
    }

    async fn living(&self, caller: &Caller, lookup: Lookup) -> Result<Session, Refusal> {
        let world = &caller.world;
        let found = match lookup {
            Lookup::Token(hash) => self.find(&self.presented_sessions, (*world, hash)).await?,
            Lookup::Jwt(named) => {
                let mut read = self.ports.store.read().await?;
                let sessions = read.sessions();
                sessions.find_signed(world, named.id, named.key).await?
            }
        };
        self.if_alive(caller, found)
    }

    pub(super) fn if_alive(
        &self,
        caller: &Caller,
        found: Option<Session>,
    ) -> Result<Session, Refusal> {
        let limits = caller.settings().session_limits();
        let now = self.now(&caller.world);
        let session = found.filter(|session| {
            session.is_alive(limits, now) && caller.reaches_user(session.user_id)
        });
        session.ok_or(Refusal::InvalidSession)
    }

    /// Signs a user in with a proved factor and writes the session; `None` if none was requested.
    ///
    /// The session is a new one, or the presented one with the factor added, its end moved if requested, and a fresh token (S-2). Its JWT
    /// is signed after the commit. A session too large for a JWT is therefore refused here, before anything is decided.
    pub(crate) async fn start_or_extend(
        &self,
        tx: &mut dyn Repositories,
        caller: &Caller,
        session_request: &SessionRequest,
        sign_in: SignIn,
        now: Timestamp,
    ) -> Result<Option<(Session, Secret<String>)>, StartSessionError> {
        let shown = CredentialKind::of(&sign_in.factor.proof);
        record_sign_in(tx, caller, sign_in.user_id, shown, now).await?;
        caller.acts_for(sign_in.user_id);
        if session_request.presented.is_none() {
            let measure = Measure::SignIn(SignInMethod::of(&sign_in.factor.proof));
            tx.activity().note(&caller.world, measure, 1);
        }
        let limits = caller.settings().session_limits();
        let token = mint::session_token(&*self.ports.entropy);
        let hash = TokenHash::of(token.expose());
        if let Some(presented) = &session_request.presented {
            let mut session = lock_live(tx, &presented.session, limits, now)
                .await?
                .filter(|session| session.user_id == sign_in.user_id)
                .ok_or(Refusal::InvalidSession)?;
            let fact = Fact::session_factor_added(
                sign_in.user_id,
                session.id,
                sign_in.factor.proof.clone(),
            );
            session.add_factor(sign_in.factor, now);
            if let Some(permissions) = &session_request.permissions {
                session.permissions.clone_from(permissions);
            }
            if let Some(length) = session_request.length {
                session.extend(length, limits, now);
            }
            let grown_by = if session_request.permissions.is_some() {
                "permissions"
            } else {
                presented.param()
            };
            check_size(&session, grown_by)?;
            let fresh = NewToken {
                replaces: presented.token,
                hash,
            };
            if !tx.sessions().update(&session, Some(fresh)).await? {
                return Err(Refusal::InvalidSession.into());
            }
            self.emit(&mut *tx, caller, [fact]).await?;
            return Ok(Some((session, token)));
        }
        let Some(length) = session_request.length else {
            return Ok(None);
        };
        let id = self.new_id(now);
        let (user, proof) = (sign_in.user_id, sign_in.factor.proof.clone());
        let fact = Fact::session_created(user, id, proof.clone());
        let mut session = Session::start(id, caller.world, sign_in, length, limits, now);
        session.permissions = session_request.permissions.clone().unwrap_or_default();
        check_size(&session, "permissions")?;
        tx.sessions().insert(&session, &hash).await?;
        self.emit(&mut *tx, caller, [fact]).await?;
        self.emit_sign_in_of_operator(tx, caller, user, id, proof)
            .await?;
        Ok(Some((session, token)))
    }

    /// Prepares the signing key of a verify call before its transaction begins.
    pub(crate) async fn key_for(
        &self,
        world: &World,
        session_request: &SessionRequest,
    ) -> Result<Option<Arc<SigningKey>>, Fault> {
        if session_request.wants_session() {
            self.ready_signing_key(world).await.map(Some)
        } else {
            Ok(None)
        }
    }

    /// Signs the JWT of a session that was committed.
    pub(crate) async fn issued(
        &self,
        caller: &Caller,
        key: Option<&Arc<SigningKey>>,
        granted: Option<(Session, Secret<String>)>,
    ) -> Result<Option<IssuedSession>, Fault> {
        let Some((session, token)) = granted else {
            return Ok(None);
        };
        let key =
            key.ok_or_else(|| Fault::Internal("session was issued without a signing key".into()))?;
        let now = self.now(&caller.world);
        let object = SessionObject::of(&session);
        let jwt = self
            .session_jwt(caller, key, &session, &object, now)
            .await?;
        Ok(Some(IssuedSession {
            session,
            object,
            token,
            jwt,
        }))
    }
}

/// Records a sign-in with its user; every sign-in passes through here.
///
/// A user who may sign in stays locked until the transaction ends. A concurrent disabling either comes first and is seen here, or comes
/// after the commit and ends this session too (S-5).
pub(crate) async fn record_sign_in(
    tx: &mut dyn Repositories,
    caller: &Caller,
    user: UserId,
    shown: CredentialKind,
    now: Timestamp,
) -> Result<(), StartSessionError> {
    if !caller.reaches_user(user) || !tx.users().admit(&caller.world, user, now).await? {
        return Err(StartSessionError::UserDisabled);
    }
    caller.record_guard(ReplayGuard::MaySignIn(user, shown));
    Ok(())
}

/// BatchedReads and locks the session until the transaction ends; `None` if it has ended.
///
/// It may have changed since it was looked up, and writing the old values would undo that. Locking is not use: the idle timeout is checked
/// against the stored activity (S-3).
pub(crate) async fn lock_live(
    tx: &mut dyn Repositories,
    known: &Session,
    limits: SessionLimits,
    now: Timestamp,
) -> Result<Option<Session>, StoreError> {
    if !tx.sessions().lock(&known.world, known.id).await? {
        return Ok(None);
    }
    let held = tx.sessions().find(&known.world, known.id).await?;
    Ok(held.filter(|session| session.is_alive(limits, now)))
}

/// How a session is looked up.
enum Lookup {
    Token(TokenHash),
    Jwt(NamedSession),
}
