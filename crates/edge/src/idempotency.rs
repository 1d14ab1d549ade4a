//! `Idempotency-Key`: a repeated request gets the stored response and is executed only once.
//!
//! This layer sits between the gate and the handlers. Every endpoint that changes something therefore has it, and no handler knows about
//! it.
//!
//! A stored response consists of its status and body. Headers of the current request (its id, its rate limit) are generated each time.

use std::sync::Arc;

use actix_web::body::{BoxBody, to_bytes};
use actix_web::dev::{Payload, ServiceRequest, ServiceResponse};
use actix_web::http::StatusCode;
use actix_web::http::header::{HeaderMap, HeaderName, HeaderValue};
use actix_web::middleware::Next;
use actix_web::web::{Bytes, Data};
use actix_web::{Error, HttpMessage, HttpRequest, HttpResponse};
use tracing::Instrument;
use vestry_app::Caller;
use vestry_app::idempotency::{Begun, KeyedRequest, Outcome, Run};
use vestry_domain::Secret;
use vestry_domain::idempotency::IdempotencyKey;

use crate::body;
use crate::catch_panic::catch_panic;
use crate::problem::Problem;
use crate::request_id::RequestId;
use crate::state::State;

/// The header with the caller's name for its request.
pub(crate) const KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// `true` on a replayed response.
pub(crate) const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

/// A request with its key, before it is known whether it has already run.
struct Asked {
    caller: Arc<Caller>,
    key: IdempotencyKey,
    keyed: KeyedRequest,
}

/// Runs a request that has a key, unless it has already run.
pub(crate) async fn once(
    state: &Data<State>,
    caller: Arc<Caller>,
    mut request: ServiceRequest,
    next: Next<BoxBody>,
) -> Result<ServiceResponse, Error> {
    let asked = match asked(caller, &mut request).await {
        Ok(asked) => asked,
        Err(problem) => return Ok(request.error_response(problem)),
    };
    let http = request.request().clone();
    // A handler is dropped when its client disconnects, and those are the clients that retry with the key. The response must be stored for
    // them.
    let running = actix_web::rt::spawn(response(state.clone(), asked, request, next));
    match running.await {
        Ok(response) => response,
        Err(_panic) => {
            let problem = Problem::internal("an idempotent run panicked").close_connection();
            Ok(ServiceResponse::from_err(problem, http))
        }
    }
}

/// Reads the key and the body, and restores the body for the handler.
async fn asked(caller: Arc<Caller>, request: &mut ServiceRequest) -> Result<Asked, Problem> {
    let key = presented(request.headers())?;
    let (http, payload) = request.parts_mut();
    let body = body::read(http, payload.take()).await?.freeze();
    request.set_payload(Payload::from(body.clone()));
    let keyed = keyed_request(request, &body);
    Ok(Asked { caller, key, keyed })
}

async fn response(
    state: Data<State>,
    asked: Asked,
    request: ServiceRequest,
    next: Next<BoxBody>,
) -> Result<ServiceResponse, Error> {
    let span = span(request.request());
    let begun = state.service.run(|service| {
        let Asked { caller, key, keyed } = asked;
        async move { service.begin_run(&caller, &key, &keyed).await }.instrument(span)
    });
    match begun.await.map_err(Problem::from) {
        Ok(Ok(Begun::Run(run))) => {
            request.extensions_mut().insert(Arc::clone(&run));
            run_and_keep(state, run, request, next).await
        }
        Ok(Ok(Begun::Replay(stored))) => Ok(replay(request, stored.expose())),
        Ok(Err(refused)) => Ok(request.error_response(Problem::from(refused))),
        Err(problem) => Ok(request.error_response(problem)),
    }
}

/// Parses the single `Idempotency-Key` header.
fn presented(headers: &HeaderMap) -> Result<IdempotencyKey, Problem> {
    let mut sent = headers.get_all(KEY);
    match (sent.next(), sent.next()) {
        (Some(key), None) => Ok(IdempotencyKey::parse(key.as_bytes())?),
        _ => Err(IdempotencyKey::refused().into()),
    }
}

