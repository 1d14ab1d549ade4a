//! The principal of a call, and its rights.

use std::net::IpAddr;
use std::sync::Arc;

use vestry_domain::World;
use vestry_domain::action::{Action, Requirement, Target};
use vestry_domain::api_key::{ApiKey, ApiKeyKind, Restriction, Scope};
use vestry_domain::event::Actor;
use vestry_domain::extent::Extent;
use vestry_domain::ids::{AppId, UserId, WalletId};
use vestry_domain::management_key::{ManagementKey, Missing};
use vestry_domain::management_scope::ManagementScope;
use vestry_domain::operator::{Denied, Grants, Operator, Right, Role};
use vestry_domain::wallet::WalletType;

use crate::Refusal;
use crate::kernel::act::Act;
use crate::kernel::limited_call::LimitedCall;
use crate::kernel::replay_guard::ReplayGuard;
use crate::kernel::run::Run;
use crate::kernel::source::Source;

/// The principal of a call, with its request. Every use case that can be started from outside takes one, alone or as part of a [`Caller`].
///
/// [`Caller`]: crate::Caller
#[derive(Debug, Clone)]
pub struct Principal {
    identity: Identity,
    /// The request id, which events and audit entries show.
    pub(crate) request_id: Option<Arc<str>>,
    /// The client address of an operator, which audit entries show.
    client: Option<IpAddr>,
    /// The run of a request with an `Idempotency-Key`.
    pub(crate) run: Option<Arc<Run>>,
    /// The request of a key that is limited to some owners, or that needs their sessions.
    pub(crate) limited: Option<Arc<LimitedCall>>,
    /// What an operator does by this call, if that is recorded.
    pub(crate) act: Option<Arc<Act>>,
}

/// The kinds of principals.
#[derive(Debug, Clone)]
enum Identity {
    /// A program with a secret key, or an end user's device with a public token.
    ApiKey(Arc<ApiKey>),
    /// A program that administers Apps.
    ManagementKey(Arc<ManagementKey>),
    /// A person in the console. `is_fresh`: a second factor was proved lately.
    Operator {
        operator: Arc<Operator>,
        is_fresh: bool,
    },
    /// An administrator with a shell on the server.
    Cli,
    /// The service itself.
    System,
}

impl Principal {
    const fn of(identity: Identity) -> Self {
        Self {
            identity,
            request_id: None,
            client: None,
            run: None,
            limited: None,
            act: None,
        }
    }

    /// Returns the principal of an API key.
    pub(crate) const fn api_key(key: Arc<ApiKey>) -> Self {
        Self::of(Identity::ApiKey(key))
    }

    /// Returns the principal of a management key.
    pub(crate) const fn management_key(key: Arc<ManagementKey>) -> Self {
        Self::of(Identity::ManagementKey(key))
    }

    /// Returns the principal of an operator. `is_fresh`: a second factor was proved lately.
    pub(crate) const fn operator(operator: Arc<Operator>, is_fresh: bool) -> Self {
        Self::of(Identity::Operator { operator, is_fresh })
    }

    /// Returns this principal with the given client address.
    #[must_use]
    pub(crate) fn with_address(self, client: Option<IpAddr>) -> Self {
        Self { client, ..self }
    }

    /// Returns this principal with the given request id.
    #[must_use]
    pub fn of_request(&self, id: Arc<str>) -> Self {
        Self {
            request_id: Some(id),
            ..self.clone()
        }
    }

    /// Returns this principal bound to an idempotent run: its changes and its response are committed together.
    #[must_use]
    pub fn in_run(&self, run: Arc<Run>) -> Self {
        Self {
            run: Some(run),
            ..self.clone()
        }
    }

    /// Returns this principal with an act, whose audit entry is committed with the last transaction of the use case.
    #[must_use]
    pub(crate) fn with_act(self, act: Act) -> Self {
        let act = Some(Arc::new(act));
        Self { act, ..self }
    }

