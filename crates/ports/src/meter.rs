//! Measuring this process, for its metrics.

use std::time::Duration;

use vestry_domain::envelope::KeyPurpose;
use vestry_domain::message::{Channel, JobEnd};
use vestry_domain::metric::{
    AttemptMethod, AttemptResult, AuditLogName, Job, PoolName, PoolState, SignResult, StatusClass,
    TamperKind, TransactionKind, TransactionOutcome, WebhookResult, WorkClass,
};
use vestry_domain::wallet::WalletType;

/// Something that is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counted {
    /// A response with this error code.
    Refusal(&'static str),
    /// An attempt to sign in.
    SignIn(AttemptMethod, AttemptResult),
    /// A message left the outbox.
    MessageEnded(Channel, JobEnd),
    /// An attempt to send a webhook.
    WebhookAttempt(WebhookResult),
    /// A decision of the rate limit.
    LimiterDecision {
        /// The class of the request.
        class: WorkClass,
        /// Whether it was admitted.
        admitted: bool,
    },
    /// A password was not hashed, because too many were waiting.
    PasswordRefused,
    /// A request to sign; `None` if the wallet could not be used, or not even be read.
    Signature(Option<WalletType>, SignResult),
    /// An audit entry could not be written.
    AuditFailure(AuditLogName),
    /// Stored data was altered or set back.
    TamperAlarm(TamperKind),
}

/// Something whose duration is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timed {
    /// A database transaction, from taking its connection.
    Transaction(TransactionKind, TransactionOutcome),
    /// Waiting for a database connection.
    PoolWait(PoolName),
    /// Waiting for a thread that hashes passwords.
    PasswordWait,
    /// Signing.
    Sign(WalletType),
    /// A call to a key provider.
    Vault(KeyPurpose),
}

/// A value that goes up and down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gauge {
    /// Connections of a pool.
    PoolConnections(PoolName, PoolState),
    /// Messages that are due, 10,000 at most.
    OutboxWaiting(Channel),
    /// Age of the oldest due message in seconds.
    OutboxOldest(Channel),
    /// Whether the sending of messages is paused after failures, 0 or 1.
    OutboxBreakerOpen(Channel),
    /// Age of the oldest due webhook in seconds.
    WebhookLag,
    /// Age of the oldest event without a position in seconds.
    EventsUnsequenced,
    /// Whether requests are counted by this process alone, 0 or 1.
    LimiterAlone,
    /// Seconds since a sink had every checkpoint.
    CheckpointAge,
    /// Whether a root key can be used, 0 or 1.
    VaultUp(KeyPurpose),
    /// When a job last succeeded, in Unix seconds.
    JobSucceeded(Job),
    /// Whether the process accepts requests, 0 or 1.
    Ready,
    /// When the certificate expires, in Unix seconds.
    CertificateExpiry,
    /// When the last recorded backup was completed, in Unix seconds.
    BackupSucceeded,
    /// Changes that wait for the journal.
    JournalWaiting,
}

/// Measures this process. It never fails and never waits.
pub trait Meter: Send + Sync {
    /// Counts something.
    fn count(&self, what: Counted);

    /// Records a duration.
    fn time(&self, what: Timed, took: Duration);

    /// Sets a value.
    fn set(&self, what: Gauge, value: f64);

    /// Records a request. `route` is the pattern of its path, never the path.
    fn request(&self, route: &str, class: WorkClass, status: StatusClass, took: Duration);
}

/// Measures nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoMeter;

impl Meter for NoMeter {
    fn count(&self, _what: Counted) {}

    fn time(&self, _what: Timed, _took: Duration) {}

    fn set(&self, _what: Gauge, _value: f64) {}

    fn request(&self, _route: &str, _class: WorkClass, _status: StatusClass, _took: Duration) {}
}
