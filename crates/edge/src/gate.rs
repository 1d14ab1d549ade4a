//! The gate in front of each endpoint: it checks the API key and the rate limit.

mod management;

use std::rc::Rc;
use std::sync::Arc;

use actix_web::body::BoxBody;
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use actix_web::http::{Method, StatusCode};
use actix_web::middleware::Next;
use actix_web::web::Data;
use actix_web::{Error, HttpMessage};
use vestry_app::{AuthenticateError, Caller, LimitedCall};
use vestry_domain::Secret;
use vestry_domain::api_key::{self, ApiKeyKind, Restriction};
use vestry_domain::limits::LimitVerdict;
use vestry_domain::token;

pub(crate) use self::management::{APP_HEADER, ENVIRONMENT_HEADER};
use crate::catch_panic::catch_panic;
use crate::client;
use crate::cors;
use crate::idempotency;
use crate::measure;
use crate::problem::{Code, PageWanted, Problem};
use crate::query;
use crate::request_id::RequestId;
use crate::route::Route;
use crate::state::State;

const LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
const REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
const RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");

/// Authentication required by a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Auth {
    /// None.
    Public,
    /// A secret key.
    SecretKey,
    /// A secret key, in the header or as `?api_key=` for clients that can only fetch a URL.
    SecretKeyOrQuery,
    /// A secret key, or a public token in the header as `PublicToken pk_…` or in the query as `?public_token=`. If both are sent, the token
    /// decides.
    SecretKeyOrPublicToken,
    /// A secret key of a test environment. With any other key the endpoint does not exist (S-17).
    TestKey,
    /// A management key.
    ManagementKey,
}

impl Auth {
    /// Whether a request must present a key.
    pub(crate) const fn is_keyed(self) -> bool {
        !matches!(self, Self::Public)
    }
}

/// An endpoint's policy, as its gate sees it.
pub(crate) struct RoutePolicy {
    pub(crate) route: Route,
    pub(crate) auth: Auth,
    /// Whether pages may call it; see [`cors`].
    pub(crate) for_pages: bool,
    /// Methods whose responses are stored for requests with an `Idempotency-Key`.
    pub(crate) keyed: Vec<Method>,
    /// Whether browsers follow links to it. Errors are then shown as a page.
    pub(crate) is_browsed: bool,
}

/// Passes a request on to its handler or rejects it, and sets the CORS headers that let pages read the response.
pub(crate) async fn gate(
    state: Data<State>,
    policy: Rc<RoutePolicy>,
    request: ServiceRequest,
    next: Next<BoxBody>,
) -> Result<ServiceResponse, Error> {
    request.extensions_mut().insert(policy.route.clone());
    if policy.is_browsed && follows_a_link(request.headers(), request.query_string()) {
        request.extensions_mut().insert(PageWanted);
    }
    if !policy.for_pages {
        return pass(state, &policy, request, next).await;
    }
    if cors::is_preflight(&request) {
        return Ok(request.into_response(cors::preflight()));
    }
    let is_open = policy.auth == Auth::Public || !has_secret_key(request.headers());
    let mut response = pass(state, &policy, request, next).await?;
    if is_open {
        cors::open(response.headers_mut());
    }
    Ok(response)
}

