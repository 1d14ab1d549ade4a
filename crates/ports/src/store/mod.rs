//! Storage: units of work and the repositories inside them.
//!
//! [`Store::begin`] opens a write transaction; dropping it rolls back, and [`Tx::commit`] makes it durable. [`Store::read`] opens a
//! read-only view: lookups see only committed transactions (two lookups may see different moments). A writing method called on it returns
//! an error and does nothing.
//!
//! After any error a [`Tx`] is unusable and must be dropped. A method of a [`Tx`] without a return value may defer its statement and send
//! it together with the next call. In that case, the next call or the commit returns its error.

mod activity;
mod apps;
mod audit;
mod audit_chains;
mod auth;
mod checkpoints;
mod control;
mod events;
mod idempotency;
mod identifiers;
mod leases;
mod links;
mod operators;
mod outbox;
mod partitions;
mod passkeys;
mod passwords;
mod persistent_secrets;
mod providers;
mod recovery;
mod totps;
mod users;
mod wallet_challenges;
mod wallet_imports;
mod wallets;
mod webhooks;

use vestry_domain::activity::Measure;
use vestry_domain::audit::{AuditEntry, AuditStep};
use vestry_domain::ids::{AppId, AuditChainId};
use vestry_domain::journal::Change;
use vestry_domain::message::OutboxQueue;
use vestry_domain::{Environment, World};
use vestry_port_macro::port;

pub use activity::Activity;
pub use apps::{
    ApiKeys, AppKeys, Apps, KeyUsage, ManagementKeys, RedirectUrl, RedirectUrls, SigningKeys,
};
pub use audit::AuditLog;
pub use audit_chains::{AuditChains, ChainEntry, ChainLink, ChainLog};
pub use auth::{
    Attempt, Codes, EndedSome, Lockouts, NewToken, Noted, Quotas, SessionActivity, SessionPage,
    Sessions,
};
pub use checkpoints::{Checkpoints, SinkProgress, StoredCheckpoint};
pub use control::ControlLog;
pub use events::{EventFilter, Events, PositionRange};
pub use idempotency::Idempotency;
pub use identifiers::{Attached, Identifier, Identifiers, Moved};
pub use leases::{Leases, MAX_LEASE};
pub use links::Links;
pub use operators::{OperatorLinks, Operators};
pub use outbox::{Backlog, Captured, CapturedFilter, MAX_COUNTED, Outbox, lane_share};
pub use partitions::{Partition, Partitions};
pub use passkeys::{PasskeyUse, Passkeys};
pub use passwords::{ImportedUsers, PasswordHolder, Passwords};
pub use persistent_secrets::{PersistentKind, PersistentSecret, PersistentSecrets};
pub use providers::{OauthFlows, ProviderConnections, ProviderLinks, StoredConnection};
pub use recovery::{EndedByRecovery, Recovery};
pub use totps::Totps;
pub use users::{AccountTrust, UserPage, Users, WholeUser};
pub use wallet_challenges::WalletChallenges;
pub use wallet_imports::WalletImports;
pub use wallets::{Created, WalletPage, WalletWithKey, Wallets};
pub use webhooks::{
    Changed, Deliveries, DeliveryFilter, Failures, Lane, Placed, Queue, WebhookEndpoints,
    WebhookReplays,
};

/// Maximum number of rows that one cleanup statement deletes. Deleting a million at once would stall the disk and every transaction waiting
/// for its locks. The cleanup repeats as long as a statement deletes this many.
pub const SWEEP_STEP: i64 = 1_000;

/// The worlds whose rows a cleanup statement deletes. They share one clock reading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SweptWorlds {
    /// The environment.
    pub environment: Environment,
    /// The Apps.
    pub apps: SweptApps,
}

/// The Apps whose rows a cleanup statement deletes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SweptApps {
    /// All Apps except these.
    AllBut(Vec<AppId>),
    /// This App, whose clock is behind the others': other Apps' rows of the same age are already deleted.
    Behind(AppId),
    /// This App, whose clock is ahead of the others': most rows of the same age belong to other Apps and are still in use.
    Ahead(AppId),
}

impl From<Environment> for SweptWorlds {
    fn from(environment: Environment) -> Self {
        Self {
            environment,
            apps: SweptApps::AllBut(Vec::new()),
        }
    }
}

impl SweptWorlds {
    /// Whether rows of this world are deleted.
    pub fn include(&self, world: &World) -> bool {
        self.environment == world.environment
            && match &self.apps {
                SweptApps::AllBut(apps) => !apps.contains(&world.app_id),
                SweptApps::Behind(app) | SweptApps::Ahead(app) => *app == world.app_id,
            }
    }
}

