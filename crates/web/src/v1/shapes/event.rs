//! Events as callers receive them.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::openapi::schema::{AllOfBuilder, ArrayBuilder, OneOfBuilder, Schema, SchemaType, Type};
use utoipa::openapi::{ObjectBuilder, Ref, RefOr};
use utoipa::{PartialSchema, ToSchema};
use vestry_domain::actor;
use vestry_domain::event::{self, Addressed, EventKind, FieldKind, MAX_IDS};
use vestry_edge::Problem;

/// An event as serialized by the domain. A page of events contains the same bytes that a webhook endpoint receives.
#[derive(Serialize)]
#[serde(transparent)]
pub(crate) struct Event(Box<RawValue>);

/// Fields that every event has. The schema of each event type adds its `type` and `data`.
#[derive(ToSchema)]
#[schema(as = EventEnvelope)]
#[expect(dead_code, reason = "describes what the domain serializes")]
struct Envelope {
    /// Id of the event. Ids sort by the second in which they were created.
    #[schema(pattern = "^event_[0-9A-Za-z]{27}$")]
    id: String,
    /// Type of the event.
    r#type: &'static str,
    /// Generation of the log. It increases by one each time that events were lost together with a part of the database.
    #[schema(minimum = 1)]
    log: i64,
    /// Position in the log, starting at 1, without gaps. Of two events, the one with the greater `(log, position)` happened later.
    #[schema(minimum = 1)]
    position: i64,
    /// Id of the App.
    #[schema(pattern = "^app_[0-9A-Za-z]{27}$")]
    app_id: String,
    /// Environment of the event: `test` or `live`.
    #[schema(pattern = "^(test|live)$")]
    environment: &'static str,
    /// When it happened, in Unix seconds, by the clock of the environment.
    created_at: i64,
    /// The same time in RFC 3339 format.
    timestamp: String,
    /// The `X-Request-Id` of the call that caused the event; `null` if no call did.
    #[schema(required = true)]
    request_id: Option<String>,
    actor: Actor,
}

/// Actor that caused an event or an entry of an audit log.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = EventActor)]
pub(crate) struct Actor {
    #[schema(value_type = ActorKind)]
    r#type: &'static str,
    /// Id of the actor; `null` for `cli` and `system`.
    #[schema(required = true)]
    id: Option<String>,
}

impl From<actor::Actor> for Actor {
    fn from(actor: actor::Actor) -> Self {
        Self {
            r#type: actor.kind(),
            id: actor.id(),
        }
    }
}

/// Kind of an actor.
#[derive(ToSchema)]
#[schema(as = EventActorType, rename_all = "snake_case")]
#[expect(dead_code, reason = "describes names that the domain defines")]
enum ActorKind {
    ApiKey,
    PublicToken,
    EndUser,
    ManagementKey,
    Cli,
    System,
}

impl TryFrom<event::Event> for Event {
    type Error = Problem;

    fn try_from(placed: event::Event) -> Result<Self, Problem> {
        let json = placed.json().and_then(RawValue::from_string);
        let json =
            json.map_err(|_not_json| Problem::internal("the data of an event is not JSON"))?;
        Ok(Self(json))
    }
}

/// The schema name of an event type: `UserCreatedEvent` for `user.created`.
pub(crate) fn schema_name(kind: EventKind) -> String {
    let words = kind.as_str().split(['.', '_']);
    let capitals = words.map(|word| {
        let mut letters = word.chars();
        let first = letters.next().map(|letter| letter.to_ascii_uppercase());
        first.into_iter().chain(letters).collect::<String>()
    });
    capitals.chain(["Event".to_owned()]).collect()
}

impl PartialSchema for Event {
    fn schema() -> RefOr<Schema> {
        let kinds = EventKind::ALL.iter();
        let one_of = kinds.fold(OneOfBuilder::new(), |one_of, kind| {
            one_of.item(Ref::from_schema_name(schema_name(*kind)))
        });
        let text = "Something that happened. New types and fields may be added; ignore those that you do not know.";
        Schema::OneOf(one_of.description(Some(text)).build()).into()
    }
}