    /// Returns the principal of the command line. It has every right.
    pub fn cli() -> &'static Self {
        static CLI: Principal = Principal::of(Identity::Cli);
        &CLI
    }

    /// Returns the service itself, for its scheduled work.
    pub(crate) fn system() -> &'static Self {
        static SYSTEM: Principal = Principal::of(Identity::System);
        &SYSTEM
    }

    /// Returns the actor shown in events and audit entries.
    pub(crate) fn actor(&self) -> Actor {
        match &self.identity {
            Identity::ApiKey(key) => match key.kind {
                ApiKeyKind::Secret => Actor::ApiKey(key.id),
                ApiKeyKind::Public => Actor::PublicToken(key.id),
            },
            Identity::ManagementKey(key) => Actor::ManagementKey(key.id),
            Identity::Operator { operator, .. } => Actor::Operator(operator.user_id),
            Identity::Cli => Actor::Cli,
            Identity::System => Actor::System,
        }
    }

    /// Permits an action in a part of the deployment, or refuses it. The permission is recorded with an idempotent run: its stored response
    /// is replayed only while it holds.
    ///
    /// # Errors
    /// [`Refusal::NotAllowed`] if an API key lacks the scope, or no API key can do this; [`Refusal::Restricted`]. [`Refusal::NotFound`] if the
    /// App is not one of a management key or an operator. [`Refusal::RoleNotAllowed`] and [`Refusal::StepUpRequired`] for an operator.
    pub(crate) fn authorize(
        &self,
        action: Action,
        extent: impl Into<Extent>,
    ) -> Result<(), Refusal> {
        let extent = extent.into();
        match &self.identity {
            Identity::ApiKey(key) => {
                has_scope(key, action)?;
                if action.target() == Target::Nothing {
                    self.names_no_owner()?;
                }
                if key.restrictions.wallet_ids.is_some() && action.target() != Target::Wallet {
                    return Err(Refusal::Restricted(Restriction::Wallets));
                }
            }
            Identity::ManagementKey(key) => {
                has_management_scope(key, action)?;
                covers(key, extent)?;
            }
            Identity::Operator { operator, is_fresh } => {
                let right = action.right().ok_or(Refusal::RoleNotAllowed)?;
                operator.grants.permit(right, extent, *is_fresh)?;
            }
            Identity::Cli | Identity::System => {}
        }
        self.record_guard(match extent {
            Extent::Deployment => ReplayGuard::PermittedInDeployment(action),
            Extent::App(app) => ReplayGuard::PermittedInApp(action, app),
            Extent::World(_) => ReplayGuard::Permitted(action),
        });
        Ok(())
    }

    /// Permits an action that is about an App as a whole and concerns neither of its environments, such as reading its name.
    ///
    /// # Errors
    /// As [`Principal::authorize`].
    pub(crate) fn authorize_in_app(&self, action: Action, app: AppId) -> Result<(), Refusal> {
        match &self.identity {
            Identity::ManagementKey(key) => {
                has_management_scope(key, action)?;
                if key.rights.reach_app(app) {
                    Ok(())
                } else {
                    Err(Refusal::NotFound("app"))
                }
            }
            Identity::Operator { operator, .. } => {
                let right = action.right().ok_or(Refusal::RoleNotAllowed)?;
                Ok(operator.grants.permit_in_app(right, app)?)
            }
            Identity::ApiKey(_) | Identity::Cli | Identity::System => self.authorize(action, app),
        }
    }

    /// Permits an action that returns only what the principal reaches, such as a list of Apps.
    ///
    /// # Errors
    /// As [`Principal::authorize`].
    pub(crate) fn authorize_somewhere(&self, action: Action) -> Result<(), Refusal> {
        match &self.identity {
            Identity::ManagementKey(key) => has_management_scope(key, action),
            Identity::Operator { operator, .. } => {
                let right = action.right();
                let is_permitted =
                    right.is_some_and(|right| operator.grants.permit_somewhere(right));
                is_permitted.then_some(()).ok_or(Refusal::RoleNotAllowed)
            }
            Identity::ApiKey(_) | Identity::Cli | Identity::System => {
                self.authorize(action, Extent::Deployment)
            }
        }
    }

    /// Whether an operator's role includes an action, at least after proving a second factor. Pages show only such actions; whether one is
    /// permitted is decided when it is done.
    pub fn may(&self, action: Action, extent: impl Into<Extent>) -> bool {
        let Identity::Operator { operator, .. } = &self.identity else {
            return false;
        };
        let right = action.right();
        right.is_some_and(|right| operator.grants.permit(right, extent.into(), true).is_ok())
    }

    /// The same for an action that is not about one App, such as listing operators: whether the role in some App includes it.
    pub fn may_somewhere(&self, action: Action) -> bool {
        self.as_operator().is_some() && self.authorize_somewhere(action).is_ok()
    }

    /// Checks whether an operator may do something now. Pages ask before they show the form for it; its use case decides again.
    ///
    /// # Errors
    /// The right or the second factor is missing.
    pub fn is_ready_for(&self, action: Action, extent: impl Into<Extent>) -> Result<(), Refusal> {
        self.authorize(action, extent)
    }

    /// The same for an action that is not about one App.
    ///
    /// # Errors
    /// As [`Principal::is_ready_for`].
    pub fn is_ready_somewhere(&self, action: Action) -> Result<(), Refusal> {
        self.authorize_somewhere(action)?;
        let Some(operator) = self.as_operator() else {
            return Ok(());
        };
        let all = operator.grants.in_all().map(|_role| Extent::Deployment);
        let apps = operator.grants.in_apps().map(|(app, _)| Extent::from(app));
        let mut outcome = Err(Refusal::RoleNotAllowed);
        for extent in all.into_iter().chain(apps) {
            match self.authorize(action, extent) {
                Ok(()) => return Ok(()),
                Err(Refusal::StepUpRequired) => outcome = Err(Refusal::StepUpRequired),
                Err(_elsewhere) => {}
            }
        }
        outcome
    }

    /// Permits calls in one environment of an App, whatever they do.
    ///
    /// # Errors
    /// [`Refusal::NotFound`] if the App is not one of the principal's; [`Refusal::Restricted`] if the environment is not.
    pub(crate) fn enter(&self, world: World) -> Result<(), Refusal> {
        match &self.identity {
            Identity::ApiKey(key) if key.world != world => Err(Refusal::NotFound("app")),
            Identity::ManagementKey(key) => covers(key, Extent::World(world)),
            Identity::Operator { operator, .. } => match operator.grants.role_in(world.app_id) {
                Some(_) => Ok(()),
                None => Err(Refusal::NotFound("app")),
            },
            Identity::ApiKey(_) | Identity::Cli | Identity::System => Ok(()),
        }
    }

    /// Whether a management key covers a part of the deployment. Any other principal that reaches it does.
    pub(crate) fn covers(&self, extent: impl Into<Extent>) -> bool {
        let key = self.as_management_key();
        key.is_none_or(|key| covers(key, extent.into()).is_ok())
    }

    /// Whether the principal reaches an App, in some environment.
    pub(crate) fn reaches_app(&self, app: AppId) -> bool {
        match &self.identity {
            Identity::ApiKey(key) => key.world.app_id == app,
            Identity::ManagementKey(key) => key.rights.reach_app(app),
            Identity::Operator { operator, .. } => operator.grants.role_in(app).is_some(),
            Identity::Cli | Identity::System => true,
        }
    }

    /// Permits a call that names neither a user nor a wallet, unless the key is limited to some of them.
    ///
    /// # Errors
    /// [`Refusal::Restricted`].
    pub(crate) fn names_no_owner(&self) -> Result<(), Refusal> {
        let restrictions = self.key().map(|key| &key.restrictions);
        match restrictions {
            Some(key) if key.user_ids.is_some() => Err(Refusal::Restricted(Restriction::Users)),
            Some(key) if key.wallet_ids.is_some() => Err(Refusal::Restricted(Restriction::Wallets)),
            _ => {
                self.record_guard(ReplayGuard::NoOwner);
                Ok(())
            }
        }
    }

    /// Whether the call may reach this user. If not, the user does not exist for it.
    pub(crate) fn reaches_user(&self, user: UserId) -> bool {
        let reached = self.judged(|key| key.restrictions.allows_user(user));
        self.record_guard(match reached {
            true => ReplayGuard::User(user),
            false => ReplayGuard::NotUser(user),
        });
        reached
    }

    /// Whether the call may reach this wallet. If not, the wallet does not exist for it.
    pub(crate) fn reaches_wallet(&self, wallet: WalletId, owner: UserId) -> bool {
        let reached = self.judged(|key| key.restrictions.allows_wallet(wallet, owner));
        self.record_guard(match reached {
            true => ReplayGuard::Wallet(wallet, owner),
            false => ReplayGuard::NotWallet(wallet, owner),
        });
        reached
    }

    fn judged(&self, allows: impl FnOnce(&ApiKey) -> bool) -> bool {
        let reached = self.key().is_none_or(allows);
        if let Some(limited) = &self.limited {
            limited.judge(reached);
        }
        reached
    }

    /// Permits the use of wallets of a type, or refuses it.
    ///
    /// # Errors
    /// [`Refusal::Restricted`].
    pub(crate) fn uses_wallet_type(&self, wallet_type: WalletType) -> Result<(), Refusal> {
        self.record_guard(ReplayGuard::WalletType(wallet_type));
        match self.key() {
            Some(key) if !key.restrictions.allows_wallet_type(wallet_type) => {
                Err(Refusal::Restricted(Restriction::WalletType(wallet_type)))
            }
            _ => Ok(()),
        }
    }

    /// Returns the API key; `None` for any other principal.
    pub(crate) fn key(&self) -> Option<&ApiKey> {
        match &self.identity {
            Identity::ApiKey(key) => Some(key),
            Identity::ManagementKey(_)
            | Identity::Operator { .. }
            | Identity::Cli
            | Identity::System => None,
        }
    }

    /// Returns the operator; `None` for any other principal.
    pub fn as_operator(&self) -> Option<&Operator> {
        match &self.identity {
            Identity::Operator { operator, .. } => Some(operator),
            Identity::ApiKey(_) | Identity::ManagementKey(_) | Identity::Cli | Identity::System => {
                None
            }
        }
    }

    /// Returns the management key; `None` for any other principal.
    pub fn as_management_key(&self) -> Option<&ManagementKey> {
        match &self.identity {
            Identity::ManagementKey(key) => Some(key),
            Identity::ApiKey(_) | Identity::Operator { .. } | Identity::Cli | Identity::System => {
                None
            }
        }
    }

    /// Checks that a management key may be used from a client address; `None` if the address is unknown.
    ///
    /// # Errors
    /// [`Restriction::Ip`].
    pub fn comes_from(&self, client: Option<IpAddr>) -> Result<(), Restriction> {
        match self.as_management_key() {
            Some(key) if !key.rights.allow_address(client) => Err(Restriction::Ip),
            _ => Ok(()),
        }
    }

    /// The scope that a management key lacks for an action.
    pub fn missing_scope(&self, action: Action) -> Option<Restriction> {
        let key = self.as_management_key()?;
        match has_management_scope(key, action) {
            Err(Refusal::Restricted(restriction)) => Some(restriction),
            _ => None,
        }
    }

    /// Checks that a management key may give these scopes to an API key. It grants none that every key has to be given by name and that it
    /// cannot have itself (MG-3).
    ///
    /// # Errors
    /// [`Refusal::Restricted`].
    pub(crate) fn grant(&self, scopes: &[Scope]) -> Result<(), Refusal> {
        let Some(key) = self.as_management_key() else {
            return Ok(());
        };
        for scope in scopes.iter().filter(|scope| scope.is_only_named()) {
            let needed = ManagementScope::named_like(*scope);
            if !needed.is_some_and(|needed| key.rights.allow(needed)) {
                return Err(Refusal::Restricted(Restriction::ManagementScope(needed)));
            }
            self.record_guard(ReplayGuard::Grants(*scope));
        }
        Ok(())
    }

    /// Whether the principal, who may read operators somewhere, may see one with these roles.
    pub(crate) fn sees_operator(&self, grants: &Grants) -> bool {
        let mut apps = grants.in_apps().map(|(app, _)| app);
        match &self.identity {
            Identity::ApiKey(_) => false,
            Identity::ManagementKey(_) | Identity::Operator { .. } => {
                grants.in_all().is_some() || apps.any(|app| self.sees_roles_in(app))
            }
            Identity::Cli | Identity::System => true,
        }
    }

    /// Whether the principal, who may read operators somewhere, may see their roles in an App.
    pub(crate) fn sees_roles_in(&self, app: AppId) -> bool {
        match &self.identity {
            Identity::Operator { operator, .. } => {
                let own = &operator.grants;
                own.permit_in_app(Right::ReadOperators, app).is_ok()
            }
            Identity::ApiKey(_) | Identity::ManagementKey(_) | Identity::Cli | Identity::System => {
                self.reaches_app(app)
            }
        }
    }

    /// Checks that an operator still has the same roles, among all operators, who are locked.
    ///
    /// # Errors
    /// [`Refusal::InvalidSession`].
    pub(crate) fn is_still_among(&self, operators: &[Operator]) -> Result<(), Refusal> {
        let is_same = |by: &Operator| {
            let mut all = operators.iter();
            all.any(|one| one.user_id == by.user_id && one.grants == by.grants)
        };
        match self.as_operator() {
            Some(by) if !is_same(by) => Err(Refusal::InvalidSession),
            _ => Ok(()),
        }
    }

    /// Checks that the principal may give these roles to an operator, or take them away (MG-3).
    ///
    /// # Errors
    /// [`Refusal::RoleNotAllowed`] for an operator; [`Refusal::Restricted`] for a management key, which only makes viewers.
    pub(crate) fn grant_roles(&self, grants: &Grants) -> Result<(), Refusal> {
        let is_permitted = match &self.identity {
            Identity::ApiKey(_) => false,
            Identity::ManagementKey(_) => {
                let own = grants.in_apps().map(|(_, role)| role);
                let mut roles = own.chain(grants.in_all());
                if roles.all(|role| role == Role::Viewer) {
                    return Ok(());
                }
                return Err(Refusal::Restricted(Restriction::Role));
            }
            Identity::Operator { operator, .. } => operator.grants.may_grant(grants),
            Identity::Cli | Identity::System => true,
        };
        is_permitted.then_some(()).ok_or(Refusal::RoleNotAllowed)
    }

    /// Returns the source of what this principal does in a world, without the App's optional events.
    pub(crate) fn at(&self, world: World) -> Source<'static> {
        Source {
            world,
            actor: self.actor(),
            request_id: self.request_id.clone(),
            client: self.client,
            app: None,
        }
    }

    /// Records a precondition of the call. The stored response is replayed only while it holds.
    pub(crate) fn record_guard(&self, condition: ReplayGuard) {
        if let Some(run) = &self.run {
            run.record_guard(condition);
        }
    }
}

