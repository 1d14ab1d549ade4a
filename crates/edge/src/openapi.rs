//! What OpenAPI documents say about every endpoint: security schemes, headers, parameters, errors.

use std::collections::BTreeMap;

use serde_json::Value;
use utoipa::openapi::header::HeaderBuilder;
use utoipa::openapi::path::{Operation, Parameter, ParameterBuilder, ParameterIn, PathItem};
use utoipa::openapi::request_body::RequestBody;
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};
use utoipa::openapi::security::{
    ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme,
};
use utoipa::openapi::{
    ContentBuilder, Header, OpenApi, Ref, RefOr, Required, Response, ResponseBuilder,
};
use utoipa::{PartialSchema, ToSchema};
use vestry_domain::idempotency::{HEADER, MAX_LENGTH};

use crate::endpoint::{Endpoint, Schemas};
use crate::gate::{APP_HEADER, Auth, ENVIRONMENT_HEADER, SESSION_HEADER};
use crate::problem::{Code, ErrorBody, ErrorDetail};

const SECRET_KEY: &str = "secret_key";
const QUERY_KEY: &str = "query_key";
const MANAGEMENT_KEY: &str = "management_key";
const PUBLIC_TOKEN: &str = "public_token";
const ERROR: &str = "Error";

/// Adds the endpoints to a document, with everything that their descriptions refer to.
pub(crate) fn describe(document: &mut OpenApi, endpoints: &[Endpoint]) {
    let mut schemas: Schemas = vec![
        (ErrorBody::name().into_owned(), ErrorBody::schema()),
        (ErrorDetail::name().into_owned(), ErrorDetail::schema()),
        (<Code as ToSchema>::name().into_owned(), Code::schema()),
    ];
    let paths = &mut document.paths.paths;
    let mut responses = BTreeMap::new();
    for endpoint in endpoints {
        (endpoint.schemas)(&mut schemas);
        let described = operation(endpoint, &mut responses);
        let item = PathItem::new(endpoint.method.clone(), described);
        match paths.get_mut(&endpoint.path) {
            Some(known) => known.merge_operations(item),
            None => {
                paths.insert(endpoint.path.clone(), item);
            }
        }
    }
    let components = document.components.get_or_insert_default();
    // Sorted by name, so that the document does not change when a module moves.
    components.schemas.extend(schemas);
    components.headers.extend(described_headers());
    components.responses.extend(responses);
    let parameters = named_world().into_iter();
    let parameters = parameters.chain([idempotency_key(), presented_session()]);
    components
        .parameters
        .extend(parameters.map(|parameter| (parameter.name.clone(), RefOr::T(parameter))));
    components.add_security_scheme(SECRET_KEY, secret_key());
    components.add_security_scheme(QUERY_KEY, query_key());
    components.add_security_scheme(PUBLIC_TOKEN, public_token());
    components.add_security_scheme(MANAGEMENT_KEY, management_key());
}

/// Adds to each operation its place in client libraries. A test of its crate reports an endpoint without one.
///
/// `Operation` keeps such members in random order, so they are added to the finished document.
pub(crate) fn describe_libraries(document: &mut Value, endpoints: &[Endpoint]) {
    for endpoint in endpoints {
        let Some(sdk) = endpoint.sdk else { continue };
        let method = endpoint.method().as_str().to_lowercase();
        let operation = document
            .get_mut("paths")
            .and_then(|paths| paths.get_mut(&endpoint.path))
            .and_then(|path| path.get_mut(method))
            .and_then(Value::as_object_mut);
        let members = sdk.members(endpoint.idempotency()).into_iter();
        if let Some(operation) = operation {
            operation.extend(members.map(|(name, value)| (name.to_owned(), value)));
        }
    }
}

fn secret_key() -> SecurityScheme {
    let scheme = HttpBuilder::new()
        .scheme(HttpAuthScheme::Bearer)
        .bearer_format("sk_test_… or sk_live_…")
        .description(Some(
            "The App's secret key. Send it from the App's backend only.",
        ));
    SecurityScheme::Http(scheme.build())
}