/// The reason that a database operation failed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// No connection was available in time, or too many callers are waiting (503).
    #[error("the database is busy")]
    Busy,
    /// The operation exceeded its time limit and was cancelled (503).
    #[error("the database operation timed out")]
    TooLong,
    /// The database cannot be reached (503).
    #[error("the database is unavailable")]
    Unavailable(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The transaction conflicted with another one and can be retried from its start (40001, 40P01). Or it references a row that has been
    /// deleted (23503), which the retry will see.
    #[error("the transaction must be retried")]
    Retry,
    /// A stored value cannot be parsed.
    #[error("stored data is corrupt: {table}.{column}")]
    Corrupt {
        /// Table of the value.
        table: &'static str,
        /// Column of the value.
        column: &'static str,
    },
    /// Anything else: a bug, or a schema mismatch.
    #[error("the database rejected a statement")]
    Other(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// Result of a port method.
pub type StoreResult<T> = Result<T, StoreError>;

/// An effect of a commit that the process acts on.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CommitEffect {
    /// Unsequenced events of this world.
    Events(World),
    /// Messages for this queue of the outbox.
    Messages(OutboxQueue),
    /// A fact happened this many times; see [`Activity::note`].
    Counted(World, Measure, u64),
    /// A change that belongs into the journal.
    Changed(Box<Change>),
}

/// Called after a commit, once for each of its effects.
pub type CommitHook = Box<dyn Fn(CommitEffect) + Send + Sync>;

/// The database.
#[port]
pub trait Store: Send + Sync {
    /// Opens a write transaction.
    ///
    /// # Errors
    /// [`StoreError::Busy`] or [`StoreError::Unavailable`].
    async fn begin(&self) -> StoreResult<Box<dyn Tx>>;

    /// Opens a read-only view.
    ///
    /// # Errors
    /// As for [`Store::begin`].
    async fn read(&self) -> StoreResult<Box<dyn Repositories>>;

    /// [`AuditLog::append`] in a transaction of its own, which is committed when this returns.
    ///
    /// # Errors
    /// [`StoreError`]; as with [`Tx::commit`], the outcome is then unknown.
    async fn append_to_audit_log(
        &self,
        entries: &[AuditEntry],
        steps: &[AuditStep],
    ) -> StoreResult<Vec<AuditChainId>> {
        let mut tx = self.begin().await?;
        let left = tx.audit_log().append(entries, steps).await?;
        tx.commit().await?;
        Ok(left)
    }

    /// Registers a hook for the commits of this process. Only the first one is kept.
    fn on_commit(&self, hook: CommitHook);

    /// How the Apps are divided into partitions.
    fn partitions(&self) -> Partitions {
        Partitions::One
    }

    /// Records how many of its connections are in use, if it is measured.
    fn measure(&self) {}

    /// Checks that the database responds and every migration of this build is applied.
    ///
    /// # Errors
    /// [`StoreError::Busy`], [`StoreError::Unavailable`], or [`StoreError::Other`] if migrations are missing.
    async fn ready(&self) -> StoreResult<()>;
}

/// A write transaction.
#[port]
pub trait Tx: Repositories {
    /// Commits the transaction. After an error the outcome is unknown; read again by a natural key.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn commit(self: Box<Self>) -> StoreResult<()>;
}

macro_rules! repositories {
    ($($(#[$about:meta])* $method:ident: $port:ident,)*) => {
        /// All repositories, over one connection. Methods take `&mut self` so that one operation runs at a time.
        pub trait Repositories: Send {
            $($(#[$about])* fn $method(&mut self) -> &mut dyn $port;)*
        }

        /// A connection that implements every repository.
        impl<T: $($port +)* Send> Repositories for T {
            $(fn $method(&mut self) -> &mut dyn $port {
                self
            })*
        }
    };
}

repositories! {
    /// Apps.
    apps: Apps,
    /// API keys.
    api_keys: ApiKeys,
    /// Keys of the management API.
    management_keys: ManagementKeys,
    /// Operators.
    operators: Operators,
    /// Links that let operators in.
    operator_links: OperatorLinks,
    /// Registered redirect URLs.
    redirect_urls: RedirectUrls,
    /// App keys, wrapped.
    app_keys: AppKeys,
    /// Persistent secrets, for re-encryption under another key.
    persistent_secrets: PersistentSecrets,
    /// Signing keys of session JWTs.
    signing_keys: SigningKeys,
    /// Users.
    users: Users,
    /// E-mail addresses and phone numbers.
    identifiers: Identifiers,
    /// Encrypted passwords.
    passwords: Passwords,
    /// The users created from each line of an import.
    imported_users: ImportedUsers,
    /// Wallets and their keys.
    wallets: Wallets,
    /// The audit log of wallets.
    audit_log: AuditLog,
    /// The audit log of Apps, keys and settings.
    control_log: ControlLog,
    /// The chains of both audit logs.
    audit_chains: AuditChains,
    /// Checkpoints: signed statements of where the chains of both logs end.
    checkpoints: Checkpoints,
    /// One-time passcodes.
    codes: Codes,
    /// Magic links.
    links: Links,
    /// Consecutive failures of an identifier.
    lockouts: Lockouts,
    /// Counters of sends and failures.
    quotas: Quotas,
    /// Authenticator apps.
    totps: Totps,
    /// Passkeys, the challenges of their ceremonies, and user handles.
    passkeys: Passkeys,
    /// Challenges for the holders of wallets.
    wallet_challenges: WalletChallenges,
    /// Idempotency keys and their stored responses.
    idempotency: Idempotency,
    /// Key pairs that encrypt private keys for import.
    wallet_imports: WalletImports,
    /// Apps' connections to identity providers.
    provider_connections: ProviderConnections,
    /// Pending sign-ins with identity providers.
    oauth_flows: OauthFlows,
    /// Users' links to identities at providers.
    provider_links: ProviderLinks,
    /// Sessions.
    sessions: Sessions,
    /// Messages waiting for delivery.
    outbox: Outbox,
    /// Captured messages of test worlds.
    captured: Captured,
    /// Leases for work that only one process does at a time.
    leases: Leases,
    /// Recovery of a database that was set back.
    recovery: Recovery,
    /// Events.
    events: Events,
    /// Webhook endpoints.
    webhook_endpoints: WebhookEndpoints,
    /// Webhook deliveries.
    deliveries: Deliveries,
    /// Webhook replays.
    webhook_replays: WebhookReplays,
    /// Counts of what happened.
    activity: Activity,
}
