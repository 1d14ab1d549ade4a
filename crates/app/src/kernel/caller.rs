//! A principal in one environment of an App.

use std::sync::Arc;

use vestry_domain::action::{Action, Requirement};
use vestry_domain::api_key::{ApiKey, ApiKeyKind, Restriction, Scope};
use vestry_domain::app::{App, AppSettings};
use vestry_domain::event::EventKind;
use vestry_domain::ids::{Id, UserId, WalletId};
use vestry_domain::token::TokenHash;
use vestry_domain::wallet::{StoredWallet, WalletType};
use vestry_domain::{Environment, Secret, Timestamp, World};
use vestry_ports::store::Tx;

use crate::kernel::limited_call::LimitedCall;
use crate::kernel::principal::Principal;
use crate::kernel::replay_guard::ReplayGuard;
use crate::kernel::run::{About, Run};
use crate::kernel::source::Source;
use crate::{Fault, Refusal};

/// An authenticated principal in one environment of an App: for a request with an API key, that of the key.
#[derive(Debug, Clone)]
pub struct Caller {
    /// The environment.
    pub world: World,
    /// The App.
    pub app: Arc<App>,
    /// The principal.
    pub(crate) principal: Principal,
}

/// Reason why authentication failed.
#[derive(Debug, thiserror::Error)]
pub enum AuthenticateError {
    /// Malformed, unknown, revoked or expired key; the response does not say which.
    #[error("invalid API key")]
    Unknown,
    /// See [`Fault`].
    #[error(transparent)]
    Fault(#[from] Fault),
}

impl Caller {
    /// Returns a principal as the caller in one environment of an App that was just read.
    ///
    /// # Errors
    /// As [`Service::caller`](crate::Service::caller).
    pub fn in_app(
        principal: &Principal,
        app: App,
        environment: Environment,
    ) -> Result<Self, Refusal> {
        let world = World::new(app.id, environment);
        principal.enter(world)?;
        Ok(Self {
            world,
            app: Arc::new(app),
            principal: principal.clone(),
        })
    }

    /// Returns this caller with the given request id.
    pub fn of_request(&self, id: Arc<str>) -> Self {
        let mut caller = self.clone();
        caller.principal.request_id = Some(id);
        caller
    }

    /// Returns this caller with the record of a request of a limited key.
    pub fn with_limits(&self, call: Arc<LimitedCall>) -> Self {
        let mut caller = self.clone();
        caller.principal.limited = Some(call);
        caller
    }

    /// Whether each request of the caller needs a [`LimitedCall`].
    pub fn is_limited(&self) -> bool {
        self.key()
            .is_some_and(|key| key.restrictions.require_session || key.restrictions.names_owners())
    }

    /// Whether the key is limited to some wallets, by their owner, id or type.
    pub(crate) fn limits_wallets(&self) -> bool {
        self.key().is_some_and(|key| {
            key.restrictions.names_owners() || key.restrictions.wallet_types.is_some()
        })
    }

    /// The record of this request, for a limited key.
    pub fn limited_call(&self) -> Option<&LimitedCall> {
        self.principal.limited.as_deref()
    }

    /// Whether a successful call was compared with the users and wallets that its key is limited to. Anything else is a bug.
    pub fn is_judged(&self) -> bool {
        let needs_judgement = self
            .key()
            .is_some_and(|key| key.restrictions.names_owners());
        !needs_judgement || self.limited_call().is_some_and(LimitedCall::was_judged)
    }

    /// The session token that a call presents for the owner of a wallet, if the key requires one.
    pub(crate) fn required_session(&self) -> Option<Option<&Secret<String>>> {
        let is_required = self
            .key()
            .is_some_and(|key| key.restrictions.require_session);
        is_required.then(|| self.limited_call()?.session_token.as_ref())
    }

    /// Returns the API key; `None` for a caller without one.
    pub fn key(&self) -> Option<&ApiKey> {
        self.principal.key()
    }

