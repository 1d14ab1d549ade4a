//! API key authentication, and the caller's share of the rate limit.

use std::sync::Arc;

use vestry_domain::action::Action;
use vestry_domain::api_key::{self, ApiKeyKind};
use vestry_domain::app::App;
use vestry_domain::audit::control::{ControlAction, Detail};
use vestry_domain::extent::Extent;
use vestry_domain::ids::{AppId, UserId};
use vestry_domain::limits::{Limit, LimitVerdict};
use vestry_domain::management_key;
use vestry_domain::operation::Operation;
use vestry_domain::token::TokenHash;
use vestry_domain::{Timestamp, World};
use vestry_ports::limiter::LimiterUnavailable;

use crate::kernel::act::Act;
use crate::kernel::fault::{causes, retried};
use crate::kernel::principal::Principal;
use crate::{AuthenticateError, Caller, Fault, Refusal, Service};

/// Requests per minute with one management key.
const MANAGEMENT_PER_MINUTE: u32 = 600;

impl Service {
    /// Returns a principal as the caller in one environment of an App.
    ///
    /// # Errors
    /// [`Refusal::NotFound`] if there is no such App, or it is not one of the principal's; [`Refusal::Restricted`] if the environment is not.
    pub async fn caller(&self, principal: &Principal, world: World) -> Result<Caller, Refusal> {
        principal.enter(world)?;
        let app = self.app(world.app_id).await?;
        Caller::in_app(principal, app, world.environment)
    }

    /// The same for an action that is permitted first: a principal without the right does not learn whether the App exists.
    ///
    /// # Errors
    /// Those of the permission, then those of [`Service::caller`].
    pub async fn caller_for(
        &self,
        action: Action,
        principal: &Principal,
        world: World,
    ) -> Result<Caller, Refusal> {
        principal.authorize(action, world)?;
        self.caller(principal, world).await
    }

    /// Returns an operator's caller for a change of a user that has an audit entry (OPR-7). Others are returned as they are: changes by an
    /// App's backend have events only.
    ///
    /// # Errors
    /// [`Fault`].
    pub async fn recorded(
        &self,
        caller: &Caller,
        action: ControlAction,
        user: UserId,
        detail: &Detail,
    ) -> Result<Caller, Fault> {
        let mut caller = caller.clone();
        if caller.principal.as_operator().is_some() {
            self.prepare_audit_log(&caller.world).await?;
            let entry = self.done(&(&caller).into(), action, user, detail);
            let act = Act::about(Arc::clone(&self.control), entry);
            caller.principal = caller.principal.with_act(act);
        }
        Ok(caller)
    }

    /// Returns a principal as the caller of a call that concerns the deployment as a whole. It reaches nothing else by that.
    pub fn caller_in_deployment(&self, principal: &Principal) -> Caller {
        self.built_in_caller(principal.clone())
    }

    /// Returns an App.
    ///
    /// # Errors
    /// [`Refusal::NotFound`].
    pub(crate) async fn app(&self, id: AppId) -> Result<App, Refusal> {
        let found = self.ports.store.read().await?.apps().find(id).await?;
        found.ok_or(Refusal::NotFound("app"))
    }

    /// Returns the App of a part of the deployment.
    ///
    /// # Errors
    /// [`Refusal::NotFound`].
    pub(crate) async fn app_of(&self, extent: Extent) -> Result<App, Refusal> {
        match extent.app_id() {
            Some(id) => self.app(id).await,
            None => Err(Refusal::NotFound("app")),
        }
    }

    /// Finds the caller behind a secret key.
    ///
    /// # Errors
    /// [`AuthenticateError`].
    pub async fn authenticate(&self, presented: &str) -> Result<Arc<Caller>, AuthenticateError> {
        self.authenticate_as(ApiKeyKind::Secret, presented).await
    }

    /// Finds the caller behind a key of one kind. A public token authorises only the calls made for it; callers of this function check
    /// that.
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

