//! A unit of work: one pooled connection, what may be done on it, and how far it is.

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use deadpool::managed::Object;
use diesel::QueryResult;
use diesel_async::SimpleAsyncConnection;
use tokio::runtime::Handle;
use vestry_domain::World;
use vestry_domain::event::NewEvent;
use vestry_ports::port;
use vestry_ports::store::{
    ApiKeys, AppKeys, Apps, AuditLog, Bell, Budgets, Captured, Checkpoints, Codes, ControlLog,
    Deliveries, Events, Guards, Idempotency, ImportedUsers, LastingSecrets, Leases, Links,
    OauthFlows, Outbox, Passkeys, Passwords, ProviderConnections, ProviderLinks, RedirectUrls,
    Repositories, Sessions, SigningKeys, StoreResult, Totps, Tx, Users, WalletChallenges,
    WalletImports, Wallets, WebhookEndpoints, WebhookReplays,
};

use super::dialect::{self, Conn, Manager};
use vestry_store_rows::failure::{Misuse, unanswered};
use vestry_store_rows::rows::events::InboxRow;

/// A connection on loan.
pub(crate) type Pooled = Object<Manager>;

/// What may be done on the connection.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    /// Only looking. Statements commit by themselves.
    View,
    /// One call that writes and commits by itself.
    SelfCommitting,
    /// A transaction is open.
    Transaction,
}

/// How far the work is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Progress {
    /// Between two statements.
    Ready,
    /// A statement was begun and its end was not seen. When the future of a call is dropped, it stays like this.
    Running,
    /// A statement failed; nothing more may be done.
    Failed,
    /// Committed.
    Finished,
}

/// What is to be known of the database.
#[derive(Clone)]
pub(crate) struct Site {
    /// Where what is left of a connection is cleaned up.
    pub(crate) runtime: Handle,
    /// Opens a writing transaction.
    pub(crate) begin: &'static str,
    /// See [`vestry_ports::store::Store::is_spread`].
    pub(crate) is_spread: bool,
    /// Rings after commits of events; see [`vestry_ports::store::Store::when_told`].
    pub(crate) bell: Arc<OnceLock<Bell>>,
}

/// One connection as a set of repositories.
pub(crate) struct Unit {
    /// Empty only while it is being dropped.
    connection: Option<Pooled>,
    access: Access,
    progress: Progress,
    site: Site,
    /// Events that are written at the commit.
    told: Vec<NewEvent>,
}

impl Unit {
    /// For reading, statement by statement.
    pub(crate) const fn view(connection: Pooled, site: Site) -> Self {
        Self {
            connection: Some(connection),
            access: Access::View,
            progress: Progress::Ready,
            site,
            told: Vec::new(),
        }
    }

    /// For one call that is a transaction of its own.
    pub(crate) const fn self_committing(connection: Pooled, site: Site) -> Self {
        Self {
            connection: Some(connection),
            access: Access::SelfCommitting,
            progress: Progress::Ready,
            site,
            told: Vec::new(),
        }
    }

    /// Opens a writing transaction.
    ///
    /// # Errors
    /// The database refused; the connection is closed.
    pub(crate) async fn begin(connection: Pooled, site: Site) -> StoreResult<Self> {
        let begin = site.begin;
        let mut unit = Self {
            connection: Some(connection),
            access: Access::Transaction,
            progress: Progress::Ready,
            site,
            told: Vec::new(),
        };
        let begun = dialect::begin(unit.reading()?, begin).await;
        unit.done(begun)?;
        Ok(unit)
    }

    /// The connection, for a statement that only reads. What comes of it must go through [`Unit::done`].
    pub(super) fn reading(&mut self) -> StoreResult<&mut Conn> {
        if self.progress != Progress::Ready {
            return Err(Misuse::Dead.into());
        }
        let connection = self.connection.as_deref_mut();
        let connection = connection.ok_or(Misuse::Dead)?;
        self.progress = Progress::Running;
        Ok(connection)
    }

    /// The connection, for a statement that writes. What comes of it must go through [`Unit::done`].
    pub(super) fn writing(&mut self) -> StoreResult<&mut Conn> {
        if self.access == Access::View {
            self.progress = Progress::Failed;
            return Err(Misuse::ReadOnly.into());
        }
        self.reading()
    }

    /// Leaves events for the commit.
    pub(super) fn tell(&mut self, events: &[NewEvent]) -> StoreResult<()> {
        self.writing()?;
        self.progress = Progress::Ready;
        self.told.extend_from_slice(events);
        Ok(())
    }

    /// Rings for the events that were committed.
    fn ring(&self) {
        let Some(bell) = self.site.bell.get() else {
            return;
        };
        let worlds: BTreeSet<World> = self.told.iter().map(|event| event.world).collect();
        worlds.into_iter().for_each(bell);
    }

    /// Whether nothing of what is read here is part of a transaction of somebody's.
    pub(super) const fn is_view(&self) -> bool {
        matches!(self.access, Access::View)
    }

    /// Whether Apps lie on several servers.
    pub(super) const fn is_spread(&self) -> bool {
        self.site.is_spread
    }

    /// Whether another statement may follow.
    pub(super) const fn is_ready(&self) -> bool {
        matches!(self.progress, Progress::Ready)
    }

    /// A statement that answers nothing.
    pub(super) async fn say(&mut self, statement: &str) -> StoreResult<()> {
        let said = self.reading()?.batch_execute(statement).await;
        self.done(said)
    }

