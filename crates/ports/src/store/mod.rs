//! Storage: units of work and the repositories inside them.
//!
//! [`Store::begin`] opens a writing transaction; dropping it undoes everything, [`Tx::commit`] keeps it.
//! [`Store::read`] is for reading: no look-up sees anything of a transaction that has not committed (two look-ups may see two
//! moments), and a method that writes answers an error and does nothing.
//! After any error a [`Tx`] is dead and must be dropped. A method of a [`Tx`] that answers nothing may leave its statement for the next
//! call, to be sent together with that: then the next call, or the commit, answers the error.

mod apps;
mod audit;
mod auth;
mod checkpoints;
mod control;
mod events;
mod idempotency;
mod lasting_secrets;
mod leases;
mod links;
mod outbox;
mod passkeys;
mod passwords;
mod providers;
mod totps;
mod users;
mod wallet_challenges;
mod wallet_imports;
mod wallets;
mod webhooks;

use vestry_domain::audit::{AuditEntry, AuditStep};
use vestry_domain::ids::{AppId, AuditChainId};
use vestry_domain::{Environment, World};
use vestry_port_macro::port;

pub use apps::{ApiKeys, AppKeys, Apps, RedirectUrl, RedirectUrls, SigningKeys, Standing};
pub use audit::AuditLog;
pub use auth::{
    Attempt, Budgets, Codes, EndedSome, Guards, NewToken, Noted, SeenSession, SessionPage, Sessions,
};
pub use checkpoints::{Checkpoints, KeptCheckpoint, SinkProgress};
pub use control::ControlLog;
pub use events::{Bell, EventFilter, Events, Stretch};
pub use idempotency::Idempotency;
pub use lasting_secrets::{LastingKind, LastingSecret, LastingSecrets};
pub use leases::{LONGEST_LEASE, Leases};
pub use links::Links;
pub use outbox::{Captured, CapturedFilter, Outbox};
pub use passkeys::{PasskeyUse, Passkeys};
pub use passwords::{ImportedUsers, PasswordHolder, Passwords};
pub use providers::{OauthFlows, ProviderConnections, ProviderLinks, StoredConnection};
pub use totps::Totps;
pub use users::{Attached, Holdings, Moved, UserPage, Users, WholeUser};
pub use wallet_challenges::WalletChallenges;
pub use wallet_imports::WalletImports;
pub use wallets::{Created, WalletPage, WalletWithKey, Wallets};
pub use webhooks::{
    Changed, Deliveries, DeliveryFilter, Failures, Lane, Placed, Queue, WebhookEndpoints,
    WebhookReplays,
};

/// Rows that a statement of a sweep deletes at most: one that deletes a million holds up the disk, and whoever waits for its locks.
/// Whoever sweeps comes again while a sweep deleted as many.
pub const SWEEP_STEP: i64 = 1_000;

/// The worlds whose rows a statement of a sweep deletes. All of them have the same time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SweptWorlds {
    /// Their environment.
    pub environment: Environment,
    /// Their Apps.
    pub apps: SweptApps,
}

/// The Apps whose rows a statement of a sweep deletes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SweptApps {
    /// Every App except these.
    AllBut(Vec<AppId>),
    /// This App, whose time is behind that of the rest: rows of other Apps that are as old are gone.
    Behind(AppId),
    /// This App, whose time is ahead of that of the rest: most rows of its age belong to other Apps, and are in use.
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
    /// Whether the rows of this world are deleted.
    pub fn include(&self, world: &World) -> bool {
        self.environment == world.environment
            && match &self.apps {
                SweptApps::AllBut(apps) => !apps.contains(&world.app_id),
                SweptApps::Behind(app) | SweptApps::Ahead(app) => *app == world.app_id,
            }
    }
}

