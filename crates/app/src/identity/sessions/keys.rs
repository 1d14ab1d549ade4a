//! Session signing keys: the active one, the published ones, and the JWT of a session.

use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;
use vestry_domain::action::Action;
use vestry_domain::ids::{AppId, SessionId, SigningKeyId, UserId};
use vestry_domain::session::Session;
use vestry_domain::signing_key::{self, SigningKey};
use vestry_domain::timestamp::Seconds;
use vestry_domain::{Environment, Secret, Timestamp, World};
use vestry_ports::tokens::{AuthenticToken, TokenError};

use super::object::SessionObject;
use crate::kernel::state::memory::{Keys, WhatIsSigned};
use crate::{Caller, Fault, Refusal, Service};

/// How far `nbf` precedes `iat`, for verifiers whose clock is slow.
const BEFORE_ISSUE: Seconds = Seconds(60);

/// The session, user and signing key that a JWT names.
pub(crate) struct NamedSession {
    pub(crate) id: SessionId,
    pub(crate) user_id: UserId,
    /// Looked up with the session, because it may have been withdrawn since it was read.
    pub(crate) key: SigningKeyId,
}

/// The claims of a session JWT.
#[derive(Serialize)]
struct Claims<'a> {
    iss: &'a str,
    aud: &'a str,
    sub: UserId,
    jti: SessionId,
    iat: Timestamp,
    nbf: Timestamp,
    exp: Timestamp,
    session: &'a SessionObject,
    /// A copy where clients of the API that this one is compatible with expect it.
    #[serde(rename = "https://streambird.io/jwt/session")]
    session_again: &'a SessionObject,
}

impl Service {
    /// The public keys of one world, as JWKs.
    ///
    /// # Errors
    /// [`Refusal`].
    pub async fn key_set(&self, caller: &Caller) -> Result<Vec<Value>, Refusal> {
        caller.authorize(Action::ReadKeySet)?;
        let lifetime = caller.settings().jwt_lifetime();
        Ok(self.published(&caller.world, lifetime).await?)
    }

    /// The public keys of an App, without authentication: of one environment, or of both. `aud` names the world of a token.
    ///
    /// # Errors
    /// [`Refusal`].
    pub async fn public_key_set(
        &self,
        app_id: AppId,
        environment: Option<Environment>,
    ) -> Result<Vec<Value>, Refusal> {
        let mut read = self.ports.store.read().await?;
        let app = read
            .apps()
            .find(app_id)
            .await?
            // The built-in App has no address.
            .filter(|app| app.id != AppId::BUILT_IN)
            .ok_or(Refusal::NotFound("app"))?;
        drop(read);
        let mut set = Vec::new();
        for world in Environment::ALL.map(|environment| World::new(app_id, environment)) {
            if environment.is_none_or(|wanted| wanted == world.environment) {
                set.extend(self.published(&world, app.settings.jwt_lifetime()).await?);
            }
        }
        Ok(set)
    }

    async fn published(&self, world: &World, lifetime: Seconds) -> Result<Vec<Value>, Fault> {
        let keys = self.keys_of(world).await?;
        Ok(
            signing_key::published(&keys.all, lifetime, self.ports.clock.machine())
                .into_iter()
                .map(|key| key.public_jwk.clone())
                .collect(),
        )
    }

    /// Uses the machine's clock, like key creation and retirement: a test clock set to last year must still find a key.
    async fn keys_of(&self, world: &World) -> Result<Arc<Keys>, Fault> {
        let now = self.ports.clock.machine();
        if let Some(keys) = self.signing_keys.get(world, now) {
            return Ok(keys);
        }
        let mut read = self.ports.store.read().await?;
        let keys = Arc::new(Keys::new(read.signing_keys().list(world).await?, now));
        self.signing_keys.keep(world, &keys);
        Ok(keys)
    }

