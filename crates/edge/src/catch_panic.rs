//! Catches panics of handlers and turns them into responses.

use std::panic::AssertUnwindSafe;

use actix_web::Error;
use actix_web::body::BoxBody;
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::middleware::Next;
use futures_util::FutureExt;

use crate::problem::Problem;

/// Turns a panic into an internal error for its request alone. The panic message is not repeated, because it may quote the request.
pub(crate) async fn catch_panic(
    request: ServiceRequest,
    next: Next<BoxBody>,
) -> Result<ServiceResponse, Error> {
    let kept = request.request().clone();
    match AssertUnwindSafe(next.call(request)).catch_unwind().await {
        Ok(response) => response,
        Err(_panic) => {
            let problem = Problem::internal("a handler panicked").close_connection();
            Ok(ServiceResponse::from_err(problem, kept))
        }
    }
}

#[cfg(test)]
mod tests;
