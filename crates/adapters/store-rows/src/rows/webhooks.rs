//! Rows of webhook endpoints and their secrets, deliveries and attempts.

use diesel::prelude::{AsChangeset, Insertable, Queryable, Selectable};
use vestry_domain::Timestamp;
use vestry_domain::envelope::Sealed;
use vestry_domain::token::TokenHash;
use vestry_domain::webhook::{
    Attempt, Delivery, DeliveryState, Endpoint, EndpointUrl, EventTypes, Missed, Replay,
    SealedSecret,
};
use vestry_ports::store::{Failures, Lane, StoreError, StoreResult};

use super::{Table, to_json};
use crate::schema::{
    webhook_attempts, webhook_deliveries, webhook_endpoints, webhook_replays, webhook_secrets,
};

const ENDPOINTS: Table = Table("webhook_endpoints");
const SECRETS: Table = Table("webhook_secrets");
const DELIVERIES: Table = Table("webhook_deliveries");
const ATTEMPTS: Table = Table("webhook_attempts");
const REPLAYS: Table = Table("webhook_replays");

/// An endpoint without its health columns.
#[derive(Queryable, Selectable, Insertable)]
#[diesel(table_name = webhook_endpoints, treat_none_as_default_value = false)]
pub struct EndpointRow {
    app_id: String,
    environment: String,
    id: String,
    url: String,
    name: Option<String>,
    types: String,
    fingerprint: String,
    disabled_reason: Option<String>,
    // Not set for a new endpoint; written together with the failure counts.
    #[diesel(skip_insertion)]
    failing_since: Option<i64>,
    last_success_at: Option<i64>,
    created_at: i64,
    updated_at: i64,
}

/// The columns of an endpoint that its owner can change.
#[derive(AsChangeset)]
#[diesel(table_name = webhook_endpoints, treat_none_as_null = true)]
pub struct EndpointChange {
    url: String,
    name: Option<String>,
    types: String,
    fingerprint: String,
    updated_at: i64,
}

/// The health of an endpoint since its last successful delivery.
#[derive(Queryable, Selectable)]
#[diesel(table_name = webhook_endpoints)]
pub struct FailuresRow {
    failed_attempts: i64,
    failed_deliveries: i64,
    failures_since: Option<i64>,
    failing_since: Option<i64>,
}

/// Returns the hash of URL and types, which identifies an endpoint within a world.
fn fingerprint(endpoint: &Endpoint, types: &str) -> String {
    // URLs never contain a line break.
    let both = format!("{}\n{types}", endpoint.url.as_str());
    hex::encode(TokenHash::of(&both).0)
}

impl TryFrom<&Endpoint> for EndpointRow {
    type Error = StoreError;

    fn try_from(endpoint: &Endpoint) -> StoreResult<Self> {
        let types = to_json(&endpoint.types.names())?;
        Ok(Self {
            app_id: endpoint.world.app_id.to_string(),
            environment: endpoint.world.environment.to_string(),
            id: endpoint.id.to_string(),
            url: endpoint.url.as_str().to_owned(),
            name: endpoint.name.clone(),
            fingerprint: fingerprint(endpoint, &types),
            types,
            disabled_reason: endpoint.disabled.map(|reason| reason.as_str().to_owned()),
            failing_since: endpoint.failing_since.map(Timestamp::unix),
            last_success_at: endpoint.last_success_at.map(Timestamp::unix),
            created_at: endpoint.created_at.unix(),
            updated_at: endpoint.updated_at.unix(),
        })
    }
}

impl EndpointRow {
    /// Returns the hash that identifies the endpoint within its world.
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }
}

impl From<EndpointRow> for EndpointChange {
    fn from(row: EndpointRow) -> Self {
        Self {
            url: row.url,
            name: row.name,
            types: row.types,
            fingerprint: row.fingerprint,
            updated_at: row.updated_at,
        }
    }
}

impl TryFrom<EndpointRow> for Endpoint {
    type Error = StoreError;

    fn try_from(row: EndpointRow) -> StoreResult<Self> {
        let world = ENDPOINTS.world(&row.app_id, &row.environment)?;
        let url = EndpointUrl::parse(&row.url, world.environment);
        let names: Vec<String> = ENDPOINTS.json("types", &row.types)?;
        let types = EventTypes::parse(names.iter().map(String::as_str));
        let disabled = row.disabled_reason.as_deref();
        let disabled = disabled.map(|reason| ENDPOINTS.parse("disabled_reason", reason));
        Ok(Self {
            id: ENDPOINTS.parse("id", &row.id)?,
            world,
            url: url.map_err(|_invalid| ENDPOINTS.corrupt("url"))?,
            name: row.name,
            types: types.map_err(|_invalid| ENDPOINTS.corrupt("types"))?,
            disabled: disabled.transpose()?,
            failing_since: row.failing_since.map(Timestamp::from_unix),
            last_success_at: row.last_success_at.map(Timestamp::from_unix),
            created_at: Timestamp::from_unix(row.created_at),
            updated_at: Timestamp::from_unix(row.updated_at),
        })
    }
}

