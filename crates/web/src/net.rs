//! The net under a handler: what falls there is answered all the same.

use std::panic::AssertUnwindSafe;

use actix_web::Error;
use actix_web::body::BoxBody;
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::middleware::Next;
use futures_util::FutureExt;

use crate::problem::Problem;

/// A panic ends its request and nothing else. What it said is not repeated: it may hold what the request held.
pub(crate) async fn guarded(
    request: ServiceRequest,
    next: Next<BoxBody>,
) -> Result<ServiceResponse, Error> {
    let kept = request.request().clone();
    match AssertUnwindSafe(next.call(request)).catch_unwind().await {
        Ok(answer) => answer,
        Err(_panic) => {
            let problem = Problem::internal("a handler panicked").closing();
            Ok(ServiceResponse::from_err(problem, kept))
        }
    }
}

#[cfg(test)]
mod tests;