async fn pass(
    state: Data<State>,
    policy: &RoutePolicy,
    mut request: ServiceRequest,
    next: Next<BoxBody>,
) -> Result<ServiceResponse, Error> {
    if policy.auth == Auth::ManagementKey {
        return management::pass(&state, policy, request, next).await;
    }
    let admission = match policy.auth {
        Auth::Public => None,
        Auth::SecretKey if management::is_sent(request.headers()) => {
            match management::caller(&state, policy, &request).await {
                Ok((Ok(caller), verdict)) => Some(Ok((caller, verdict))),
                Ok((Err(problem), verdict)) => {
                    forget_secrets(&mut request);
                    let mut response = request.error_response(problem);
                    limit_headers(&verdict, response.headers_mut());
                    return Ok(response);
                }
                Err(problem) => Some(Err(problem)),
            }
        }
        _ => Some(admission(&state, policy, &request).await),
    };
    // The framework keeps request heads for reuse and would keep the key with them (M-11).
    request.headers_mut().remove(AUTHORIZATION);
    let Some(admission) = admission else {
        return catch_panic(request, next).await;
    };
    let (caller, verdict) = match admission {
        Ok(admission) => admission,
        Err(problem) => return Ok(request.error_response(problem)),
    };
    measure::decided(&state, &policy.route, &request, verdict.admitted);
    let is_test = caller.is_test();
    let caller = limited(caller, &mut request);
    request.extensions_mut().insert(Arc::clone(&caller));
    let refused = Arc::clone(&caller);
    if policy.auth == Auth::TestKey && !is_test {
        return Ok(request.error_response(Problem::no_route()));
    }
    let mut response = if !verdict.admitted {
        request.error_response(rate_limited(&state, &verdict))
    } else if let Err(refusal) = caller.has_enabled_app() {
        request.error_response(Problem::from(refusal))
    } else if let Err(restriction) = may_call(&state, &caller, policy, &request) {
        request.error_response(Problem::from(restriction))
    } else if policy.keyed.contains(request.method())
        && request.headers().contains_key(idempotency::KEY)
    {
        idempotency::once(&state, caller, request, next).await?
    } else {
        catch_panic(request, next).await?
    };
    if response.status().is_success() && !refused.is_judged() {
        let unjudged =
            Problem::internal("a call of a limited key was answered without a check of its owner");
        response = response.error_response(unjudged);
    }
    note_refusal(&state, refused, policy, &response).await;
    limit_headers(&verdict, response.headers_mut());
    Ok(response)
}

/// The header with the session that a call presents for the owner of the wallet that it uses.
pub(crate) const SESSION_HEADER: &str = "Vestry-Session";
const SESSION: HeaderName = HeaderName::from_static("vestry-session");

/// Removes the credentials. The framework keeps request heads for reuse and would keep them too (M-11).
fn forget_secrets(request: &mut ServiceRequest) {
    request.headers_mut().remove(AUTHORIZATION);
    request.headers_mut().remove(SESSION);
}

/// Adds the record of this request to the caller of a limited key.
fn limited(caller: Arc<Caller>, request: &mut ServiceRequest) -> Arc<Caller> {
    if !caller.is_limited() {
        request.headers_mut().remove(SESSION);
        return caller;
    }
    let mut sent = request.headers().get_all(SESSION);
    let token = match (sent.next(), sent.next()) {
        (Some(token), None) => token.to_str().ok().filter(|token| token::is_session(token)),
        _ => None,
    };
    let call = LimitedCall::new(token.map(|token| Secret::new(token.to_owned())));
    // As for the key (M-11).
    request.headers_mut().remove(SESSION);
    Arc::new(caller.with_limits(Arc::new(call)))
}

/// Checks the restrictions of a key that need no more than the request: the client address and the operation.
fn may_call(
    state: &State,
    caller: &Caller,
    policy: &RoutePolicy,
    request: &ServiceRequest,
) -> Result<(), Restriction> {
    let Some(restrictions) = caller.key().map(|key| &key.restrictions) else {
        return Ok(());
    };
    if restrictions.ip_allow.is_some() {
        let proxies = &state.settings.trusted_proxies.current();
        let peer = request.peer_addr();
        let client =
            peer.and_then(|peer| client::known_address(peer.ip(), request.headers(), proxies));
        if !restrictions.allows_address(client) {
            return Err(Restriction::Ip);
        }
    }
    // Without an operation the answer is 405.
    let Some(operation) = policy.route.operation(request.method()) else {
        return Ok(());
    };
    if !restrictions.allows_operation(operation) {
        return Err(Restriction::Operation(operation));
    }
    state.service.note_key_use(caller, operation);
    Ok(())
}