/// Why the database did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// No connection within the time allowed, or too many are waiting (503).
    #[error("the database is busy")]
    Busy,
    /// What was asked for took longer than it may, and was given up (503).
    #[error("the database took too long")]
    TooLong,
    /// The database cannot be reached (503).
    #[error("the database is not available")]
    Unavailable(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The transaction lost against another one and may be run again from its start (40001, 40P01), or what it writes belongs to
    /// a row that is gone by now (23503): the next run sees that.
    #[error("the transaction must be run again")]
    Retry,
    /// A stored value cannot be read as what it must be.
    #[error("stored data is corrupt: {table}.{column}")]
    Corrupt {
        /// Table of the value.
        table: &'static str,
        /// Column of the value.
        column: &'static str,
    },
    /// Anything else; a bug, or a schema that does not fit.
    #[error("the database refused a statement")]
    Other(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// Result of a port method.
pub type StoreResult<T> = Result<T, StoreError>;

/// The database.
#[port]
pub trait Store: Send + Sync {
    /// Opens a writing transaction.
    ///
    /// # Errors
    /// [`StoreError::Busy`] or [`StoreError::Unavailable`].
    async fn begin(&self) -> StoreResult<Box<dyn Tx>>;

    /// Opens a view for reading.
    ///
    /// # Errors
    /// As for [`Store::begin`].
    async fn read(&self) -> StoreResult<Box<dyn Repositories>>;

    /// [`AuditLog::append`] in a transaction of its own, which is committed when this answers.
    ///
    /// # Errors
    /// [`StoreError`]; as after [`Tx::commit`], it is then open whether it happened.
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

    /// Has a bell ring from now on after each commit of events by this process. The first call counts.
    fn when_told(&self, bell: Bell);

    /// Whether Apps lie on several servers, each of which may be away by itself: what is read or written for several at once is then
    /// of one App.
    fn is_spread(&self) -> bool {
        false
    }

    /// Whether the database answers and every migration of this build is applied.
    ///
    /// # Errors
    /// [`StoreError::Busy`], [`StoreError::Unavailable`], or [`StoreError::Other`] when migrations are missing.
    async fn ready(&self) -> StoreResult<()>;
}

/// A writing transaction.
#[port]
pub trait Tx: Repositories {
    /// Makes everything durable. An error leaves open whether it happened; read again by a natural key.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn commit(self: Box<Self>) -> StoreResult<()>;
}

/// All repositories, over one connection. `&mut self` so that one operation runs at a time.
pub trait Repositories: Send {
    /// Apps.
    fn apps(&mut self) -> &mut dyn Apps;
    /// API keys.
    fn api_keys(&mut self) -> &mut dyn ApiKeys;
    /// Registered redirect URLs.
    fn redirect_urls(&mut self) -> &mut dyn RedirectUrls;
    /// App keys, wrapped.
    fn app_keys(&mut self) -> &mut dyn AppKeys;
    /// The secrets that live as long as their rows, for whoever brings them under another key.
    fn lasting_secrets(&mut self) -> &mut dyn LastingSecrets;
    /// Signing keys of sessions.
    fn signing_keys(&mut self) -> &mut dyn SigningKeys;
    /// Users, e-mails, phone numbers.
    fn users(&mut self) -> &mut dyn Users;
    /// Passwords, sealed.
    fn passwords(&mut self) -> &mut dyn Passwords;
    /// Which users came from which lines of an import.
    fn imported_users(&mut self) -> &mut dyn ImportedUsers;
    /// Wallets and their keys.
    fn wallets(&mut self) -> &mut dyn Wallets;
    /// What was done with wallets.
    fn audit_log(&mut self) -> &mut dyn AuditLog;
    /// What was done to Apps, keys and settings.
    fn control_log(&mut self) -> &mut dyn ControlLog;
    /// Signed statements of where the chains of both end.
    fn checkpoints(&mut self) -> &mut dyn Checkpoints;
    /// One-time passcodes.
    fn codes(&mut self) -> &mut dyn Codes;
    /// Magic links.
    fn links(&mut self) -> &mut dyn Links;
    /// Failures in a row of an identifier.
    fn guards(&mut self) -> &mut dyn Guards;
    /// Counters of sends.
    fn budgets(&mut self) -> &mut dyn Budgets;
    /// Authenticator apps.
    fn totps(&mut self) -> &mut dyn Totps;
    /// Passkeys, the challenges of their ceremonies, and user handles.
    fn passkeys(&mut self) -> &mut dyn Passkeys;
    /// Challenges for the holders of wallets.
    fn wallet_challenges(&mut self) -> &mut dyn WalletChallenges;
    /// Idempotency keys and the answers kept under them.
    fn idempotency(&mut self) -> &mut dyn Idempotency;
    /// Key pairs to which private keys can be sealed for import.
    fn wallet_imports(&mut self) -> &mut dyn WalletImports;
    /// What Apps have set for identity providers.
    fn provider_connections(&mut self) -> &mut dyn ProviderConnections;
    /// Sign-ins at identity providers that are on their way.
    fn oauth_flows(&mut self) -> &mut dyn OauthFlows;
    /// Who is linked with an identity provider.
    fn provider_links(&mut self) -> &mut dyn ProviderLinks;
    /// Sessions.
    fn sessions(&mut self) -> &mut dyn Sessions;
    /// Messages that wait for delivery.
    fn outbox(&mut self) -> &mut dyn Outbox;
    /// Captured messages of test worlds.
    fn captured(&mut self) -> &mut dyn Captured;
    /// Work that one process of all does.
    fn leases(&mut self) -> &mut dyn Leases;
    /// What happened, for those outside.
    fn events(&mut self) -> &mut dyn Events;
    /// Receivers of events.
    fn webhook_endpoints(&mut self) -> &mut dyn WebhookEndpoints;
    /// Events on their way to them.
    fn deliveries(&mut self) -> &mut dyn Deliveries;
    /// Sending them again.
    fn webhook_replays(&mut self) -> &mut dyn WebhookReplays;
}