fn management_key() -> SecurityScheme {
    let scheme = HttpBuilder::new()
        .scheme(HttpAuthScheme::Bearer)
        .bearer_format("mk_…")
        .description(Some(
            "A management key. With the headers `Vestry-App` and `Vestry-Environment` it also makes some of an App's own calls.",
        ));
    SecurityScheme::Http(scheme.build())
}

fn query_key() -> SecurityScheme {
    let description = "The App's secret key in the query, for clients that can only fetch a URL.";
    SecurityScheme::ApiKey(ApiKey::Query(ApiKeyValue::with_description(
        "api_key",
        description,
    )))
}

fn public_token() -> SecurityScheme {
    let description = "The App's public token, which may be used in a web page.";
    SecurityScheme::ApiKey(ApiKey::Query(ApiKeyValue::with_description(
        "public_token",
        description,
    )))
}

/// Responses that several operations share, by name.
type Shared = BTreeMap<String, RefOr<Response>>;

/// The operation as described at its handler, with the errors that every endpoint of its kind can return.
fn operation(endpoint: &Endpoint, shared: &mut Shared) -> Operation {
    let mut operation = (endpoint.describe)();
    if let Some(RefOr::T(body)) = &mut operation.request_body {
        admit_no_body(body);
    }
    let is_managed = endpoint.is_managed();
    operation.security = security(endpoint.auth, is_managed);
    if is_managed {
        let parameters = operation.parameters.get_or_insert_default();
        parameters.extend([APP_HEADER, ENVIRONMENT_HEADER].map(parameter));
    }
    let keeps = endpoint.takes_idempotency_key();
    if keeps {
        operation
            .parameters
            .get_or_insert_default()
            .push(parameter(HEADER));
    }
    if endpoint
        .operation()
        .is_some_and(|operation| operation.uses_wallet_key())
    {
        let parameters = operation.parameters.get_or_insert_default();
        parameters.push(parameter(SESSION_HEADER));
    }
    for response in operation.responses.responses.values_mut() {
        if let RefOr::T(response) = response {
            response.headers.extend(headers(keeps, false));
        }
    }
    for (status, codes) in by_status(&refusals(endpoint, operation.request_body.is_some())) {
        let retries = matches!(status, 429 | 503) || (keeps && status == 409);
        let is_kept = keeps && matches!(status, 400 | 403 | 404 | 409);
        let response = refusal(&codes, headers(is_kept, retries), endpoint.is_browsed);
        let name = shared_name(status, &codes, is_kept, endpoint.is_browsed);
        operation
            .responses
            .responses
            .insert(status.to_string(), share(shared, name, response));
    }
    operation
}

/// A reference to a shared parameter.
fn parameter(name: &str) -> RefOr<Parameter> {
    RefOr::Ref(Ref::new(format!("#/components/parameters/{name}")))
}

/// The name of a shared response, made of everything in which it can differ from others.
fn shared_name(status: u16, codes: &[Code], is_kept: bool, is_browsed: bool) -> String {
    // With their status, these say nothing more.
    let usual = |code: &&Code| {
        matches!(
            code,
            Code::InvalidRequest
                | Code::HttpsRequired
                | Code::MissingApiKey
                | Code::InvalidApiKey
                | Code::FeatureDisabled
                | Code::NotFound
                | Code::MethodNotAllowed
                | Code::BodyTooLarge
                | Code::UnsupportedMediaType
                | Code::RateLimited
                | Code::Internal
                | Code::Unavailable
        )
    };
    let codes = codes.iter().filter(|code| !usual(code));
    let codes: String = codes.map(|code| capitalized(code.as_str())).collect();
    let kept = if is_kept { "Stored" } else { "" };
    let page = if is_browsed { "Page" } else { "" };
    format!("Error{status}{codes}{kept}{page}")
}

