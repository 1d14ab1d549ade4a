//! Requests with a management key: calls of the management API, and calls that name an App and environment in headers.

use std::net::IpAddr;
use std::sync::Arc;

use actix_web::body::BoxBody;
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::header::{HeaderMap, HeaderName};
use actix_web::middleware::Next;
use actix_web::web::Data;
use actix_web::{Error, HttpMessage, HttpRequest};
use vestry_app::{AuthenticateError, Caller, Principal, Refusal};
use vestry_domain::api_key::Restriction;
use vestry_domain::limits::LimitVerdict;
use vestry_domain::operation::Operation;
use vestry_domain::{Environment, Invalid, Secret, World, management_key};

use super::{RoutePolicy, credentials, forget_secrets, limit_headers, rate_limited};
use crate::catch_panic::catch_panic;
use crate::client;
use crate::idempotency::{self, KEY};
use crate::problem::{Code, Problem};
use crate::request_id::RequestId;
use crate::state::State;

/// The header that names the App of a call with a management key.
pub(crate) const APP_HEADER: &str = "Vestry-App";
const APP: HeaderName = HeaderName::from_static("vestry-app");
/// The header that names its environment.
pub(crate) const ENVIRONMENT_HEADER: &str = "Vestry-Environment";
const ENVIRONMENT: HeaderName = HeaderName::from_static("vestry-environment");

/// Passes a call of the management API on to its handler or rejects it.
pub(super) async fn pass(
    state: &Data<State>,
    policy: &RoutePolicy,
    mut request: ServiceRequest,
    next: Next<BoxBody>,
) -> Result<ServiceResponse, Error> {
    let admitted = match presented(request.headers()) {
        Ok(key) => admission(state, &request, key).await,
        Err(problem) => Err(problem),
    };
    forget_secrets(&mut request);
    let (principal, verdict, from) = match admitted {
        Ok(admitted) => admitted,
        Err(problem) => return Ok(request.error_response(problem)),
    };
    let mut response = if !verdict.admitted {
        request.error_response(rate_limited(state, &verdict))
    } else if let Err(restriction) = principal.comes_from(from) {
        request.error_response(Problem::from(restriction))
    } else {
        request.extensions_mut().insert(principal.clone());
        if policy.keyed.contains(request.method()) && request.headers().contains_key(KEY) {
            once(state, &principal, request, next).await?
        } else {
            catch_panic(request, next).await?
        }
    };
    let refused = response
        .response()
        .error()
        .and_then(|error| error.as_error::<Problem>())
        .and_then(recorded);
    if let Some(code) = refused {
        note(state, policy, principal, response.request(), code).await;
    }
    limit_headers(&verdict, response.headers_mut());
    Ok(response)
}

/// Runs a request that has an `Idempotency-Key`, unless it has already run. It belongs to the App and environment in its path, and without
/// one to the deployment.
async fn once(
    state: &Data<State>,
    principal: &Principal,
    request: ServiceRequest,
    next: Next<BoxBody>,
) -> Result<ServiceResponse, Error> {
    let segment = |name| request.match_info().get(name);
    let caller = match (segment("app_id"), segment("environment")) {
        (None, _) => Ok(Ok(state.service.caller_in_deployment(principal))),
        (Some(app), environment) => {
            let environment = environment.unwrap_or_default().parse();
            let (Ok(app), Ok(environment)) = (app.parse(), environment) else {
                // The handler responds with 404.
                return catch_panic(request, next).await;
            };
            let (by, world) = (principal.clone(), World::new(app, environment));
            let found = state
                .service
                .run(|service| async move { service.caller(&by, world).await });
            found.await.map_err(Problem::from)
        }
    };
    match caller {
        Ok(Ok(caller)) => idempotency::once(state, Arc::new(caller), request, next).await,
        // The handler refuses too, and checks the scope first. Nothing of that is stored.
        Ok(Err(Refusal::NotFound(_) | Refusal::Restricted(_))) => catch_panic(request, next).await,
        Ok(Err(refusal)) => Ok(request.error_response(Problem::from(refusal))),
        Err(problem) => Ok(request.error_response(problem)),
    }
}

/// Whether a request to one of the calls that App keys make has a management key instead.
pub(super) fn is_sent(headers: &HeaderMap) -> bool {
    presented(headers).is_ok_and(|key| management_key::has_form(key.expose()))
}

/// The caller behind a management key, in the App and environment that the headers name. The inner error is a refusal of an authenticated
/// and counted request.
pub(super) async fn caller(
    state: &State,
    policy: &RoutePolicy,
    request: &ServiceRequest,
) -> Result<(Result<Arc<Caller>, Problem>, LimitVerdict), Problem> {
    let key = presented(request.headers())?;
    let (principal, verdict, from) = admission(state, request, key).await?;
    let found = if !verdict.admitted {
        Err(rate_limited(state, &verdict))
    } else if let Err(restriction) = allowed(policy, request, &principal, from) {
        Err(Problem::from(restriction))
    } else {
        match named_world(request.headers()) {
            Ok(world) => {
                let by = principal.clone();
                let found = state
                    .service
                    .run(|service| async move { service.caller(&by, world).await });
                // Rights come first: whether an App exists is nothing for a key that lacks the scope.
                let missing = || missing_scope(policy, request, &principal);
                found.await?.map_err(|refusal| {
                    let missing = missing().map(Problem::from);
                    missing.unwrap_or_else(|| Problem::from(refusal))
                })
            }
            Err(invalid) => Err(invalid.into()),
        }
    };
    match found {
        Ok(caller) => Ok((Ok(Arc::new(caller)), verdict)),
        Err(problem) => {
            if let Some(code) = recorded(&problem) {
                note(state, policy, principal, request.request(), code).await;
            }
            Ok((Err(problem), verdict))
        }
    }
}

