//! What OpenAPI documents say about every endpoint: security schemes, headers, parameters, errors.

use std::collections::BTreeMap;

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
    for endpoint in endpoints {
        (endpoint.schemas)(&mut schemas);
        let item = PathItem::new(endpoint.method.clone(), operation(endpoint));
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
    components.add_security_scheme(SECRET_KEY, secret_key());
    components.add_security_scheme(QUERY_KEY, query_key());
    components.add_security_scheme(PUBLIC_TOKEN, public_token());
    components.add_security_scheme(MANAGEMENT_KEY, management_key());
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

/// The operation as described at its handler, with the errors that every endpoint of its kind can return.
fn operation(endpoint: &Endpoint) -> Operation {
    let mut operation = (endpoint.describe)();
    if let Some(RefOr::T(body)) = &mut operation.request_body {
        admit_no_body(body);
    }
    let is_managed = endpoint.is_managed();
    operation.security = security(endpoint.auth, is_managed);
    if is_managed {
        let parameters = operation.parameters.get_or_insert_default();
        parameters.extend(named_world().map(RefOr::T));
    }
    let is_keyed = endpoint.auth.is_keyed();
    let keeps = endpoint.takes_idempotency_key();
    if keeps {
        operation
            .parameters
            .get_or_insert_default()
            .push(RefOr::T(idempotency_key()));
    }
    if endpoint
        .operation()
        .is_some_and(|operation| operation.uses_wallet_key())
    {
        let parameters = operation.parameters.get_or_insert_default();
        parameters.push(RefOr::T(presented_session()));
    }
    for response in operation.responses.responses.values_mut() {
        if let RefOr::T(response) = response {
            response.headers.extend(headers(is_keyed, keeps, false));
        }
    }
    for (status, codes) in by_status(&refusals(endpoint, operation.request_body.is_some())) {
        let retries = matches!(status, 429 | 503) || (keeps && status == 409);
        let is_kept = keeps && matches!(status, 400 | 403 | 404 | 409);
        let headers = headers(is_keyed && status != 401, is_kept, retries);
        let response = refusal(&codes, headers, endpoint.is_browsed);
        operation
            .responses
            .responses
            .insert(status.to_string(), RefOr::T(response));
    }
    operation
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

/// References to the headers that a kind of response has.
fn headers(is_keyed: bool, is_kept: bool, retries: bool) -> BTreeMap<String, RefOr<Header>> {
    let limits = LIMITS.iter().filter(|_| is_keyed);
    let replayed = Some(&REPLAYED).filter(|_| is_kept);
    let retry_after = Some(&RETRY_AFTER).filter(|_| retries);
    std::iter::once(&REQUEST_ID)
        .chain(limits)
        .chain(replayed)
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
