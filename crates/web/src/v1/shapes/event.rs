//! Events as callers receive them.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::openapi::schema::{
    AdditionalProperties, AllOfBuilder, ArrayBuilder, OneOfBuilder, Schema, SchemaType, Type,
};
use utoipa::openapi::{ObjectBuilder, Ref, RefOr};
use utoipa::{PartialSchema, ToSchema};
use vestry_domain::actor;
use vestry_domain::api_key::{ApiKeyKind, Scope};
use vestry_domain::event::{
    self, Addressed, DisabledReason, EndReason, EventKind, FailReason, Field, FieldKind, MAX_IDS,
    Method, Removed, SignedBy, Via,
};
use vestry_domain::message::{Channel, JobEnd, MessageKind};
use vestry_domain::operator::Role;
use vestry_domain::redirect::RedirectKind;
use vestry_domain::wallet::WalletType;
use vestry_edge::{Problem, capitalized};

/// An event as serialized by the domain. A page of events contains the same bytes that a webhook endpoint receives.
#[derive(Serialize)]
#[serde(transparent)]
pub(crate) struct Event(Box<RawValue>);

/// Fields that every event has in addition to its `type` and `data`.
#[derive(ToSchema)]
#[schema(as = EventEnvelope)]
#[expect(dead_code, reason = "describes what the domain serializes")]
struct Envelope {
    /// Id of the event. Ids sort by the second in which they were created.
    #[schema(pattern = "^event_[0-9A-Za-z]{27}$")]
    id: String,
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
    format!("{}Event", capitalized(kind.as_str()))
}

/// Closed word lists in event data, by schema name. Those that calls also contain have their schema there.
const WORDS: &[(&str, FieldKind)] = &[
    ("ApiKeyKind", ApiKeyKind::KIND),
    ("CreatedVia", Via::KIND),
    ("MessageChannel", Channel::KIND),
    ("MessageEnd", JobEnd::KIND),
    ("MessageKind", MessageKind::KIND),
    ("OperatorRole", Role::KIND),
    ("RedirectKind", RedirectKind::KIND),
    ("RemovedItem", Removed::KIND),
    ("SessionEndReason", EndReason::KIND),
    ("SignInFailReason", FailReason::KIND),
    ("SignInMethod", Method::KIND),
    ("SigningCall", SignedBy::KIND),
    ("WebhookDisabledReason", DisabledReason::KIND),
    (SCOPE, <Vec<Scope>>::KIND),
    (WALLET_TYPE, WalletType::KIND),
];
/// The schemas of these lists are declared elsewhere.
const WALLET_TYPE: &str = "WalletType";
const SCOPE: &str = "ApiKeyScope";

/// The schema of a factor in event data.
const FACTOR: &str = "EventFactor";

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
        schemas.extend(
            kinds
                .clone()
                .map(|kind| (schema_name(*kind), of_kind(*kind))),
        );
        schemas.extend(kinds.map(|kind| (data_name(*kind), data_of(*kind))));
        let words = WORDS.iter().filter(|(name, _)| *name != WALLET_TYPE);
        schemas.extend(words.map(|(name, kind)| ((*name).to_owned(), words_of(*kind))));
        schemas.push((FACTOR.to_owned(), factor()));
    }
}

/// The schema of one event type.
fn of_kind(kind: EventKind) -> RefOr<Schema> {
    let name = ObjectBuilder::new()
        .schema_type(Type::String)
        .enum_values(Some([kind.as_str()]));
    let own = ObjectBuilder::new()
        .property("type", name)
        .required("type")
        .property("data", Ref::from_schema_name(data_name(kind)))
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

/// The schema name of an event type's data: `UserCreatedEventData` for `user.created`.
fn data_name(kind: EventKind) -> String {
    format!("{}Data", schema_name(kind))
}

/// The schema of an event type's data.
fn data_of(kind: EventKind) -> RefOr<Schema> {
    let text = format!("Data of the event `{}`.", kind.as_str());
    let mut data = closed().description(Some(text));
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
    data.into()
}

/// An object without further members.
fn closed() -> ObjectBuilder {
    let nothing = AdditionalProperties::FreeForm(false);
    ObjectBuilder::new().additional_properties(Some(nothing))
}

/// The name of the schema with these words.
fn words_name(words: &[&str]) -> Option<&'static str> {
    let mut named = WORDS.iter();
    let named = named.find(|(_, kind)| matches!(kind, FieldKind::OneOf(known) | FieldKind::SomeOf(known) if *known == words));
    named.map(|(name, _)| *name)
}

/// The schema of a closed word list.
fn words_of(kind: FieldKind) -> RefOr<Schema> {
    let words = match kind {
        FieldKind::OneOf(words) | FieldKind::SomeOf(words) => words,
        _ => &[],
    };
    let text = ObjectBuilder::new().schema_type(Type::String);
    text.enum_values(Some(words.iter().copied())).into()
}

fn factor() -> RefOr<Schema> {
    let text = || ObjectBuilder::new().schema_type(Type::String);
    closed()
        .property("type", text())
        .required("type")
        .property("delivery_channel", text())
        .required("delivery_channel")
        .description(Some("Factor of a session, as named in events."))
        .into()
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
        FieldKind::OneOf(words) => match words_name(words) {
            Some(name) => return RefOr::Ref(Ref::from_schema_name(name)),
            None => text().enum_values(Some(words.iter().copied())),
        },
        FieldKind::SomeOf(words) => {
            let word = of_field(FieldKind::OneOf(words));
            return Schema::Array(ArrayBuilder::new().items(word).build()).into();
        }
        FieldKind::Names => return Schema::Array(ArrayBuilder::new().items(text()).build()).into(),
        FieldKind::Name => text(),
        FieldKind::Count | FieldKind::Time => number(),
        FieldKind::Sha256 => text().pattern(Some("^[0-9a-f]{64}$")),
        FieldKind::Factor => return RefOr::Ref(Ref::from_schema_name(FACTOR)),
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
            RefOr::T(Schema::Object(object))
        }
        RefOr::Ref(name) => {
            let nothing = ObjectBuilder::new().schema_type(Type::Null);
            OneOfBuilder::new().item(name).item(nothing).into()
        }
        other => other,
    }
}