impl TryFrom<FailuresRow> for Failures {
    type Error = StoreError;

    fn try_from(row: FailuresRow) -> StoreResult<Self> {
        let since = row.failures_since.map(Timestamp::from_unix);
        Ok(Self {
            attempts: row.failed_attempts,
            deliveries: row.failed_deliveries,
            since: since.ok_or_else(|| ENDPOINTS.corrupt("failures_since"))?,
            failing_since: row.failing_since.map(Timestamp::from_unix),
        })
    }
}

#[derive(Queryable, Selectable, Insertable)]
#[diesel(table_name = webhook_secrets, treat_none_as_default_value = false)]
pub struct SecretRow {
    app_id: String,
    environment: String,
    id: String,
    endpoint_id: String,
    key_version: i64,
    secret: Vec<u8>,
    last_four: String,
    created_at: i64,
    expires_at: Option<i64>,
}

impl From<&SealedSecret> for SecretRow {
    fn from(secret: &SealedSecret) -> Self {
        Self {
            app_id: secret.world.app_id.to_string(),
            environment: secret.world.environment.to_string(),
            id: secret.id.to_string(),
            endpoint_id: secret.endpoint_id.to_string(),
            key_version: secret.sealed.key_version.into(),
            secret: secret.sealed.bytes.clone(),
            last_four: secret.last_four.clone(),
            created_at: secret.created_at.unix(),
            expires_at: secret.expires_at.map(Timestamp::unix),
        }
    }
}

impl TryFrom<SecretRow> for SealedSecret {
    type Error = StoreError;

    fn try_from(row: SecretRow) -> StoreResult<Self> {
        Ok(Self {
            id: SECRETS.parse("id", &row.id)?,
            endpoint_id: SECRETS.parse("endpoint_id", &row.endpoint_id)?,
            world: SECRETS.world(&row.app_id, &row.environment)?,
            sealed: Sealed {
                key_version: SECRETS.small("key_version", row.key_version)?,
                bytes: row.secret,
            },
            last_four: row.last_four,
            created_at: Timestamp::from_unix(row.created_at),
            expires_at: row.expires_at.map(Timestamp::from_unix),
        })
    }
}

/// Returns the stored rank of a lane. Queues are served in this order.
pub const fn rank_of(lane: Lane) -> i64 {
    match lane {
        Lane::First => 0,
        Lane::Retry => 1,
        Lane::Timed => 2,
    }
}

/// Returns the lane of a rank.
///
/// # Errors
/// [`StoreError::Corrupt`].
pub fn lane_of(rank: i64) -> StoreResult<Lane> {
    let found = Lane::ALL.into_iter().find(|lane| rank_of(*lane) == rank);
    found.ok_or_else(|| DELIVERIES.corrupt("rank"))
}

#[derive(Queryable, Selectable, Insertable)]
#[diesel(table_name = webhook_deliveries, treat_none_as_default_value = false)]
pub struct DeliveryRow {
    app_id: String,
    environment: String,
    id: String,
    endpoint_id: String,
    event_id: String,
    position: i64,
    kind: String,
    is_replay: bool,
    rank: i64,
    attempts: i64,
    due_at: i64,
    created_at: i64,
    ended_as: Option<String>,
}

impl From<&Delivery> for DeliveryRow {
    fn from(delivery: &Delivery) -> Self {
        let lane = match delivery.is_replay || delivery.attempts > 0 {
            true => Lane::Timed,
            false => Lane::First,
        };
        Self {
            app_id: delivery.world.app_id.to_string(),
            environment: delivery.world.environment.to_string(),
            id: delivery.id.to_string(),
            endpoint_id: delivery.endpoint_id.to_string(),
            event_id: delivery.event_id.to_string(),
            position: delivery.position,
            kind: delivery.kind.as_str().to_owned(),
            is_replay: delivery.is_replay,
            rank: rank_of(lane),
            attempts: delivery.attempts.into(),
            due_at: delivery.due_at.unix(),
            created_at: delivery.created_at.unix(),
            ended_as: None,
        }
    }
}

impl TryFrom<DeliveryRow> for Delivery {
    type Error = StoreError;

    fn try_from(row: DeliveryRow) -> StoreResult<Self> {
        let ended = row.ended_as.as_deref();
        let ended = ended.map(|end| DELIVERIES.parse("ended_as", end));
        Ok(Self {
            id: DELIVERIES.parse("id", &row.id)?,
            world: DELIVERIES.world(&row.app_id, &row.environment)?,
            endpoint_id: DELIVERIES.parse("endpoint_id", &row.endpoint_id)?,
            event_id: DELIVERIES.parse("event_id", &row.event_id)?,
            position: row.position,
            kind: DELIVERIES.parse("kind", &row.kind)?,
            is_replay: row.is_replay,
            state: ended.transpose()?.unwrap_or(DeliveryState::Waiting),
            attempts: DELIVERIES.small("attempts", row.attempts)?,
            due_at: Timestamp::from_unix(row.due_at),
            created_at: Timestamp::from_unix(row.created_at),
        })
    }
}

