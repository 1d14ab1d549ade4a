//! Who is calling: from an API key to a world, its settings and its rights.

use std::sync::{Arc, PoisonError};

use vestry_domain::api_key::{self, ApiKey, ApiKeyKind, Scope};
use vestry_domain::app::{App, AppSettings};
use vestry_domain::limits::{Limit, Verdict};
use vestry_domain::token::TokenHash;
use vestry_domain::{Environment, Timestamp, World};
use vestry_ports::limiter::LimiterUnavailable;

use crate::{Fault, Service};

/// A request whose key is known and not revoked.
#[derive(Debug, Clone)]
pub struct Caller {
    /// The App and environment that the key opens.
    pub world: World,
    /// The key.
    pub key: ApiKey,
    /// The App.
    pub app: App,
}

/// The key may not do this (403 `key_not_allowed`).
#[derive(Debug, thiserror::Error)]
#[error("the API key lacks the scope {0}")]
pub struct NotAllowed(pub Scope);

/// Why a key opens nothing.
#[derive(Debug, thiserror::Error)]
pub enum AuthenticateError {
    /// Not a key, an unknown one, or a revoked one; the answer does not tell which.
    #[error("the API key is not valid")]
    Unknown,
    /// See [`Fault`].
    #[error(transparent)]
    Fault(#[from] Fault),
}

impl Caller {
    /// The App's settings.
    pub const fn settings(&self) -> &AppSettings {
        &self.app.settings
    }

    /// Whether this is the test world.
    pub fn is_test(&self) -> bool {
        self.world.environment == Environment::Test
    }

    /// Refuses a call that the key's scopes do not cover.
    ///
    /// # Errors
    /// [`NotAllowed`].
    pub fn require(&self, scope: Scope) -> Result<(), NotAllowed> {
        if self.key.allows(scope) {
            Ok(())
        } else {
            Err(NotAllowed(scope))
        }
    }
}

/// The world whose limit a request counts against.
fn counted_in(caller: &Caller) -> World {
    match caller.key.kind {
        ApiKeyKind::Secret => caller.world,
        ApiKeyKind::Public => caller.world.of_public_tokens(),
    }
}

/// A caller and the second in which it was read.
///
/// A look-up is good for the rest of its second, so a busy key costs one query a second and a revoked one stops
/// working within a second on every process. Unknown keys are not remembered: there is no end of them.
pub(crate) struct CachedCaller {
    caller: Arc<Caller>,
    read_at: Timestamp,
}

/// Keys remembered at most; beyond it the memory is emptied, which costs one query per key.
const REMEMBERED: usize = 10_000;

impl Service {
    /// Finds the caller behind a secret key.
    ///
    /// # Errors
    /// [`AuthenticateError`].
    pub async fn authenticate(&self, presented: &str) -> Result<Arc<Caller>, AuthenticateError> {
        self.authenticate_as(ApiKeyKind::Secret, presented).await
    }

    /// Finds the caller behind a key of one kind. A public token opens only what is made for it; whoever asks for one sees
    /// to that.
    ///
    /// # Errors
    /// [`AuthenticateError`].
    pub async fn authenticate_as(
        &self,
        kind: ApiKeyKind,
        presented: &str,
    ) -> Result<Arc<Caller>, AuthenticateError> {
        if !api_key::has_form(kind, presented) {
            return Err(AuthenticateError::Unknown);
        }
        let hash = TokenHash::of(presented);
        let now = self.ports.clock.machine();
        if let Some(caller) = self.remembered(&hash, now) {
            return Ok(caller);
        }
        let mut read = self.ports.store.read().await.map_err(Fault::from)?;
        let found = read
            .api_keys()
            .find_by_hash(&hash)
            .await
            .map_err(Fault::from)?;
        let good = found.filter(|(key, _)| key.revoked_at.is_none() && key.kind == kind);
        let Some((key, app)) = good else {
            self.forget(&hash);
            return Err(AuthenticateError::Unknown);
        };
        self.test_clocks.follow(app.id, app.test_clock);
        let caller = Arc::new(Caller {
            world: key.world,
            key,
            app,
        });
        self.remember(hash, &caller, now);
        Ok(caller)
    }

    /// Whether this was a good key when it was last looked up by this process. Says nothing about other keys.
    pub fn has_seen(&self, presented: &str) -> bool {
        let callers = self.callers.lock().unwrap_or_else(PoisonError::into_inner);
        callers.contains_key(&TokenHash::of(presented))
    }

    fn forget(&self, hash: &TokenHash) {
        let mut callers = self.callers.lock().unwrap_or_else(PoisonError::into_inner);
        callers.remove(hash);
    }

    fn remembered(&self, hash: &TokenHash, now: Timestamp) -> Option<Arc<Caller>> {
        let callers = self.callers.lock().unwrap_or_else(PoisonError::into_inner);
        callers
            .get(hash)
            .filter(|cached| cached.read_at == now)
            .map(|cached| Arc::clone(&cached.caller))
    }

    fn remember(&self, hash: TokenHash, caller: &Arc<Caller>, now: Timestamp) {
        let mut callers = self.callers.lock().unwrap_or_else(PoisonError::into_inner);
        if callers.len() >= REMEMBERED {
            callers.clear();
        }
        callers.insert(
            hash,
            CachedCaller {
                caller: Arc::clone(caller),
                read_at: now,
            },
        );
    }

    /// Counts a request against the world's limit. Called for every keyed request, before anything else happens.
    ///
    /// # Errors
    /// The limiter's store is away and the limiter does not stand in for it.
    pub async fn admit(&self, caller: &Caller) -> Result<Verdict, Fault> {
        let (limit, now) = (
            self.request_limit(caller),
            self.now_for_limits(&caller.world),
        );
        let counted = counted_in(caller);
        let hit = self.ports.limiter.hit(&counted, limit, now).await;
        hit.map_err(|unavailable: LimiterUnavailable| Fault::Unavailable(Box::new(unavailable)))
    }

    /// [`Service::authenticate`] and [`Service::admit`] in one, where nothing has to be waited for: a key that was read in
    /// this second, and a counter in this process. `None` says nothing about the key, and nothing was counted. Only for a
    /// text of the form of a key of the kind that is wanted: the form says which kind it is.
    pub fn admit_at_once(&self, presented: &str) -> Option<(Arc<Caller>, Verdict)> {
        let now = self.ports.clock.machine();
        let caller = self.remembered(&TokenHash::of(presented), now)?;
        let limit = self.request_limit(&caller);
        let now = self.now_for_limits(&caller.world);
        let counted = counted_in(&caller);
        let verdict = self.ports.limiter.hit_at_once(&counted, limit, now)?;
        Some((caller, verdict))
    }

    fn request_limit(&self, caller: &Caller) -> Limit {
        let environment = caller.world.environment;
        let default = self.settings.per_minute(environment);
        caller.settings().request_limit(environment, default)
    }
}
