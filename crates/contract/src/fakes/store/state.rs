//! The tables.

use std::collections::{BTreeMap, HashMap};

use vestry_domain::activity::{Measure, Period};
use vestry_domain::api_key::{ApiKey, KeyUse};
use vestry_domain::app::App;
use vestry_domain::audit::control::{ControlEntry, ControlHead};
use vestry_domain::audit::{AuditEntry, AuditHead, AuditMarker};
use vestry_domain::code::Code;
use vestry_domain::envelope::{AppKey, Sealed, WalletKey};
use vestry_domain::event::{Event, EventHead, NewEvent};
use vestry_domain::idempotency::Claim;
use vestry_domain::ids::UserId;
use vestry_domain::key_transfer::ImportKey;
use vestry_domain::link::Link;
use vestry_domain::management_key::ManagementKey;
use vestry_domain::message::{CapturedMessage, JobFault, OutboxJob};
use vestry_domain::operator::{Operator, OperatorLink};
use vestry_domain::passkey::{Passkey, PasskeyChallenge, UserHandle};
use vestry_domain::password::StoredPassword;
use vestry_domain::provider::{Flow, Pending, ProviderLink};
use vestry_domain::session::Session;
use vestry_domain::signing_key::SigningKey;
use vestry_domain::token::TokenHash;
use vestry_domain::totp::{StoredRecoveryCode, Totp};
use vestry_domain::user::User;
use vestry_domain::wallet::StoredWallet;
use vestry_domain::wallet_sign_in::WalletChallenge;
use vestry_domain::webhook::{Attempt, Delivery, Endpoint, Replay, SealedSecret};
use vestry_domain::{Timestamp, World};
use vestry_ports::store::{
    Identifier, Lane, RedirectUrl, SWEEP_STEP, SinkProgress, StoredCheckpoint, StoredConnection,
};

/// All rows, in insertion order.
#[derive(Clone, Default)]
pub(super) struct State {
    pub(super) apps: Vec<App>,
    pub(super) api_keys: Vec<ApiKey>,
    pub(super) key_uses: Vec<KeyUse>,
    pub(super) management_keys: Vec<ManagementKey>,
    pub(super) operators: Vec<Operator>,
    pub(super) operator_links: Vec<OperatorLink>,
    pub(super) redirect_urls: Vec<RedirectUrl>,
    pub(super) app_keys: Vec<AppKey>,
    pub(super) signing_keys: Vec<SigningKey>,
    pub(super) users: Vec<User>,
    pub(super) identifiers: Vec<(World, Identifier)>,
    pub(super) wallets: Vec<(StoredWallet, Option<WalletKey>)>,
    pub(super) audit_entries: Vec<AuditEntry>,
    pub(super) audit_heads: Vec<AuditHead>,
    pub(super) audit_markers: Vec<AuditMarker>,
    pub(super) control_entries: Vec<ControlEntry>,
    pub(super) control_heads: Vec<ControlHead>,
    pub(super) checkpoints: BTreeMap<(World, i64), StoredCheckpoint>,
    pub(super) checkpoint_sinks: BTreeMap<(World, String), SinkProgress>,
    pub(super) passwords: Vec<StoredPassword>,
    pub(super) imported_users: Vec<(World, String, UserId)>,
    pub(super) codes: Vec<CodeRow>,
    pub(super) links: Vec<Link>,
    /// Failed attempts by token: magic links, and sign-ins pending `oauth/verify`.
    pub(super) tries: HashMap<(World, TokenHash), i64>,
    /// The holder and the expiry of each lease, by task.
    pub(super) leases: HashMap<String, (String, Timestamp)>,
    pub(super) lockouts: HashMap<(World, String), Lockout>,
    pub(super) quotas: HashMap<(World, &'static str, String), Quota>,
    pub(super) totps: Vec<TotpRow>,
    pub(super) passkeys: Vec<Passkey>,
    pub(super) passkey_handles: HashMap<(World, UserId), UserHandle>,
    pub(super) passkey_challenges: Vec<PasskeyChallenge>,
    /// Each challenge with whether it was used.
    pub(super) wallet_challenges: Vec<(WalletChallenge, bool)>,
    pub(super) idempotency: Vec<KeyRow>,
    pub(super) wallet_imports: Vec<ImportKey>,
    pub(super) provider_connections: Vec<StoredConnection>,
    pub(super) oauth_flows: Vec<Flow>,
    pub(super) oauth_tokens: Vec<Pending>,
    pub(super) provider_links: Vec<ProviderLink>,
    pub(super) sessions: Vec<(TokenHash, Session)>,
    pub(super) jobs: Vec<OutboxRow>,
    pub(super) captured: Vec<CapturedMessage>,
    /// Events without a position yet, in the order they were appended.
    pub(super) unsequenced: Vec<NewEvent>,
    /// Events in the order of their positions.
    pub(super) events: Vec<Event>,
    pub(super) event_heads: HashMap<World, EventHead>,
    pub(super) webhook_endpoints: Vec<EndpointRow>,
    pub(super) webhook_secrets: Vec<SealedSecret>,
    pub(super) webhook_deliveries: Vec<DeliveryRow>,
    pub(super) webhook_attempts: Vec<Attempt>,
    pub(super) webhook_replays: Vec<Replay>,
    pub(super) activity: BTreeMap<(World, Period, Timestamp, Measure), u64>,
}

#[derive(Clone)]
pub(super) struct CodeRow {
    pub(super) code: Code,
    pub(super) tries: i64,
    pub(super) is_used: bool,
}

#[derive(Clone)]
pub(super) struct KeyRow {
    pub(super) claim: Claim,
    pub(super) answer: Option<Sealed>,
    pub(super) about: Option<UserId>,
    pub(super) erased: bool,
}

#[derive(Clone)]
pub(super) struct TotpRow {
    pub(super) totp: Totp,
    pub(super) last_step: i64,
    pub(super) recovery_codes: Vec<StoredRecoveryCode>,
}

#[derive(Clone, Default)]
pub(super) struct Lockout {
    pub(super) failures: i64,
    pub(super) failed_at: Option<Timestamp>,
    pub(super) blocked_until: Option<Timestamp>,
}

#[derive(Clone)]
pub(super) struct Quota {
    pub(super) opened: Timestamp,
    pub(super) closes: Timestamp,
    pub(super) used: u32,
}

#[derive(Clone)]
pub(super) struct OutboxRow {
    pub(super) job: OutboxJob,
    pub(super) lease: Option<Lease>,
    pub(super) ended_at: Option<Timestamp>,
    pub(super) is_dead: bool,
    pub(super) fault: Option<JobFault>,
}

#[derive(Clone)]
pub(super) struct Lease {
    pub(super) owner: String,
    pub(super) until: Timestamp,
}

#[derive(Clone)]
pub(super) struct EndpointRow {
    pub(super) endpoint: Endpoint,
    pub(super) failed_attempts: i64,
    pub(super) failed_deliveries: i64,
    pub(super) failures_since: Option<Timestamp>,
    pub(super) failing_emitted: bool,
}

#[derive(Clone)]
pub(super) struct DeliveryRow {
    pub(super) delivery: Delivery,
    pub(super) lane: Lane,
    pub(super) ended_at: Option<Timestamp>,
}

impl State {
    pub(super) fn user(&self, world: World, id: UserId) -> Option<&User> {
        let mut users = self.users.iter();
        users.find(|user| user.world == world && user.id == id)
    }