#[derive(Queryable, Selectable, Insertable)]
#[diesel(table_name = webhook_attempts, treat_none_as_default_value = false)]
pub struct AttemptRow {
    app_id: String,
    environment: String,
    delivery_id: String,
    number: i64,
    endpoint_id: String,
    at: i64,
    duration_ms: i64,
    status: Option<i64>,
    error: Option<String>,
    response_excerpt: Option<String>,
}

impl From<&Attempt> for AttemptRow {
    fn from(attempt: &Attempt) -> Self {
        Self {
            app_id: attempt.world.app_id.to_string(),
            environment: attempt.world.environment.to_string(),
            delivery_id: attempt.delivery_id.to_string(),
            number: attempt.number.into(),
            endpoint_id: attempt.endpoint_id.to_string(),
            at: attempt.at.unix(),
            duration_ms: attempt.duration_ms.into(),
            status: attempt.status.map(i64::from),
            error: attempt.error.clone(),
            response_excerpt: attempt.response_excerpt.clone(),
        }
    }
}

impl TryFrom<AttemptRow> for Attempt {
    type Error = StoreError;

    fn try_from(row: AttemptRow) -> StoreResult<Self> {
        let status = row.status.map(u16::try_from).transpose();
        Ok(Self {
            world: ATTEMPTS.world(&row.app_id, &row.environment)?,
            delivery_id: ATTEMPTS.parse("delivery_id", &row.delivery_id)?,
            endpoint_id: ATTEMPTS.parse("endpoint_id", &row.endpoint_id)?,
            number: ATTEMPTS.small("number", row.number)?,
            at: Timestamp::from_unix(row.at),
            duration_ms: ATTEMPTS.small("duration_ms", row.duration_ms)?,
            status: status.map_err(|_outside| ATTEMPTS.corrupt("status"))?,
            error: row.error,
            response_excerpt: row.response_excerpt,
        })
    }
}

#[derive(Queryable, Selectable, Insertable)]
#[diesel(table_name = webhook_replays, treat_none_as_default_value = false)]
pub struct ReplayRow {
    app_id: String,
    environment: String,
    id: String,
    endpoint_id: String,
    failed_since: Option<i64>,
    after_delivery: Option<String>,
    after_position: Option<i64>,
    until_position: Option<i64>,
    expected: i64,
    done: i64,
    next_at: i64,
    created_at: i64,
    ended_at: Option<i64>,
}

/// The progress of a replay.
#[derive(AsChangeset)]
#[diesel(table_name = webhook_replays, treat_none_as_null = true)]
pub struct ReplayProgress {
    after_delivery: Option<String>,
    after_position: Option<i64>,
    done: i64,
    next_at: i64,
    ended_at: Option<i64>,
}

impl From<&Replay> for ReplayRow {
    fn from(replay: &Replay) -> Self {
        let (failed_since, after_delivery) = match replay.missed {
            Missed::Exhausted { since, after } => (Some(since.unix()), after),
            Missed::Range { .. } => (None, None),
        };
        let (after_position, until_position) = match replay.missed {
            Missed::Range { after, until } => (Some(after), Some(until)),
            Missed::Exhausted { .. } => (None, None),
        };
        Self {
            app_id: replay.world.app_id.to_string(),
            environment: replay.world.environment.to_string(),
            id: replay.id.to_string(),
            endpoint_id: replay.endpoint_id.to_string(),
            failed_since,
            after_delivery: after_delivery.map(|id| id.to_string()),
            after_position,
            until_position,
            expected: replay.count,
            done: replay.done,
            next_at: replay.next_at.unix(),
            created_at: replay.created_at.unix(),
            ended_at: replay.ended_at.map(Timestamp::unix),
        }
    }
}

impl From<ReplayRow> for ReplayProgress {
    fn from(row: ReplayRow) -> Self {
        Self {
            after_delivery: row.after_delivery,
            after_position: row.after_position,
            done: row.done,
            next_at: row.next_at,
            ended_at: row.ended_at,
        }
    }
}

impl TryFrom<ReplayRow> for Replay {
    type Error = StoreError;

    fn try_from(row: ReplayRow) -> StoreResult<Self> {
        let after = row.after_delivery.as_deref();
        let after = after.map(|id| REPLAYS.parse("after_delivery", id));
        let missed = match (row.failed_since, row.after_position, row.until_position) {
            (Some(since), None, None) => Missed::Exhausted {
                since: Timestamp::from_unix(since),
                after: after.transpose()?,
            },
            (None, Some(after), Some(until)) => Missed::Range { after, until },
            _neither => return Err(REPLAYS.corrupt("failed_since")),
        };
        Ok(Self {
            id: REPLAYS.parse("id", &row.id)?,
            world: REPLAYS.world(&row.app_id, &row.environment)?,
            endpoint_id: REPLAYS.parse("endpoint_id", &row.endpoint_id)?,
            missed,
            count: row.expected,
            done: row.done,
            next_at: Timestamp::from_unix(row.next_at),
            created_at: Timestamp::from_unix(row.created_at),
            ended_at: row.ended_at.map(Timestamp::from_unix),
        })
    }
}