/// Checks what the request alone decides: the client address, and whether a management key can make the call at all.
fn allowed(
    policy: &RoutePolicy,
    request: &ServiceRequest,
    principal: &Principal,
    from: Option<IpAddr>,
) -> Result<(), Restriction> {
    principal.comes_from(from)?;
    match operation(policy, request) {
        Some(operation) if operation.action().management_scope().is_none() => {
            Err(Restriction::Operation(operation))
        }
        _ => Ok(()),
    }
}

/// The scope that the call needs and the key lacks.
fn missing_scope(
    policy: &RoutePolicy,
    request: &ServiceRequest,
    principal: &Principal,
) -> Option<Restriction> {
    principal.missing_scope(operation(policy, request)?.action())
}

fn operation(policy: &RoutePolicy, request: &ServiceRequest) -> Option<Operation> {
    policy.route.operation(request.method())
}

fn named_world(headers: &HeaderMap) -> Result<World, Invalid> {
    let app = named(headers, &APP, APP_HEADER)?.parse();
    let environment = named(headers, &ENVIRONMENT, ENVIRONMENT_HEADER)?.parse();
    let malformed = |name, message| Invalid::value(name, message);
    let app = app.map_err(|_malformed: Invalid| {
        malformed(APP_HEADER, "Vestry-App must be the id of an App, app_…")
    })?;
    let environment: Environment = environment.map_err(|_malformed: Invalid| {
        malformed(
            ENVIRONMENT_HEADER,
            "Vestry-Environment must be test or live",
        )
    })?;
    Ok(World::new(app, environment))
}

/// The value of a header that must be sent once.
fn named<'a>(
    headers: &'a HeaderMap,
    header: &HeaderName,
    name: &'static str,
) -> Result<&'a str, Invalid> {
    let mut sent = headers.get_all(header);
    match (sent.next(), sent.next()) {
        (Some(value), None) => Ok(value.to_str().unwrap_or_default()),
        (None, _) => Err(Invalid::missing(name)),
        (Some(_), Some(_)) => Err(Invalid::value(name, format!("{name} must be sent once"))),
    }
}

fn presented(headers: &HeaderMap) -> Result<Secret<String>, Problem> {
    credentials(headers, "bearer")?.ok_or_else(|| Problem::new(Code::MissingApiKey))
}

/// Authenticates a management key and counts the request. Also returns the client address, if it is known.
async fn admission(
    state: &State,
    request: &ServiceRequest,
    key: Secret<String>,
) -> Result<(Principal, LimitVerdict, Option<IpAddr>), Problem> {
    if !management_key::has_form(key.expose()) {
        return Err(Problem::new(Code::InvalidApiKey));
    }
    let (peer, now) = (request.peer_addr(), state.service.machine_time());
    let proxies = &state.settings.trusted_proxies.current();
    let headers = request.headers();
    let counted = peer.map(|peer| client::address(peer.ip(), headers, proxies));
    let from = peer.and_then(|peer| client::known_address(peer.ip(), headers, proxies));
    let is_known = state.service.has_seen_management_key(key.expose());
    if let Some(counted) = counted.filter(|_| !is_known) {
        let looked_up = state.auth_throttle.may_look_up(counted, now);
        looked_up.map_err(|wait| Problem::new(Code::RateLimited).with_retry_after(wait))?;
    }
    let admitted = state.service.run(|service| async move {
        let principal = service.authenticate_management_key(key.expose()).await?;
        let verdict = service.admit_management_key(&principal).await?;
        Ok::<_, AuthenticateError>((principal, verdict))
    });
    let admitted = admitted.await?;
    if let (Err(AuthenticateError::Unknown), Some(counted)) = (&admitted, counted) {
        state.auth_throttle.failed(counted, now);
    }
    let (principal, verdict) = admitted?;
    Ok((principal, verdict, from))
}

/// The error code, if it is recorded in the audit log: a lack of rights, or an App that is not one of the key's.
fn recorded(problem: &Problem) -> Option<&'static str> {
    problem
        .recorded()
        .or_else(|| problem.is_unknown("app").then_some("not_found"))
}

/// Records a refused call in the audit log of the deployment.
async fn note(
    state: &State,
    policy: &RoutePolicy,
    principal: Principal,
    request: &HttpRequest,
    code: &'static str,
) {
    let id = request
        .extensions()
        .get::<RequestId>()
        .map(RequestId::shared);
    let call = format!("{} {}", request.method(), policy.route.as_str());
    let principal = match id {
        Some(id) => principal.of_request(id),
        None => principal,
    };
    let noted = state.service.run(|service| async move {
        service
            .note_refusal_in_deployment(&principal, &call, code)
            .await;
    });
    // A panic is already in the log and does not affect the response.
    drop(noted.await);
}
