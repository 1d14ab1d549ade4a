//! From an API key to its caller, and the caller's share of the rate limit.

use std::sync::Arc;

use vestry_domain::api_key::{self, ApiKeyKind};
use vestry_domain::limits::{Limit, Verdict};
use vestry_domain::token::TokenHash;
use vestry_domain::{Timestamp, World};
use vestry_ports::limiter::LimiterUnavailable;

use crate::{AuthenticateError, Caller, Fault, Refusal, Service};

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
        if let Some(caller) = self.callers.get(&hash, now) {
            return Ok(caller);
        }
        self.read_caller(kind, hash, now).await
    }

    /// The caller of a call that has waited, with the rights that its key has by now. Nothing that this process remembers counts.
    ///
    /// # Errors
    /// [`Refusal::KeyEnded`] when the key was revoked.
    pub(crate) async fn authenticate_again(&self, caller: &Caller) -> Result<Arc<Caller>, Refusal> {
        let (kind, hash) = (caller.key.kind, caller.key.hash);
        let now = self.ports.clock.machine();
        match self.read_caller(kind, hash, now).await {
            Ok(caller) => Ok(caller),
            Err(AuthenticateError::Unknown) => Err(Refusal::KeyEnded),
            Err(AuthenticateError::Fault(fault)) => Err(fault.into()),
        }
    }

    /// Finds the caller in the store, and remembers it for the rest of this second.
    async fn read_caller(
        &self,
        kind: ApiKeyKind,
        hash: TokenHash,
        now: Timestamp,
    ) -> Result<Arc<Caller>, AuthenticateError> {
        let mut read = self.ports.store.read().await.map_err(Fault::from)?;
        let found = read
            .api_keys()
            .find_by_hash(&hash)
            .await
            .map_err(Fault::from)?;
        let good = found.filter(|(key, _)| key.revoked_at.is_none() && key.kind == kind);
        let Some((key, app)) = good else {
            self.callers.forget(&hash);
            return Err(AuthenticateError::Unknown);
        };
        self.test_clocks.follow(app.id, app.test_clock);
        let caller = Arc::new(Caller {
            world: key.world,
            key: Arc::new(key),
            app: Arc::new(app),
            request_id: None,
            run: None,
        });
        self.callers.keep(hash, &caller, now);
        Ok(caller)
    }

    /// Finds the caller behind a public token beside which a secret key came, as it does from clients that send theirs with
    /// every call. The key opens nothing here; but both must be good, and of one world.
    ///
    /// # Errors
    /// [`AuthenticateError::Unknown`], whichever of the two is no good.
    pub async fn authenticate_both(
        &self,
        public_token: &str,
        secret_key: &str,
    ) -> Result<Arc<Caller>, AuthenticateError> {
        // Neither is looked up before both look right.
        if !api_key::has_form(ApiKeyKind::Secret, secret_key) {
            return Err(AuthenticateError::Unknown);
        }
        let kind = ApiKeyKind::Public;
        let caller = self.authenticate_as(kind, public_token).await?;
        let beside = self.authenticate(secret_key).await?;
        if beside.world != caller.world {
            return Err(AuthenticateError::Unknown);
        }
        Ok(caller)
    }

    /// Whether this was a good key when it was last looked up by this process. Says nothing about other keys.
    pub fn has_seen(&self, presented: &str) -> bool {
        self.callers.have_seen(&TokenHash::of(presented))
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
        let caller = self.callers.get(&TokenHash::of(presented), now)?;
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

/// The world whose limit a request counts against.
fn counted_in(caller: &Caller) -> World {
    match caller.key.kind {
        ApiKeyKind::Secret => caller.world,
        ApiKeyKind::Public => caller.world.of_public_tokens(),
    }
}