    /// Counts an attempt and returns the total.
    pub(super) fn count_try(&mut self, world: World, token: TokenHash) -> i64 {
        let tries = self.tries.entry((world, token)).or_default();
        *tries += 1;
        *tries
    }

    /// Returns an error unless the world has this user.
    pub(super) fn needs_user(&self, world: World, id: UserId) -> Result<(), &'static str> {
        if self
            .users
            .iter()
            .any(|user| user.world == world && user.id == id)
        {
            return Ok(());
        }
        Err("no such user")
    }
}

/// Adds a row unless another row conflicts on a unique key.
pub(super) fn add<T>(
    rows: &mut Vec<T>,
    row: T,
    is_same: impl Fn(&T, &T) -> bool,
) -> Result<(), &'static str> {
    if rows.iter().any(|other| is_same(other, &row)) {
        return Err("a row with this key already exists");
    }
    rows.push(row);
    Ok(())
}

/// Removes the first matching rows, up to the limit of a sweep, and returns how many.
pub(super) fn remove_few<T>(rows: &mut Vec<T>, fits: impl Fn(&T) -> bool) -> u64 {
    count_few(rows.extract_if(.., |row| fits(row)))
}

/// Consumes the iterator up to the limit of a sweep, and returns how many items there were.
pub(super) fn count_few(taken: impl Iterator) -> u64 {
    let few = taken.take(at_most(SWEEP_STEP)).count();
    u64::try_from(few).unwrap_or(u64::MAX)
}

pub(super) fn remove<T>(rows: &mut Vec<T>, fits: impl Fn(&T) -> bool) -> u64 {
    let before = rows.len();
    rows.retain(|row| !fits(row));
    u64::try_from(before - rows.len()).unwrap_or(u64::MAX)
}

/// The limit as a count; zero if it is negative.
pub(super) fn at_most(limit: i64) -> usize {
    usize::try_from(limit.max(0)).unwrap_or(usize::MAX)
}
