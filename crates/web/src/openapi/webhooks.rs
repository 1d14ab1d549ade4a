//! Requests to the webhook endpoints of an App: `webhooks` of OpenAPI 3.1.

use std::fmt;

use utoipa::openapi::path::{
    HttpMethod, Operation, OperationBuilder, Parameter, ParameterBuilder, ParameterIn, PathItem,
    Paths,
};
use utoipa::openapi::request_body::RequestBodyBuilder;
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::openapi::{ComponentsBuilder, ContentBuilder, Ref, RefOr, Required, ResponseBuilder};
use vestry_domain::event::EventKind;

use crate::v1::shapes::schema_name;

/// Headers of a webhook request, which are signed together with its body.
const HEADERS: [(&str, Type, &str); 3] = [
    (
        "webhook-id",
        Type::String,
        "Id of the event, the same for every attempt. Ignore an id that you have already handled.",
    ),
    (
        "webhook-timestamp",
        Type::Integer,
        "When this attempt was made, in Unix seconds.",
    ),
    (
        "webhook-signature",
        Type::String,
        "`v1,` and the base64 of HMAC-SHA256 over `id.timestamp.body`: one signature per valid secret, separated by spaces.",
    ),
];

/// The receiver's status, the name of its response component, and the effect.
const ANSWERS: [(&str, &str, &str); 4] = [
    ("2XX", "WebhookTaken", "The event is delivered."),
    (
        "410",
        "WebhookGone",
        "The endpoint is disabled at once and receives no further events.",
    ),
    (
        "429",
        "WebhookBusy",
        "The event is retried, not before `Retry-After`, and events are sent one at a time until one is delivered. The same applies to 502, 503 and 504.",
    ),
    (
        "default",
        "WebhookFailed",
        "The event is retried, ten times in three days.",
    ),
];

/// One webhook for each event type.
pub(super) fn webhooks() -> Paths {
    let mut webhooks = Paths::new();
    for kind in EventKind::ALL {
        let item = PathItem::new(HttpMethod::Post, operation(*kind));
        webhooks.paths.insert(kind.as_str().to_owned(), item);
    }
    webhooks
}

/// Adds the components that all webhooks refer to.
pub(super) fn described(components: ComponentsBuilder) -> ComponentsBuilder {
    let components = HEADERS
        .into_iter()
        .fold(components, |components, (name, kind, text)| {
            components.parameter(name, header(name, kind, text))
        });
    ANSWERS
        .into_iter()
        .fold(components, |components, (_, name, text)| {
            components.response(name, ResponseBuilder::new().description(text).build())
        })
}

fn operation(kind: EventKind) -> Operation {
    let event = ContentBuilder::new().schema(Some(Ref::from_schema_name(schema_name(kind))));
    let body = RequestBodyBuilder::new()
        .content("application/json", event.build())
        .required(Some(Required::True));
    let mut operation = OperationBuilder::new()
        .tag("Webhooks")
        .summary(Some(kind.text()))
        .request_body(Some(body.build()))
        .build();
    let parameters = HEADERS.map(|(name, ..)| to(format_args!("parameters/{name}")));
    operation.parameters = Some(parameters.into());
    let responses = &mut operation.responses.responses;
    responses.extend(
        ANSWERS.map(|(status, name, _)| (status.to_owned(), to(format_args!("responses/{name}")))),
    );
    operation
}

/// A reference to a component.
fn to<T>(place: fmt::Arguments<'_>) -> RefOr<T> {
    RefOr::Ref(Ref::new(format!("#/components/{place}")))
}

fn header(name: &str, kind: Type, text: &str) -> Parameter {
    ParameterBuilder::new()
        .name(name)
        .parameter_in(ParameterIn::Header)
        .required(Required::True)
        .description(Some(text))
        .schema(Some(ObjectBuilder::new().schema_type(kind)))
        .build()
}
