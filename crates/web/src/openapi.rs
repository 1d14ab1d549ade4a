//! The API description: OpenAPI 3.1, built from the endpoints and the types they read and write.

mod webhooks;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use utoipa::openapi::header::HeaderBuilder;
use utoipa::openapi::path::{Operation, Parameter, ParameterBuilder, ParameterIn, PathItem, Paths};
use utoipa::openapi::request_body::RequestBody;
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};
use utoipa::openapi::security::{
    ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme,
};
use utoipa::openapi::{
    ComponentsBuilder, ContentBuilder, Header, InfoBuilder, LicenseBuilder, OpenApi,
    OpenApiBuilder, Ref, RefOr, Required, Response, ResponseBuilder,
};
use utoipa::{PartialSchema, ToSchema};
use vestry_domain::idempotency::{HEADER, MAX_LENGTH};

use crate::http::endpoint::{Endpoint, Schemas};
use crate::http::gate::{Auth, SESSION_HEADER};
use crate::http::problem::{Code, ErrorBody, ErrorDetail};
use crate::routes;

const SECRET_KEY: &str = "secret_key";
const QUERY_KEY: &str = "query_key";
const PUBLIC_TOKEN: &str = "public_token";
const ERROR: &str = "Error";

const INTRODUCTION: &str = "\
Sign-in, user management and managed wallets for an App.

**Keys.** Every call except the key sets and the probes needs `Authorization: Bearer sk_test_…` or `sk_live_…`. The key \
selects the App and one of its two environments, which share no users, sessions, wallets or keys.

**Restricted keys.** A key can be limited to scopes, operations, users, wallets, wallet types and networks, and can expire. A call \
outside its limits is 403 `key_not_allowed`, and `error.param` names the limit; users and wallets that it does not list do not exist \
for it. With `require_session`, signing needs the header `Vestry-Session` with a live session token of the wallet's owner.

**Errors.** Every error has the same body; branch on `error.code`. 5xx and 429 responses that are worth retrying \
carry `Retry-After`, in seconds.

**Rate limits.** Requests are limited per App and environment. `X-RateLimit-Limit`, `X-RateLimit-Remaining` and \
`X-RateLimit-Reset` (Unix seconds) are on every response to a call with a key, unless there is no limit.

**Requests.** Bodies are JSON objects of at most 256 KiB. Unknown fields are ignored, and `null` counts as absent. \
Duplicate fields and NUL characters are rejected.

**Idempotency.** Calls that change something accept the header `Idempotency-Key`. For 24 hours, the same request with the same \
key is executed once, and its response is replayed with `Idempotent-Replayed: true`. Another request with that key returns \
409 `idempotency_key_reused`. So does the same request while it is still running, with `Retry-After`.";

/// The description as pretty-printed JSON, ending with a newline.
pub(crate) fn text() -> &'static str {
    static TEXT: LazyLock<String> = LazyLock::new(|| {
        let mut text = document().to_pretty_json().unwrap_or_default();
        text.push('\n');
        text
    });
    &TEXT
}

fn document() -> OpenApi {
    let endpoints = routes::endpoints();
    let mut schemas: Schemas = vec![
        (ErrorBody::name().into_owned(), ErrorBody::schema()),
        (ErrorDetail::name().into_owned(), ErrorDetail::schema()),
        (<Code as ToSchema>::name().into_owned(), Code::schema()),
    ];
    let mut paths = Paths::new();
    for endpoint in &endpoints {
        (endpoint.schemas)(&mut schemas);
        let item = PathItem::new(endpoint.method.clone(), operation(endpoint));
        match paths.paths.get_mut(&endpoint.path) {
            Some(known) => known.merge_operations(item),
            None => {
                paths.paths.insert(endpoint.path.clone(), item);
            }
        }
    }
    // Sorted by name, so that the document does not change when a module moves.
    let schemas: BTreeMap<_, _> = schemas.into_iter().collect();
    let components = described_headers()
        .fold(
            webhooks::described(ComponentsBuilder::new()),
            |components, (name, header)| components.header(name, header),
        )
        .schemas_from_iter(schemas)
        .security_scheme(SECRET_KEY, secret_key())
        .security_scheme(QUERY_KEY, query_key())
        .security_scheme(PUBLIC_TOKEN, public_token())
        .build();
    let info = InfoBuilder::new()
        .title("Vestry")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some(INTRODUCTION))
        .license(Some(
            LicenseBuilder::new()
                .name(env!("CARGO_PKG_LICENSE"))
                .build(),
        ));
    OpenApiBuilder::new()
        .info(info)
        .paths(paths)
        .webhooks(Some(webhooks::webhooks()))
        .components(Some(components))
        .build()
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
    operation.security = security(endpoint.auth);
    let is_keyed = routes::is_keyed(endpoint.auth);
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

fn security(auth: Auth) -> Option<Vec<SecurityRequirement>> {
    let schemes: &[&str] = match auth {
        Auth::Public => return Some(Vec::new()),
        Auth::SecretKey | Auth::TestKey => &[SECRET_KEY],
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
    if routes::is_keyed(endpoint.auth) {
        codes.extend([
            Code::MissingApiKey,
            Code::InvalidApiKey,
            Code::KeyNotAllowed,
            Code::RateLimited,
        ]);
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
        .map(|code| format!("`{}`: {}", code.on_the_wire(), code.meaning()))
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

fn described_headers() -> impl Iterator<Item = (&'static str, Header)> {
    let all = std::iter::once(REQUEST_ID)
        .chain(LIMITS)
        .chain([REPLAYED, RETRY_AFTER]);
    all.map(|(name, kind, description)| {
        let header = HeaderBuilder::new()
            .schema(Some(ObjectBuilder::new().schema_type(kind)))
            .description(Some(description));
        (name, header.build())
    })
}

#[cfg(test)]
mod tests;
