//! The principal of a call, and its rights.

use std::sync::Arc;

use vestry_domain::World;
use vestry_domain::action::{Action, Requirement, Target};
use vestry_domain::api_key::{ApiKey, ApiKeyKind, Restriction};
use vestry_domain::event::Actor;
use vestry_domain::ids::{UserId, WalletId};
use vestry_domain::wallet::WalletType;

use crate::Refusal;
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
    /// The run of a request with an `Idempotency-Key`.
    pub(crate) run: Option<Arc<Run>>,
    /// The request of a key that is limited to some owners, or that needs their sessions.
    pub(crate) limited: Option<Arc<LimitedCall>>,
}

/// The kinds of principals.
#[derive(Debug, Clone)]
enum Identity {
    /// A program with a secret key, or an end user's device with a public token.
    ApiKey(Arc<ApiKey>),
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
            run: None,
            limited: None,
        }
    }

    /// Returns the principal of an API key.
    pub(crate) const fn api_key(key: Arc<ApiKey>) -> Self {
        Self::of(Identity::ApiKey(key))
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
            Identity::Cli => Actor::Cli,
            Identity::System => Actor::System,
        }
    }

    /// Permits an action or refuses it. The permission is recorded with an idempotent run: its stored response is replayed only while it
    /// holds.
    ///
    /// # Errors
    /// [`Refusal::NotAllowed`] if an API key lacks the scope, or no API key can do this; [`Refusal::Restricted`].
    pub(crate) fn authorize(&self, action: Action) -> Result<(), Refusal> {
        if let Identity::ApiKey(key) = &self.identity {
            has_scope(key, action)?;
            if action.target() == Target::Nothing {
                self.names_no_owner()?;
            }
            if key.restrictions.wallet_ids.is_some() && action.target() != Target::Wallet {
                return Err(Refusal::Restricted(Restriction::Wallets));
            }
        }
        self.record_guard(ReplayGuard::Permitted(action));
        Ok(())
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
            Identity::Cli | Identity::System => None,
        }
    }

    /// Returns the source of what this principal does in a world, without the App's optional events.
    pub(crate) fn at(&self, world: World) -> Source<'static> {
        Source {
            world,
            actor: self.actor(),
            request_id: self.request_id.clone(),
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

/// Checks a key's scopes.
fn has_scope(key: &ApiKey, action: Action) -> Result<(), Refusal> {
    let scope = match action.requirement() {
        Requirement::AnyKey if key.kind == ApiKeyKind::Secret => return Ok(()),
        Requirement::AnyKey | Requirement::Operator => return Err(Refusal::NotAllowed(None)),
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