    /// Refuses keys and public tokens of a disabled App. A management key still reaches its objects.
    ///
    /// # Errors
    /// [`Refusal::AppDisabled`].
    pub fn has_enabled_app(&self) -> Result<(), Refusal> {
        match self.key() {
            Some(_) => enabled(&self.app),
            None => Ok(()),
        }
    }

    /// Returns whether the caller has a public token only, as end users' devices have.
    pub fn has_public_token(&self) -> bool {
        self.key().is_some_and(|key| key.kind == ApiKeyKind::Public)
    }

    /// Returns whether events of this kind are written in this environment.
    pub(crate) fn wants(&self, kind: EventKind) -> bool {
        self.app.wants(self.world.environment, kind)
    }

    /// Returns this caller bound to an idempotent run: its changes and its response are committed together.
    pub fn in_run(&self, run: Arc<Run>) -> Self {
        Self {
            principal: self.principal.in_run(run),
            ..self.clone()
        }
    }

    /// Names the operator of the act that the call carries out, if it is one.
    pub(crate) fn acts_for(&self, user: UserId) {
        if let Some(act) = &self.principal.act {
            act.is_by(user);
        }
    }

    /// Commits the last transaction of a use case, with the audit entry of an act.
    ///
    /// In an idempotent run, the transaction stays open until [`Service::end_run`] has added the response to it. Code that runs afterwards
    /// must therefore neither use the database nor announce the changes.
    ///
    /// [`Service::end_run`]: crate::Service::end_run
    pub(crate) async fn commit_last(&self, tx: Box<dyn Tx>) -> Result<(), Fault> {
        let Principal { run, act, .. } = &self.principal;
        match (act, run) {
            (Some(act), None) => act.commit(tx).await,
            (Some(act), Some(run)) => {
                let (tx, ends) = act.written(tx).await?;
                run.leave_open(tx, Some(ends));
                Ok(())
            }
            (None, None) => Ok(tx.commit().await?),
            (None, Some(run)) => {
                run.leave_open(tx, None);
                Ok(())
            }
        }
    }

    /// Records a precondition of the call. The stored response is replayed only while it holds.
    pub(crate) fn record_guard(&self, condition: ReplayGuard) {
        self.principal.record_guard(condition);
    }

    /// Records the user that the response is about. The stored response is erased with that user.
    pub(crate) fn is_about(&self, about: About) {
        if let Some(run) = &self.principal.run {
            run.is_about(about);
        }
    }

    /// Rejects the creation of a user if this repeats a request whose user was deleted: erased data stays erased.
    ///
    /// # Errors
    /// [`Refusal::NotFound`].
    pub(crate) fn may_create_user(&self) -> Result<(), Refusal> {
        match &self.principal.run {
            Some(run) if run.repeats_erased() => Err(Refusal::NotFound("user")),
            _ => Ok(()),
        }
    }

    /// Returns the App's settings.
    pub fn settings(&self) -> &AppSettings {
        &self.app.settings
    }

    /// Returns whether this is the test environment.
    pub fn is_test(&self) -> bool {
        self.world.environment == Environment::Test
    }

    /// Permits an action or refuses it.
    ///
    /// # Errors
    /// [`Refusal::NotAllowed`] and [`Refusal::Restricted`].
    pub fn authorize(&self, action: Action) -> Result<(), Refusal> {
        self.principal.authorize(action, self.world)?;
        let has_unnamed_scopes = self.key().is_some_and(|key| key.scopes.is_empty());
        if has_unnamed_scopes && self.settings().require_named_scopes && needs_named_scope(action) {
            return Err(Refusal::Restricted(Restriction::UnnamedScopes));
        }
        Ok(())
    }

    /// Permits a call that names neither a user nor a wallet, unless the key is limited to some of them.
    ///
    /// # Errors
    /// [`Refusal::Restricted`].
    pub(crate) fn names_no_owner(&self) -> Result<(), Refusal> {
        self.principal.names_no_owner()
    }