impl From<Denied> for Refusal {
    fn from(denied: Denied) -> Self {
        match denied {
            Denied::App => Self::NotFound("app"),
            Denied::Role => Self::RoleNotAllowed,
            Denied::StepUp => Self::StepUpRequired,
        }
    }
}

/// Checks a management key's Apps and environments.
fn covers(key: &ManagementKey, extent: Extent) -> Result<(), Refusal> {
    Err(match key.rights.miss(extent) {
        None => return Ok(()),
        Some(Missing::App) => Refusal::NotFound("app"),
        Some(Missing::AllApps) => Refusal::Restricted(Restriction::AllApps),
        Some(Missing::Environment(environment)) => {
            Refusal::Restricted(Restriction::Environment(environment))
        }
    })
}

/// Checks a management key's scopes.
fn has_management_scope(key: &ManagementKey, action: Action) -> Result<(), Refusal> {
    let needed = action.management_scope();
    match needed {
        Some(scope) if key.rights.allow(scope) => Ok(()),
        _ => Err(Refusal::Restricted(Restriction::ManagementScope(needed))),
    }
}

/// Checks a key's scopes.
fn has_scope(key: &ApiKey, action: Action) -> Result<(), Refusal> {
    let scope = match action.requirement() {
        Requirement::AnyKey if key.kind == ApiKeyKind::Secret => return Ok(()),
        Requirement::AnyKey | Requirement::Management(_) | Requirement::Cli => {
            return Err(Refusal::NotAllowed(None));
        }
        Requirement::Scope(scope) => scope,
    };
    if key.allows(scope) {
        Ok(())
    } else if key.scopes.is_empty() {
        Err(Refusal::NotAllowed(Some(scope)))
    } else {
        Err(Refusal::Restricted(Restriction::Scope(scope)))
    }
}