fn keyed_request(request: &ServiceRequest, body: &Bytes) -> KeyedRequest {
    let target = request.uri().path_and_query();
    KeyedRequest {
        method: request.method().to_string(),
        target: target.map_or_else(String::new, ToString::to_string),
        body: Secret::new(body.to_vec()),
    }
}

fn span(request: &HttpRequest) -> tracing::Span {
    let extensions = request.extensions();
    let id = extensions.get::<RequestId>().map_or("-", RequestId::as_str);
    tracing::error_span!("request", request_id = id)
}

/// Runs the request to completion and stores its outcome.
async fn run_and_keep(
    state: Data<State>,
    run: Arc<Run>,
    request: ServiceRequest,
    next: Next<BoxBody>,
) -> Result<ServiceResponse, Error> {
    let span = span(request.request());
    let renewal = state.service.renew_run(&run);
    let (response, outcome) = match catch_panic(request, next).await {
        Ok(response) => {
            let (response, outcome) = outcome(response).await;
            (Ok(response), outcome)
        }
        Err(error) => (Err(error), Outcome::Failed),
    };
    drop(renewal);
    let ended = state
        .service
        .run(|service| async move { service.end_run(&run, outcome).await }.instrument(span));
    match (response, ended.await.flatten()) {
        (response, Ok(())) => response,
        (Ok(response), Err(fault)) => Ok(response.error_response(Problem::from(fault))),
        (Err(error), Err(_fault)) => Err(error),
    }
}

/// How to store a handler's response. Its body is read for this and put back unchanged.
async fn outcome(response: ServiceResponse) -> (ServiceResponse, Outcome) {
    if let Some(error) = response.response().error() {
        let outcome = match error.as_error::<Problem>() {
            Some(problem) if problem.is_failure() => Outcome::Failed,
            Some(problem) => {
                let status = problem.code.status();
                let stored = problem.to_replay();
                stored.map_or(Outcome::Undecided, |stored| decided(status, &stored))
            }
            // An error of the framework: no use case has seen the request.
            None => Outcome::Undecided,
        };
        return (response, outcome);
    }
    let (request, response) = response.into_parts();
    let (response, body) = response.into_parts();
    let status = response.status();
    match to_bytes(body).await {
        Ok(body) => {
            let outcome = decided(status, &body);
            let response = response.set_body(BoxBody::new(body));
            (ServiceResponse::new(request, response), outcome)
        }
        Err(broken) => {
            let problem = Problem::internal(broken.to_string());
            (ServiceResponse::from_err(problem, request), Outcome::Failed)
        }
    }
}

/// The stored form: the status in two bytes, then the body.
fn decided(status: StatusCode, body: &[u8]) -> Outcome {
    let status = status.as_u16().to_be_bytes();
    Outcome::Decided(Secret::new([status.as_slice(), body].concat()))
}

/// Builds the response to a repeated request from the stored one.
fn replay(request: ServiceRequest, stored: &[u8]) -> ServiceResponse {
    let mut response = match stored_response(stored) {
        Some(Ok(response)) => request.into_response(response),
        Some(Err(problem)) => request.error_response(problem),
        None => {
            return request.error_response(Problem::internal(
                "a stored idempotent response cannot be decoded",
            ));
        }
    };
    let headers = response.headers_mut();
    headers.insert(REPLAYED, HeaderValue::from_static("true"));
    response
}

fn stored_response(stored: &[u8]) -> Option<Result<HttpResponse, Problem>> {
    let (status, body) = stored.split_first_chunk::<2>()?;
    let status = StatusCode::from_u16(u16::from_be_bytes(*status)).ok()?;
    if status.is_client_error() {
        return Problem::from_replay(body).map(Err);
    }
    let mut response = HttpResponse::build(status);
    Some(Ok(response
        .content_type("application/json")
        .body(body.to_vec())))
}

#[cfg(test)]
mod tests;