    /// Whether the call may reach this user. If not, whatever belongs to the user does not exist for it.
    pub(crate) fn reaches_user(&self, user: UserId) -> bool {
        self.principal.reaches_user(user)
    }

    /// Whether the call may reach the user that was found for it; `false` if none was.
    pub(crate) fn reaches_found(&self, user: Option<UserId>) -> bool {
        match user {
            Some(user) => self.reaches_user(user),
            None => {
                self.leads_to_no_user();
                false
            }
        }
    }

    /// Records that the call leads to no user.
    pub(crate) fn leads_to_no_user(&self) {
        self.record_guard(ReplayGuard::NoUser);
        if let Some(call) = self.limited_call() {
            call.judge_no_user();
        }
    }

    /// Whether the key's restrictions allow this user, without recording the answer for this call.
    pub(crate) fn allows_user(&self, user: UserId) -> bool {
        self.key()
            .is_none_or(|key| key.restrictions.allows_user(user))
    }

    /// Whether the call may reach this wallet. If not, the wallet does not exist for it.
    pub(crate) fn reaches_wallet(&self, wallet: WalletId, owner: UserId) -> bool {
        self.principal.reaches_wallet(wallet, owner)
    }

    /// The same for a call that may name no user, which a key limited to some users or wallets must.
    ///
    /// # Errors
    /// [`Refusal::Restricted`].
    pub(crate) fn visible_user_if_named(
        &self,
        named: Option<UserId>,
    ) -> Result<Option<UserId>, Refusal> {
        match named {
            Some(user) => Ok(Some(self.visible_user(user))),
            None => self.names_no_owner().map(|()| None),
        }
    }

    /// Records that a restriction refused the call although its response does not say so.
    pub(crate) fn note_restricted(&self) {
        if let Some(call) = self.limited_call() {
            call.judge(false);
        }
    }

    /// The same for a wallet that was read.
    pub(crate) fn reaches_stored(&self, stored: &StoredWallet) -> bool {
        self.reaches_wallet(stored.wallet.id, stored.wallet.user_id)
    }

    /// Permits the use of wallets of a type, or refuses it.
    ///
    /// # Errors
    /// [`Refusal::Restricted`].
    pub(crate) fn uses_wallet_type(&self, wallet_type: WalletType) -> Result<(), Refusal> {
        self.principal.uses_wallet_type(wallet_type)
    }

    /// Returns the id under which to look up a user that the call names: that id, or one that no user has.
    ///
    /// A user whom the key does not reach thus gets exactly the response of an unknown id (RK-8), including its limits and its timing.
    pub(crate) fn visible_user(&self, named: UserId) -> UserId {
        if self.reaches_user(named) {
            return named;
        }
        let key = self.key().map(|key| key.id.to_string()).unwrap_or_default();
        let TokenHash(hash) = TokenHash::of(&format!("unlisted {key} {named}"));
        let [random, _] =
            [&hash[..16], &hash[16..]].map(|half| <[u8; 16]>::try_from(half).unwrap_or_default());
        UserId::new(Timestamp::default(), random)
    }
}

impl<'a> From<&'a Caller> for Source<'a> {
    fn from(caller: &'a Caller) -> Self {
        Self {
            app: Some(&*caller.app),
            ..caller.principal.at(caller.world)
        }
    }
}

/// Refuses a disabled App.
///
/// # Errors
/// [`Refusal::AppDisabled`].
pub(crate) fn enabled(app: &App) -> Result<(), Refusal> {
    match app.disabled_at {
        None => Ok(()),
        Some(_) => Err(Refusal::AppDisabled),
    }
}

/// Whether an App can reserve the action for keys with named scopes.
fn needs_named_scope(action: Action) -> bool {
    action.deletes()
        || matches!(
            action.requirement(),
            Requirement::Scope(Scope::WalletsSign | Scope::WalletsWrite)
        )
}