/// Records a denied request in the audit log if its error code is one of those that are recorded. A restriction of the key counts too if it
/// gave the response of an unknown object or session.
async fn note_refusal(
    state: &State,
    caller: Arc<Caller>,
    policy: &RoutePolicy,
    response: &ServiceResponse,
) {
    let by_restriction = caller.limited_call().is_some_and(LimitedCall::was_refused);
    if response.status() != StatusCode::FORBIDDEN && !by_restriction {
        return;
    }
    let problem = response.response().error();
    let recorded = problem
        .and_then(|error| error.as_error::<Problem>())
        .and_then(Problem::recorded);
    let Some(code) = recorded.or(by_restriction.then_some("key_not_allowed")) else {
        return;
    };
    let request = response.request();
    let call = format!("{} {}", request.method(), policy.route.as_str());
    let id = request
        .extensions()
        .get::<RequestId>()
        .map(RequestId::shared);
    let caller = match id {
        Some(id) => Arc::new(caller.of_request(id)),
        None => caller,
    };
    let noted = state
        .service
        .run(|service| async move { service.note_refusal(&caller, &call, code).await });
    // A panic is already in the log and does not affect the response.
    drop(noted.await);
}

/// Whether a browser follows a link that asks for a redirect. A program would send its credentials in a header, which a link cannot do.
fn follows_a_link(headers: &HeaderMap, query: &str) -> bool {
    let redirect = query::parameter(query, "redirect");
    redirect.is_some_and(|redirect| redirect.expose() == "true")
        && !headers.contains_key(AUTHORIZATION)
}

async fn admission(
    state: &State,
    policy: &RoutePolicy,
    request: &ServiceRequest,
) -> Result<(Arc<Caller>, LimitVerdict), Problem> {
    let presented = presented_key(policy, request)?;
    let has_form = presented.has_form();
    // The form distinguishes the kinds, so a cached key of the other kind grants nothing here.
    if has_form
        && let Presented::One(_, key) = &presented
        && let Some(admission) = state.service.admit_at_once(key.expose())
    {
        return Ok(admission);
    }
    let (peer, now) = (request.peer_addr(), state.service.machine_time());
    // Only values that have the form of a key are looked up, and only look-ups cost anything.
    let from = peer.filter(|_| has_form).map(|peer| {
        let proxies = &state.settings.trusted_proxies.current();
        client::address(peer.ip(), request.headers(), proxies)
    });
    if let Some(from) = from.filter(|_| !presented.was_seen(state)) {
        let looked_up = state.auth_throttle.may_look_up(from, now);
        looked_up.map_err(|wait| Problem::new(Code::RateLimited).with_retry_after(wait))?;
    }
    let admitted = state.service.run(|service| async move {
        let caller = match &presented {
            Presented::One(kind, key) => service.authenticate_as(*kind, key.expose()).await?,
            Presented::Both { token, key } => {
                let both = service.authenticate_both(token.expose(), key.expose());
                both.await?
            }
        };
        let verdict = service.admit(&caller).await?;
        Ok::<_, AuthenticateError>((caller, verdict))
    });
    let admitted = admitted.await?;
    if let (Err(AuthenticateError::Unknown), Some(from)) = (&admitted, from) {
        state.auth_throttle.failed(from, now);
    }
    Ok(admitted?)
}

/// The credentials that a request presents.
enum Presented {
    One(ApiKeyKind, Secret<String>),
    /// A public token together with the secret key of a client that sends its own key with every call.
    Both {
        token: Secret<String>,
        key: Secret<String>,
    },
}

impl Presented {
    fn has_form(&self) -> bool {
        match self {
            Self::One(kind, key) => api_key::has_form(*kind, key.expose()),
            Self::Both { token, key } => {
                api_key::has_form(ApiKeyKind::Public, token.expose())
                    && api_key::has_form(ApiKeyKind::Secret, key.expose())
            }
        }
    }

    /// Whether this process has already authenticated them.
    fn was_seen(&self, state: &State) -> bool {
        match self {
            Self::One(_, key) => state.service.has_seen(key.expose()),
            Self::Both { token, key } => {
                state.service.has_seen(token.expose()) && state.service.has_seen(key.expose())
            }
        }
    }
}

