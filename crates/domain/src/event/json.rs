//! The JSON form of events: the same bytes for API reads and webhooks.

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::field::FieldKind;
use super::{Actor, Event, EventKind};
use crate::ids::EventId;
use crate::{Timestamp, World, rfc3339};

/// The type of a sample event that tests an endpoint.
pub const TEST: &str = "webhook.test";

#[derive(Serialize)]
struct Shown<'a> {
    id: EventId,
    r#type: &'a str,
    log: i64,
    position: i64,
    app_id: String,
    environment: &'static str,
    created_at: i64,
    timestamp: String,
    request_id: Option<&'a str>,
    actor: ShownActor,
    data: &'a RawValue,
}

#[derive(Serialize)]
struct ShownActor {
    r#type: &'static str,
    id: Option<String>,
}

impl From<&Actor> for ShownActor {
    fn from(actor: &Actor) -> Self {
        Self {
            r#type: actor.kind(),
            id: actor.id(),
        }
    }
}

impl Event {
    /// The event as JSON.
    ///
    /// # Errors
    /// If its stored data is not valid JSON.
    pub fn json(&self) -> Result<String, serde_json::Error> {
        let event = &self.event;
        serde_json::to_string(&Shown {
            id: event.id,
            r#type: event.kind.as_str(),
            log: self.log,
            position: self.position,
            app_id: event.world.app_id.to_string(),
            environment: event.world.environment.as_str(),
            created_at: event.created_at.unix(),
            timestamp: rfc3339::format(event.created_at),
            request_id: event.request_id.as_deref(),
            actor: ShownActor::from(&event.actor),
            data: serde_json::from_str(&event.data)?,
        })
    }
}

/// A sample event of a type, or of [`TEST`], for testing an endpoint. It belongs to no log, and its ids refer to nothing.
///
/// # Errors
/// None in practice.
pub fn sample(
    kind: Option<EventKind>,
    world: World,
    id: EventId,
    at: Timestamp,
) -> Result<String, serde_json::Error> {
    let fields = kind.map(EventKind::fields).unwrap_or_default();
    let data: Map<String, Value> = fields
        .iter()
        .map(|(name, field)| ((*name).to_owned(), sample_of(*field)))
        .collect();
    let data = RawValue::from_string(Value::Object(data).to_string())?;
    serde_json::to_string(&Shown {
        id,
        r#type: kind.map_or(TEST, EventKind::as_str),
        log: 0,
        position: 0,
        app_id: world.app_id.to_string(),
        environment: world.environment.as_str(),
        created_at: at.unix(),
        timestamp: rfc3339::format(at),
        request_id: None,
        actor: ShownActor::from(&Actor::System),
        data: &data,
    })
}

fn sample_of(field: FieldKind) -> Value {
    let id = |prefix: &str| Value::from(format!("{prefix}_{}", "0".repeat(27)));
    let first = |words: &[&str]| words.first().copied().unwrap_or_default().to_owned();
    match field {
        FieldKind::Id(prefix) => id(prefix),
        FieldKind::Ids(prefix) => vec![id(prefix)].into(),
        FieldKind::OneOf(words) => first(words).into(),
        FieldKind::SomeOf(words) => vec![first(words)].into(),
        FieldKind::Names => vec!["name"].into(),
        FieldKind::Name => "example".into(),
        FieldKind::Count | FieldKind::Time => 1.into(),
        FieldKind::Sha256 => "0".repeat(64).into(),
        FieldKind::Factor => {
            serde_json::json!({ "type": "email_otp", "delivery_channel": "email" })
        }
        FieldKind::OrNull(_) => Value::Null,
    }
}
