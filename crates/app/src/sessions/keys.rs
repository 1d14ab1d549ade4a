//! Signing keys of sessions: which one signs, which ones verify, and the JWT of a session.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use vestry_domain::ids::{AppId, SessionId, SigningKeyId, UserId};
use vestry_domain::session::Session;
use vestry_domain::signing_key::{self, SigningKey};
use vestry_domain::timestamp::Seconds;
use vestry_domain::{Environment, Secret, Timestamp, World};
use vestry_ports::tokens::{AuthenticToken, TokenError};

use super::session_object;
use crate::{Caller, Fault, Refusal, Service};

/// What a JWT names: a session, whose it is, and the key that says so.
pub(crate) struct NamedSession {
    pub(crate) id: SessionId,
    pub(crate) user_id: UserId,
    /// To be looked up with the session: it may have been withdrawn since it was read.
    pub(crate) key: SigningKeyId,
}

impl Service {
    /// The public keys of one world, as JWKs.
    ///
    /// # Errors
    /// See [`Fault`].
    pub async fn key_set(&self, caller: &Caller) -> Result<Vec<Value>, Fault> {
        self.published(&caller.world, caller.settings().jwt_lifetime())
            .await
    }

    /// The public keys of an App, for anybody: of one environment, or of both. `aud` tells which world a token is of.
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
            signing_key::published(&keys, lifetime, self.ports.clock.machine())
                .into_iter()
                .map(|key| key.public_jwk.clone())
                .collect(),
        )
    }

    async fn keys_of(&self, world: &World) -> Result<Arc<Vec<SigningKey>>, Fault> {
        let now = self.ports.clock.machine();
        if let Some(keys) = self.signing_keys.get(world, now) {
            return Ok(keys);
        }
        let mut read = self.ports.store.read().await?;
        let keys = Arc::new(read.signing_keys().list(world).await?);
        self.signing_keys.keep(world, &keys, now);
        Ok(keys)
    }

    /// The key that signs now, opened, so that a signature after the commit needs neither vault nor database.
    pub(crate) async fn ready_signing_key(&self, world: &World) -> Result<SigningKey, Fault> {
        let keys = self.keys_of(world).await?;
        // Keys are made and retired by the machine's time; a test clock set to last year must still find one.
        let key = signing_key::active(&keys, self.ports.clock.machine())
            .ok_or_else(|| Fault::Internal("a world has no signing key".into()))?;
        if !self.signing_keys.is_opened(key.id) {
            self.ports.tokens.sign(key, &Map::new()).await?;
            self.signing_keys.note_opened(key.id);
        }
        Ok(key.clone())
    }

    /// The JWT of a session: lives as long as the App says, never past the session's own end.
    pub(crate) async fn session_jwt(
        &self,
        caller: &Caller,
        key: &SigningKey,
        session: &Session,
        now: Timestamp,
    ) -> Result<Secret<String>, Fault> {
        let expires_at = (now + caller.settings().jwt_lifetime()).min(session.expires_at);
        let object = session_object(session);
        let claims = json!({
            "iss": self.issuer(caller.world.app_id),
            "aud": caller.world.to_string(),
            "sub": session.user_id,
            "jti": session.id,
            "iat": now,
            "nbf": now,
            "exp": expires_at,
            "session": object.clone(),
            // Where clients of the service whose API this is look for it.
            "https://streambird.io/jwt/session": object,
        });
        let Value::Object(claims) = claims else {
            return Err(Fault::Internal("claims are an object".into()));
        };
        Ok(Secret::new(self.ports.tokens.sign(key, &claims).await?))
    }

    fn issuer(&self, app_id: AppId) -> String {
        format!("{}/{app_id}", self.settings.issuer_host)
    }

    /// The session that an authentic JWT of the caller's world names, also one that has expired within the App's renewal window;
    /// `None` for anything else.
    pub(crate) async fn session_named_by(
        &self,
        caller: &Caller,
        jwt: &str,
    ) -> Result<Option<NamedSession>, Fault> {
        let keys = self.keys_of(&caller.world).await?;
        match self.ports.tokens.authenticate(jwt, &keys) {
            Ok(token) => Ok(self.named(caller, &token)),
            Err(TokenError::NotAuthentic) => Ok(None),
            Err(TokenError::Custody(error)) => Err(error.into()),
        }
    }

    /// Every claim we put in must be there and of its type (S-10, attack 12).
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
        if !ours || not_before < issued || expires < issued {
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