fn presented_key(policy: &RoutePolicy, request: &ServiceRequest) -> Result<Presented, Problem> {
    let query = request.query_string();
    if policy.auth == Auth::SecretKeyOrPublicToken
        && let Some(presented) = with_public_token(request.headers(), query)?
    {
        return Ok(presented);
    }
    let key = match credentials(request.headers(), "bearer")? {
        Some(key) => Some(key),
        None if policy.auth == Auth::SecretKeyOrQuery => query::parameter(query, "api_key"),
        None => None,
    };
    let key = key.ok_or_else(|| Problem::new(Code::MissingApiKey))?;
    Ok(Presented::One(ApiKeyKind::Secret, key))
}

/// The public token of a request, with the secret key if one is also sent; `None` without a token. Two tokens are rejected, because it is
/// not for the server to choose one.
fn with_public_token(headers: &HeaderMap, query: &str) -> Result<Option<Presented>, Problem> {
    let has_other_scheme = headers
        .get(AUTHORIZATION)
        .is_some_and(|value| !value.is_empty() && credentials_of(value, "publictoken").is_none());
    let in_query = query::parameter(query, "public_token");
    if has_other_scheme {
        let Some(token) = in_query else {
            return Ok(None);
        };
        let key = credentials(headers, "bearer")?;
        let key = key.ok_or_else(|| Problem::new(Code::InvalidApiKey))?;
        return Ok(Some(Presented::Both { token, key }));
    }
    let token = match (credentials(headers, "publictoken")?, in_query) {
        (Some(_), Some(_)) => return Err(Problem::new(Code::InvalidApiKey)),
        (in_header, in_query) => in_header.or(in_query),
    };
    Ok(token.map(|token| Presented::One(ApiKeyKind::Public, token)))
}

/// Whether a request carries a secret key, or something in its place.
fn has_secret_key(headers: &HeaderMap) -> bool {
    let mut sent = headers.get_all(AUTHORIZATION).map(HeaderValue::as_bytes);
    sent.any(|value| {
        let scheme = value.trim_ascii_start().get(..6);
        scheme.is_some_and(|scheme| scheme.eq_ignore_ascii_case(b"bearer"))
    })
}

/// The credentials of the single `Authorization` header (RFC 6750, section 2.1). Another scheme or a second header counts as an invalid
/// key.
fn credentials(headers: &HeaderMap, scheme: &str) -> Result<Option<Secret<String>>, Problem> {
    let mut sent = headers.get_all(AUTHORIZATION);
    let Some(value) = sent.next() else {
        return Ok(None);
    };
    match (credentials_of(value, scheme), sent.next()) {
        (Some(key), None) => Ok(Some(Secret::new(key.to_owned()))),
        (None, None) if value.is_empty() => Ok(None),
        _ => Err(Problem::new(Code::InvalidApiKey)),
    }
}

fn credentials_of<'a>(value: &'a HeaderValue, scheme: &str) -> Option<&'a str> {
    let (named, key) = value.to_str().ok()?.trim().split_once(' ')?;
    named.eq_ignore_ascii_case(scheme).then(|| key.trim_start())
}

/// The refusal of a request that exceeds the rate limit.
fn rate_limited(state: &State, verdict: &LimitVerdict) -> Problem {
    let wait = verdict.reset - state.service.machine_time();
    Problem::new(Code::RateLimited).with_retry_after(wait)
}

/// Adds the rate limit headers, or none if there is no limit: a limit of 0 would mean the opposite.
fn limit_headers(verdict: &LimitVerdict, headers: &mut HeaderMap) {
    if verdict.limit == 0 {
        return;
    }
    headers.insert(LIMIT, HeaderValue::from(verdict.limit));
    headers.insert(REMAINING, HeaderValue::from(verdict.remaining));
    headers.insert(RESET, HeaderValue::from(verdict.reset.unix()));
}

#[cfg(test)]
mod tests;
