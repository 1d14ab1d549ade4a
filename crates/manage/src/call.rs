//! The bridge from a handler to a use case.

use std::future::{Ready, ready};
use std::sync::Arc;

use actix_web::dev::{Extensions, Payload};
use actix_web::web::Data;
use actix_web::{FromRequest, HttpMessage, HttpRequest};
use tracing::Instrument;
use vestry_app::idempotency::Run;
use vestry_app::{Principal, Refusal, Service};
use vestry_edge::{Problem, RequestId, State};

/// A request whose management key passed the gate.
pub(crate) struct Call {
    state: Data<State>,
    principal: Principal,
    span: tracing::Span,
}

impl FromRequest for Call {
    type Error = Problem;
    type Future = Ready<Result<Self, Problem>>;

    fn from_request(request: &HttpRequest, _payload: &mut Payload) -> Self::Future {
        let extensions = request.extensions();
        let call = match (
            request.app_data(),
            extensions.get::<Principal>(),
            extensions.get::<RequestId>(),
        ) {
            (Some(state), Some(principal), Some(id)) => Ok(Self {
                state: Data::clone(state),
                principal: in_run(principal, &extensions).of_request(id.shared()),
                span: tracing::error_span!("request", request_id = id.as_str()),
            }),
            _ => Err(Problem::internal(
                "a handler that requires a management key is behind a gate that checks none",
            )),
        };
        ready(call)
    }
}

/// The principal, bound to the run of a request with an `Idempotency-Key`.
fn in_run(principal: &Principal, extensions: &Extensions) -> Principal {
    match extensions.get::<Arc<Run>>() {
        Some(run) => principal.in_run(Arc::clone(run)),
        None => principal.clone(),
    }
}

impl Call {
    /// Runs a use case to completion, even if the client disconnects.
    pub(crate) async fn run<T, C, F>(self, command: C) -> Result<T, Problem>
    where
        C: FnOnce(Arc<Service>, Principal) -> F,
        F: Future<Output = Result<T, Refusal>> + Send + 'static,
        T: Send + 'static,
    {
        self.attempt(command).await?.map_err(Problem::from)
    }

    /// The same for a use case whose refusals the handler looks at.
    pub(crate) async fn attempt<T, C, F>(self, command: C) -> Result<Result<T, Refusal>, Problem>
    where
        C: FnOnce(Arc<Service>, Principal) -> F,
        F: Future<Output = Result<T, Refusal>> + Send + 'static,
        T: Send + 'static,
    {
        let Self {
            state,
            principal,
            span,
        } = self;
        let outcome = state
            .service
            .run(|service| Box::pin(command(service, principal)).instrument(span))
            .await;
        Ok(outcome?)
    }
}
