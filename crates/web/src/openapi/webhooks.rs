//! What is sent to the webhook endpoints of an App: `webhooks` of OpenAPI 3.1.

use std::fmt;

use utoipa::openapi::path::{
    HttpMethod, Operation, OperationBuilder, Parameter, ParameterBuilder, ParameterIn, PathItem,
    Paths,
};
use utoipa::openapi::request_body::RequestBodyBuilder;
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::openapi::{ComponentsBuilder, ContentBuilder, Ref, RefOr, Required, ResponseBuilder};
use vestry_domain::event::EventKind;

use crate::shapes::schema_name;

/// What stands in the headers of a request, and is signed with its body.
const HEADERS: [(&str, Type, &str); 3] = [
    (
        "webhook-id",
        Type::String,
        "The id of the event, the same for every try. Handle an id that you have handled before as nothing.",
    ),
    (
        "webhook-timestamp",
        Type::Integer,
        "When this try was made, in Unix seconds.",
    ),
    (
        "webhook-signature",
        Type::String,
        "`v1,` and the base64 of HMAC-SHA256 over `id.timestamp.body`; one for each secret that is valid, separated by spaces.",
    ),
];

/// How a receiver answers, by what name that is described, and what comes of it.
const ANSWERS: [(&str, &str, &str); 4] = [
    ("2XX", "WebhookTaken", "It is delivered."),
    (
        "410",
        "WebhookGone",
        "The endpoint is disabled at once, and sent nothing any more.",
    ),
    (
        "429",
        "WebhookBusy",
        "It is tried again, not before `Retry-After`, and one event at a time until one is taken. So are 502, 503 and 504.",
    ),
    (
        "default",
        "WebhookFailed",
        "It is tried again, ten times in three days.",
    ),
];

/// A webhook for each type of event.
pub(super) fn webhooks() -> Paths {
    let mut webhooks = Paths::new();
    for kind in EventKind::ALL {
        let item = PathItem::new(HttpMethod::Post, operation(*kind));
        webhooks.paths.insert(kind.as_str().to_owned(), item);
    }
    webhooks
}

/// What all of them refer to.
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