    /// The outcome of the statement that was begun.
    pub(super) fn done<T>(&mut self, outcome: QueryResult<T>) -> StoreResult<T> {
        match outcome {
            Ok(value) => {
                self.progress = Progress::Ready;
                Ok(value)
            }
            Err(error) => {
                self.progress = Progress::Failed;
                Err(dialect::classify(error, self.connection.as_deref_mut()))
            }
        }
    }
}

#[port]
impl Tx for Unit {
    async fn commit(mut self: Box<Self>) -> StoreResult<()> {
        let rows = (0..).zip(&self.told);
        let rows = rows
            .map(|(ordinal, event)| InboxRow::new(event, ordinal))
            .collect();
        // Postgres answers COMMIT of a failed transaction with a silent ROLLBACK; `writing` does not let it come to that.
        let committed = dialect::tell_and_commit(self.writing()?, rows).await;
        // Nobody knows whether it happened, and the connection goes with this unit.
        let committed = committed.ok_or_else(unanswered)?;
        self.done(committed)?;
        self.progress = Progress::Finished;
        self.ring();
        Ok(())
    }
}

impl Drop for Unit {
    fn drop(&mut self) {
        let Some(connection) = self.connection.take() else {
            return;
        };
        match (self.access, self.progress) {
            // Back into the pool.
            (Access::View | Access::SelfCommitting, Progress::Ready) | (_, Progress::Finished) => {
                drop(connection)
            }
            (Access::Transaction, Progress::Ready | Progress::Failed) => {
                let doomed = Doomed(Some(connection));
                self.site.runtime.spawn(doomed.roll_back());
            }
            // Nobody knows what the connection is doing.
            (_, Progress::Running | Progress::Failed) => drop(Doomed(Some(connection))),
        }
    }
}

/// A connection that is closed, outside the pool, unless it was shown to be clean.
struct Doomed(Option<Pooled>);

impl Doomed {
    /// Undoes what was not committed. A new connection would cost the server more than this one statement.
    async fn roll_back(mut self) {
        let Some(connection) = self.0.as_deref_mut() else {
            return;
        };
        let undone = tokio::time::timeout(
            dialect::ROLLBACK_TIMEOUT,
            connection.batch_execute("ROLLBACK"),
        );
        if matches!(undone.await, Ok(Ok(()))) {
            drop(self.0.take());
        }
    }
}

impl Drop for Doomed {
    fn drop(&mut self) {
        if let Some(connection) = self.0.take() {
            dialect::close(Object::take(connection));
        }
    }
}

impl Repositories for Unit {
    fn apps(&mut self) -> &mut dyn Apps {
        self
    }

    fn api_keys(&mut self) -> &mut dyn ApiKeys {
        self
    }

    fn redirect_urls(&mut self) -> &mut dyn RedirectUrls {
        self
    }

    fn app_keys(&mut self) -> &mut dyn AppKeys {
        self
    }

    fn lasting_secrets(&mut self) -> &mut dyn LastingSecrets {
        self
    }

    fn signing_keys(&mut self) -> &mut dyn SigningKeys {
        self
    }

    fn users(&mut self) -> &mut dyn Users {
        self
    }

    fn wallets(&mut self) -> &mut dyn Wallets {
        self
    }

    fn audit_log(&mut self) -> &mut dyn AuditLog {
        self
    }

    fn checkpoints(&mut self) -> &mut dyn Checkpoints {
        self
    }

    fn control_log(&mut self) -> &mut dyn ControlLog {
        self
    }

    fn passwords(&mut self) -> &mut dyn Passwords {
        self
    }

    fn imported_users(&mut self) -> &mut dyn ImportedUsers {
        self
    }

    fn codes(&mut self) -> &mut dyn Codes {
        self
    }

    fn links(&mut self) -> &mut dyn Links {
        self
    }

    fn guards(&mut self) -> &mut dyn Guards {
        self
    }

    fn budgets(&mut self) -> &mut dyn Budgets {
        self
    }

    fn totps(&mut self) -> &mut dyn Totps {
        self
    }

    fn passkeys(&mut self) -> &mut dyn Passkeys {
        self
    }

    fn wallet_challenges(&mut self) -> &mut dyn WalletChallenges {
        self
    }

    fn idempotency(&mut self) -> &mut dyn Idempotency {
        self
    }

    fn wallet_imports(&mut self) -> &mut dyn WalletImports {
        self
    }

    fn leases(&mut self) -> &mut dyn Leases {
        self
    }

    fn provider_connections(&mut self) -> &mut dyn ProviderConnections {
        self
    }

    fn oauth_flows(&mut self) -> &mut dyn OauthFlows {
        self
    }

    fn provider_links(&mut self) -> &mut dyn ProviderLinks {
        self
    }

    fn sessions(&mut self) -> &mut dyn Sessions {
        self
    }

    fn outbox(&mut self) -> &mut dyn Outbox {
        self
    }

    fn captured(&mut self) -> &mut dyn Captured {
        self
    }

    fn events(&mut self) -> &mut dyn Events {
        self
    }

    fn webhook_endpoints(&mut self) -> &mut dyn WebhookEndpoints {
        self
    }

    fn deliveries(&mut self) -> &mut dyn Deliveries {
        self
    }

    fn webhook_replays(&mut self) -> &mut dyn WebhookReplays {
        self
    }
}