    /// Re-authenticates a caller after a wait, with the key's current rights. Nothing cached in this process is used.
    ///
    /// # Errors
    /// [`Refusal::KeyEnded`] when the key was revoked or has expired; [`Refusal::AppDisabled`]; a temporary [`Fault`] when restrictions
    /// that the gate judges changed.
    pub(crate) async fn authenticate_again(&self, caller: &Caller) -> Result<Arc<Caller>, Refusal> {
        if let Some(key) = caller.principal.as_management_key() {
            return self.read_management_caller(key.hash, caller.world).await;
        }
        let key = caller.key().ok_or(Refusal::KeyEnded)?;
        let (kind, hash) = (key.kind, key.hash);
        let now = self.ports.clock.machine();
        let before = &key.restrictions;
        match self.read_caller(kind, hash, now).await {
            Ok(fresh) => {
                fresh.has_enabled_app()?;
                // The gate judged these for the request, so the client has to send it again.
                let is_changed = fresh.key().is_some_and(|key| {
                    key.restrictions.operations != before.operations
                        || key.restrictions.ip_allow != before.ip_allow
                });
                match is_changed {
                    true => Err(Fault::LostRace.into()),
                    false => Ok(fresh),
                }
            }
            Err(AuthenticateError::Unknown) => Err(Refusal::KeyEnded),
            Err(AuthenticateError::Fault(fault)) => Err(fault.into()),
        }
    }

    /// Finds the principal behind a management key. The key is read for each request, so a revoked one is refused at once.
    ///
    /// # Errors
    /// [`AuthenticateError::Unknown`] if it is malformed, unknown, revoked or expired.
    pub async fn authenticate_management_key(
        &self,
        presented: &str,
    ) -> Result<Principal, AuthenticateError> {
        if !management_key::has_form(presented) {
            return Err(AuthenticateError::Unknown);
        }
        self.read_management_key(TokenHash::of(presented)).await
    }

    async fn read_management_key(&self, hash: TokenHash) -> Result<Principal, AuthenticateError> {
        let mut read = self.ports.store.read().await.map_err(Fault::from)?;
        let found = read.management_keys().find_by_hash(&hash).await;
        let now = self.ports.clock.machine();
        let key = found.map_err(Fault::from)?.filter(|key| key.is_active(now));
        let Some(key) = key else {
            self.seen_management_keys.forget(&hash);
            return Err(AuthenticateError::Unknown);
        };
        self.seen_management_keys.add(hash);
        Ok(Principal::management_key(Arc::new(key)))
    }

    async fn read_management_caller(
        &self,
        hash: TokenHash,
        world: World,
    ) -> Result<Arc<Caller>, Refusal> {
        match self.read_management_key(hash).await {
            Ok(principal) => Ok(Arc::new(self.caller(&principal, world).await?)),
            Err(AuthenticateError::Unknown) => Err(Refusal::KeyEnded),
            Err(AuthenticateError::Fault(fault)) => Err(fault.into()),
        }
    }

    /// Whether this management key was valid when this process last looked it up.
    pub fn has_seen_management_key(&self, presented: &str) -> bool {
        let hash = TokenHash::of(presented);
        self.seen_management_keys.contain(&hash)
    }

    /// Counts a request with a management key against the rate limit of that key.
    ///
    /// # Errors
    /// The limiter's store is unavailable and the limiter has no fallback.
    pub async fn admit_management_key(&self, by: &Principal) -> Result<LimitVerdict, Fault> {
        let key = by.as_management_key();
        let key = key.ok_or_else(|| Fault::Internal("not a management key".into()))?;
        let counted = World::of_management_key(key.id);
        let limit = Limit::per_minute(MANAGEMENT_PER_MINUTE);
        let now = self.ports.clock.machine();
        let hit = self.ports.limiter.hit(&counted, limit, now).await;
        hit.map_err(|unavailable: LimiterUnavailable| Fault::Unavailable(Box::new(unavailable)))
    }