    /// Returns the active key, opened, so that signing after the commit needs neither vault nor database.
    pub(crate) async fn ready_signing_key(&self, world: &World) -> Result<Arc<SigningKey>, Fault> {
        let keys = self.keys_of(world).await?;
        let key = keys
            .active
            .clone()
            .ok_or_else(|| Fault::Internal("a world has no signing key".into()))?;
        if !self.signing_keys.is_opened(key.id) {
            self.ports.tokens.sign(&key, "{}").await?;
            self.signing_keys.note_opened(key.id);
        }
        Ok(key)
    }

    /// The same, if neither has to be waited for.
    pub(super) fn signing_key_at_once(&self, world: &World) -> Option<Arc<SigningKey>> {
        let keys = self.signing_keys.get(world, self.ports.clock.machine())?;
        let key = keys.active.clone()?;
        self.signing_keys.is_opened(key.id).then_some(key)
    }

    /// A JWT of a session that was just read or written, whose object is given: the one that was signed for the very same a
    /// moment ago, or a new one. It lives as long as the App says, never past the session's own end.
    pub(crate) async fn session_jwt(
        &self,
        caller: &Caller,
        key: &SigningKey,
        session: &Session,
        object: &SessionObject,
        now: Timestamp,
    ) -> Result<Secret<String>, Fault> {
        let lifetime = caller.settings().jwt_lifetime();
        let what = WhatIsSigned::new(key.id, lifetime, object.as_str());
        let issued_at = self.jwt_times.issued_at(session, what, now);
        let claims = Claims {
            iss: &self.issuer(session.world.app_id),
            aud: &session.world.to_string(),
            sub: session.user_id,
            jti: session.id,
            iat: issued_at,
            nbf: issued_at - BEFORE_ISSUE,
            exp: (issued_at + lifetime).min(session.expires_at),
            session: object,
            session_again: object,
        };
        let claims = serde_json::to_string(&claims)
            .map_err(|_never| Fault::Internal("claims are not JSON".into()))?;
        Ok(Secret::new(self.ports.tokens.sign(key, &claims).await?))
    }

    fn issuer(&self, app_id: AppId) -> String {
        let base = self.settings.public_url.trim_end_matches('/');
        format!("{base}/{app_id}")
    }

    /// The session named by an authentic JWT of the caller's world, even if expired within the App's renewal window; `None` for anything
    /// else.
    pub(crate) async fn session_named_by(
        &self,
        caller: &Caller,
        jwt: &str,
    ) -> Result<Option<NamedSession>, Fault> {
        let keys = self.keys_of(&caller.world).await?;
        match self.ports.tokens.authenticate(jwt, &keys.all) {
            Ok(token) => Ok(self.named(caller, &token)),
            Err(TokenError::NotAuthentic) => Ok(None),
            Err(TokenError::Custody(error)) => Err(error.into()),
        }
    }

    /// Requires every claim that we issue, with its type (S-10, attack 12).
    fn named(&self, caller: &Caller, token: &AuthenticToken) -> Option<NamedSession> {
        let (world, claims) = (&caller.world, &token.claims);
        let text = |name: &str| claims.get(name).and_then(Value::as_str);
        // No token of ours is from before 1970.
        let number = |name: &str| {
            let number = claims.get(name).and_then(Value::as_i64);
            number.filter(|number| *number >= 0)
        };
        let ours = text("iss")? == self.issuer(world.app_id) && text("aud")? == world.to_string();
        let (issued, not_before, expires) = (number("iat")?, number("nbf")?, number("exp")?);
        if !ours || not_before > issued || expires < issued {
            return None;
        }
        let past = self.now(world) - Timestamp::from_unix(expires);
        if past > caller.settings().jwt_renewal() {
            return None;
        }
        Some(NamedSession {
            id: text("jti")?.parse().ok()?,
            user_id: text("sub")?.parse().ok()?,
            key: token.key,
        })
    }
}