/// The words of a name with dots or underscores in one word with capitals: `UserCreated` for `user.created`.
pub fn capitalized(name: &str) -> String {
    let words = name.split(['.', '_']);
    let words = words.map(|word| {
        let mut letters = word.chars();
        let first = letters.next().map(|letter| letter.to_ascii_uppercase());
        first.into_iter().chain(letters).collect::<String>()
    });
    words.collect()
}

/// A reference to a response under this name. A different one with the same name is described in its place.
fn share(shared: &mut Shared, name: String, response: Response) -> RefOr<Response> {
    let place = Ref::new(format!("#/components/responses/{name}"));
    let response = RefOr::T(response);
    match *shared.entry(name).or_insert_with(|| response.clone()) == response {
        true => RefOr::Ref(place),
        false => response,
    }
}

/// Describes an optional body as not required, instead of as one that may be `null`.
fn admit_no_body(body: &mut RequestBody) {
    for content in body.content.values_mut() {
        let RefOr::T(content) = content else { continue };
        let Some(RefOr::T(Schema::OneOf(choices))) = &content.schema else {
            continue;
        };
        content.schema = choices
            .items
            .iter()
            .find(|choice| matches!(choice, RefOr::Ref(_)))
            .cloned();
        body.required = Some(Required::False);
    }
}

fn security(auth: Auth, is_managed: bool) -> Option<Vec<SecurityRequirement>> {
    let schemes: &[&str] = match auth {
        Auth::Public => return Some(Vec::new()),
        Auth::SecretKey if is_managed => &[SECRET_KEY, MANAGEMENT_KEY],
        Auth::SecretKey | Auth::TestKey => &[SECRET_KEY],
        Auth::ManagementKey => &[MANAGEMENT_KEY],
        Auth::SecretKeyOrQuery => &[SECRET_KEY, QUERY_KEY],
        Auth::SecretKeyOrPublicToken => &[SECRET_KEY, PUBLIC_TOKEN],
    };
    let scopes: [&str; 0] = [];
    Some(
        schemes
            .iter()
            .map(|scheme| SecurityRequirement::new(*scheme, scopes))
            .collect(),
    )
}

fn refusals(endpoint: &Endpoint, has_body: bool) -> Vec<Code> {
    let mut codes = vec![
        Code::InvalidRequest,
        Code::HttpsRequired,
        Code::MethodNotAllowed,
        Code::Internal,
        Code::Unavailable,
    ];
    if endpoint.auth.is_keyed() {
        codes.extend([
            Code::MissingApiKey,
            Code::InvalidApiKey,
            Code::KeyNotAllowed,
            Code::FeatureDisabled,
            Code::RateLimited,
        ]);
    }
    if endpoint.is_managed() {
        codes.extend([Code::MissingField, Code::InvalidField, Code::NotFound]);
    }
    if has_body {
        codes.extend([
            Code::MissingField,
            Code::InvalidField,
            Code::BodyTooLarge,
            Code::UnsupportedMediaType,
        ]);
    }
    if endpoint.takes_idempotency_key() {
        codes.extend([Code::InvalidField, Code::IdempotencyKeyReused, Code::Sealed]);
    }
    codes.extend(endpoint.errors);
    codes
}

/// The codes by status, in table order, each once.
fn by_status(codes: &[Code]) -> BTreeMap<u16, Vec<Code>> {
    let mut by_status: BTreeMap<u16, Vec<Code>> = BTreeMap::new();
    for code in codes {
        let known = by_status.entry(code.status().as_u16()).or_default();
        if !known.contains(code) {
            known.push(*code);
        }
    }
    by_status
}

fn refusal(codes: &[Code], headers: BTreeMap<String, RefOr<Header>>, is_browsed: bool) -> Response {
    let description: Vec<String> = codes
        .iter()
        .map(|code| format!("`{}`: {}", code.as_str(), code.meaning()))
        .collect();
    let content = ContentBuilder::new().schema(Some(Ref::from_schema_name(ERROR)));
    let mut response = ResponseBuilder::new()
        .description(description.join("\n\n"))
        .content("application/json", content.build());
    if is_browsed {
        let page = ContentBuilder::new().schema(Some(String::schema()));
        response = response.content("text/html", page.build());
    }
    let mut response = response.build();
    response.headers.extend(headers);
    response
}