    /// Reads the caller from the store and caches it for the rest of this second.
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
        // A cached caller is valid for this second only, so the expiry needs no other check.
        let good = found.filter(|(key, _)| {
            key.revoked_at.is_none() && key.kind == kind && !key.restrictions.has_expired(now)
        });
        let Some((key, app)) = good else {
            self.callers.forget(&hash);
            return Err(AuthenticateError::Unknown);
        };
        self.test_clocks.follow(app.id, app.test_clock);
        let caller = Arc::new(Caller {
            world: key.world,
            app: Arc::new(app),
            principal: Principal::api_key(Arc::new(key)),
        });
        self.callers.keep(hash, &caller, now);
        Ok(caller)
    }

    /// Finds the caller behind a public token that was sent together with a secret key, as by clients that send theirs with every call.
    ///
    /// The secret key authorises nothing here, but both must be valid and belong to the same environment.
    ///
    /// # Errors
    /// [`AuthenticateError::Unknown`], whichever of the two is invalid.
    pub async fn authenticate_both(
        &self,
        public_token: &str,
        secret_key: &str,
    ) -> Result<Arc<Caller>, AuthenticateError> {
        // Neither is looked up unless both are well-formed.
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

    /// Whether this key was valid when this process last looked it up. Says nothing about other keys.
    pub fn has_seen(&self, presented: &str) -> bool {
        self.callers.have_seen(&TokenHash::of(presented))
    }

    /// Counts a request against the environment's rate limit. Called for every authenticated request, before anything else happens.
    ///
    /// # Errors
    /// The limiter's store is unavailable and the limiter has no fallback.
    pub async fn admit(&self, caller: &Caller) -> Result<LimitVerdict, Fault> {
        let (limit, now) = (
            self.request_limit(caller),
            self.now_for_limits(&caller.world),
        );
        let counted = counted_in(caller);
        let hit = self.ports.limiter.hit(&counted, limit, now).await;
        hit.map_err(|unavailable: LimiterUnavailable| Fault::Unavailable(Box::new(unavailable)))
    }

    /// [`Service::authenticate`] and [`Service::admit`] combined, for cases that need no waiting: the key was read in this second and the
    /// counter is in this process.
    ///
    /// `None` says nothing about the key, and nothing was counted. Pass only text in the form of the expected kind of key: the form
    /// determines the kind.
    pub fn admit_at_once(&self, presented: &str) -> Option<(Arc<Caller>, LimitVerdict)> {
        let now = self.ports.clock.machine();
        let caller = self.callers.get(&TokenHash::of(presented), now)?;
        let limit = self.request_limit(&caller);
        let now = self.now_for_limits(&caller.world);
        let counted = counted_in(&caller);
        let verdict = self.ports.limiter.hit_at_once(&counted, limit, now)?;
        Some((caller, verdict))
    }

    /// Notes that the caller's key was used for an operation.
    pub fn note_key_use(&self, caller: &Caller, operation: Operation) {
        if let Some(key) = caller.key() {
            let now = self.ports.clock.machine();
            self.key_uses.note(key.world, key.id, operation, now);
        }
    }

    /// Writes the uses of keys that are due, or all. They are lost if that fails, or if the process is killed.
    pub async fn write_key_uses(&self, all: bool) {
        let now = (!all).then(|| self.ports.clock.machine());
        let mut due = self.key_uses.take(now);
        // A transaction for each App: on Citus its rows are on one server.
        due.sort_by_key(|due| due.world.app_id);
        for of_app in due.chunk_by(|a, b| a.world.app_id == b.world.app_id) {
            let written = retried(|| async {
                let mut tx = self.ports.store.begin().await?;
                tx.api_keys().note_uses(of_app).await?;
                Ok::<_, Fault>(tx.commit().await?)
            });
            if let Err(error) = written.await {
                let error = causes(&error);
                tracing::warn!(error, "could not record the last uses of API keys");
            }
        }
    }

    fn request_limit(&self, caller: &Caller) -> Limit {
        let environment = caller.world.environment;
        let default = self.settings.per_minute(environment);
        caller.settings().request_limit(environment, default)
    }
}

/// The world whose rate limit a request counts against.
fn counted_in(caller: &Caller) -> World {
    if caller.has_public_token() {
        caller.world.of_public_tokens()
    } else {
        caller.world
    }
}