impl ToSchema for Event {
    fn name() -> Cow<'static, str> {
        "Event".into()
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.push((Envelope::name().into_owned(), Envelope::schema()));
        Envelope::schemas(schemas);
        let kinds = EventKind::ALL.iter();
        schemas.extend(kinds.map(|kind| (schema_name(*kind), of_kind(*kind))));
    }
}

/// The schema of one event type.
fn of_kind(kind: EventKind) -> RefOr<Schema> {
    let mut data = ObjectBuilder::new();
    for (name, field) in kind.fields() {
        data = data.property(*name, of_field(*field)).required(*name);
    }
    let named = kind.fields().iter().map(|(name, _)| *name);
    for (_, address) in Addressed::FIELDS
        .into_iter()
        .filter(|(id, _)| named.clone().any(|name| name == *id))
    {
        data = data.property(address, address_of());
    }
    let name = ObjectBuilder::new()
        .schema_type(Type::String)
        .enum_values(Some([kind.as_str()]));
    let own = ObjectBuilder::new()
        .property("type", name)
        .required("type")
        .property("data", data)
        .required("data");
    let mut text = kind.text().to_owned();
    if kind.is_optional() {
        text.push_str(" Written only if a webhook endpoint subscribes to it by name, or the App's setting `events_optional` lists it.");
    }
    let all = AllOfBuilder::new()
        .item(Ref::from_schema_name(Envelope::name()))
        .item(own)
        .description(Some(text));
    Schema::AllOf(all.build()).into()
}

fn address_of() -> RefOr<Schema> {
    let text = "The current value; `null` if it was deleted. Present only if the App's setting `event_addresses` is on.";
    ObjectBuilder::new()
        .schema_type(SchemaType::from_iter([Type::String, Type::Null]))
        .description(Some(text))
        .into()
}

fn of_field(kind: FieldKind) -> RefOr<Schema> {
    let text = || ObjectBuilder::new().schema_type(Type::String);
    let id = |prefix: &str| text().pattern(Some(format!("^{prefix}_[0-9A-Za-z]{{27}}$")));
    let number = || {
        let number = ObjectBuilder::new().schema_type(Type::Integer);
        number.minimum(Some(0))
    };
    let object: ObjectBuilder = match kind {
        FieldKind::Id(prefix) => id(prefix),
        FieldKind::Ids(prefix) => {
            let ids = ArrayBuilder::new().items(id(prefix));
            return Schema::Array(ids.max_items(Some(MAX_IDS)).build()).into();
        }
        FieldKind::OneOf(words) => text().enum_values(Some(words.iter().copied())),
        FieldKind::SomeOf(words) => {
            let word = text().enum_values(Some(words.iter().copied()));
            return Schema::Array(ArrayBuilder::new().items(word).build()).into();
        }
        FieldKind::Names => return Schema::Array(ArrayBuilder::new().items(text()).build()).into(),
        FieldKind::Name => text(),
        FieldKind::Count | FieldKind::Time => number(),
        FieldKind::Sha256 => text().pattern(Some("^[0-9a-f]{64}$")),
        FieldKind::Factor => ObjectBuilder::new()
            .property("type", text())
            .required("type")
            .property("delivery_channel", text())
            .required("delivery_channel"),
        FieldKind::OrNull(kind) => return or_null(of_field(*kind)),
    };
    Schema::Object(object.build()).into()
}

fn or_null(schema: RefOr<Schema>) -> RefOr<Schema> {
    let null = |kind: &mut SchemaType| {
        if let SchemaType::Type(one) = kind {
            *kind = SchemaType::Array(vec![one.clone(), Type::Null]);
        }
    };
    match schema {
        RefOr::T(Schema::Object(mut object)) => {
            null(&mut object.schema_type);
            if let Some(words) = &mut object.enum_values {
                words.push(serde_json::Value::Null);
            }
            RefOr::T(Schema::Object(object))
        }
        other => other,
    }
}