/// Header name, type and meaning.
const REQUEST_ID: (&str, Type, &str) = (
    "X-Request-Id",
    Type::String,
    "Id of this request: the caller's own if it was well-formed, otherwise a generated one.",
);
const LIMITS: [(&str, Type, &str); 3] = [
    (
        "X-RateLimit-Limit",
        Type::Integer,
        "Number of requests allowed per window.",
    ),
    (
        "X-RateLimit-Remaining",
        Type::Integer,
        "Number of requests left in this window.",
    ),
    (
        "X-RateLimit-Reset",
        Type::Integer,
        "When the window ends, in Unix seconds.",
    ),
];
const RETRY_AFTER: (&str, Type, &str) = (
    "Retry-After",
    Type::Integer,
    "Seconds to wait before a retry.",
);

const REPLAYED: (&str, Type, &str) = (
    "Idempotent-Replayed",
    Type::Boolean,
    "`true` on the replayed response to an earlier request with the same `Idempotency-Key`; absent otherwise.",
);

/// The headers that name the App and the environment of a call with a management key.
fn named_world() -> [Parameter; 2] {
    let of_app = "Id of the App, for a call with a management key. Otherwise ignored.";
    let of_environment = "`test` or `live`, for a call with a management key. Otherwise ignored.";
    [(APP_HEADER, of_app), (ENVIRONMENT_HEADER, of_environment)].map(|(name, text)| {
        ParameterBuilder::new()
            .name(name)
            .parameter_in(ParameterIn::Header)
            .required(Required::False)
            .description(Some(text))
            .schema(Some(ObjectBuilder::new().schema_type(Type::String)))
            .build()
    })
}

/// The header with the session of a wallet's owner.
fn presented_session() -> Parameter {
    let text = "The `session_token` of a live session of the wallet's owner. Needed if the key has `require_session`, otherwise ignored.";
    ParameterBuilder::new()
        .name(SESSION_HEADER)
        .parameter_in(ParameterIn::Header)
        .required(Required::False)
        .description(Some(text))
        .schema(Some(ObjectBuilder::new().schema_type(Type::String)))
        .build()
}

/// The header that calls accept which change something.
fn idempotency_key() -> Parameter {
    let schema = ObjectBuilder::new()
        .schema_type(Type::String)
        .min_length(Some(1))
        .max_length(Some(MAX_LENGTH))
        .pattern(Some("^[!-~]+$"));
    ParameterBuilder::new()
        .name(HEADER)
        .parameter_in(ParameterIn::Header)
        .required(Required::False)
        .description(Some(
            "Your own unique name for this request. If the same request is sent again with the same key within 24 hours, it is \
             not executed again and returns the first response.",
        ))
        .schema(Some(schema))
        .build()
}

/// References to the headers that only some kinds of response have. The introduction names those of all.
fn headers(is_kept: bool, retries: bool) -> BTreeMap<String, RefOr<Header>> {
    let replayed = Some(&REPLAYED).filter(|_| is_kept);
    let retry_after = Some(&RETRY_AFTER).filter(|_| retries);
    replayed
        .into_iter()
        .chain(retry_after)
        .map(|(name, _, _)| {
            let place = Ref::new(format!("#/components/headers/{name}"));
            ((*name).to_owned(), RefOr::Ref(place))
        })
        .collect()
}

fn described_headers() -> impl Iterator<Item = (String, RefOr<Header>)> {
    let all = std::iter::once(REQUEST_ID)
        .chain(LIMITS)
        .chain([REPLAYED, RETRY_AFTER]);
    all.map(|(name, kind, description)| {
        let header = HeaderBuilder::new()
            .schema(Some(ObjectBuilder::new().schema_type(kind)))
            .description(Some(description));
        (name.to_owned(), RefOr::T(header.build()))
    })
}
