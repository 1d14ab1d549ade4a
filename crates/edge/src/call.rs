//! The bridge from a handler to a use case. It is the only place where a request enters the service's runtime.

use std::future::{Ready, ready};
use std::sync::Arc;

use actix_web::dev::Payload;
use actix_web::web::Data;
use actix_web::{FromRequest, HttpMessage, HttpRequest};
use tracing::Instrument;
use vestry_app::idempotency::Run;
use vestry_app::wallets::{SignedByWallet, SigningCommand};
use vestry_app::{Caller, Service};

use crate::problem::Problem;
use crate::request_id::RequestId;
use crate::state::State;

/// A request whose API key passed the gate.
pub struct Call {
    state: Data<State>,
    caller: Arc<Caller>,
    id: RequestId,
    /// The run of a request with an idempotency key.
    run: Option<Arc<Run>>,
    span: tracing::Span,
}

impl FromRequest for Call {
    type Error = Problem;
    type Future = Ready<Result<Self, Problem>>;

    fn from_request(request: &HttpRequest, _payload: &mut Payload) -> Self::Future {
        let extensions = request.extensions();
        let call = match (
            request.app_data(),
            extensions.get(),
            extensions.get::<RequestId>(),
        ) {
            (Some(state), Some(caller), Some(id)) => Ok(Self {
                state: Data::clone(state),
                caller: Arc::clone(caller),
                id: id.clone(),
                run: extensions.get::<Arc<Run>>().cloned(),
                span: tracing::error_span!("request", request_id = id.as_str()),
            }),
            _ => Err(Problem::internal(
                "a handler that requires a key is behind a gate that checks none",
            )),
        };
        ready(call)
    }
}

impl Call {
    /// The service, for work that neither waits nor touches the store and therefore stays on this worker.
    pub fn service(&self) -> &Service {
        &self.state.service
    }

    /// The service and the caller, for work that may be dropped at any moment because it only reads or hands its writes to others.
    ///
    /// Returns `None` if the response is to be stored for a replay, which only [`Call::run`] does.
    pub fn on_the_worker(&self) -> Option<(&Service, &Caller)> {
        match self.run {
            Some(_) => None,
            None => Some((&self.state.service, &self.caller)),
        }
    }

    /// Whether the request carries a public token only.
    pub fn has_public_token(&self) -> bool {
        self.caller.has_public_token()
    }

    /// Runs a signing command of a wallet.
    pub async fn sign<C>(self, command: C) -> Result<SignedByWallet, Problem>
    where
        C: SigningCommand + 'static,
    {
        self.run(|service, caller| async move { service.sign(&caller, command).await })
            .await
    }

    /// Waits on this worker for a use case that enters the runtime on its own where needed. It is dropped when the client disconnects.
    pub async fn wait<T, E, C, F>(self, command: C) -> Result<T, Problem>
    where
        C: FnOnce(Arc<Service>, Arc<Caller>) -> F,
        F: Future<Output = Result<T, E>>,
        E: Into<Problem>,
    {
        let service = Arc::clone(&self.state.service);
        let waiting = command(service, self.caller).instrument(self.span);
        waiting.await.map_err(Into::into)
    }

    /// Runs a use case to completion, even if the client disconnects.
    pub async fn run<T, E, C, F>(self, command: C) -> Result<T, Problem>
    where
        C: FnOnce(Arc<Service>, Arc<Caller>) -> F,
        F: Future<Output = Result<T, E>> + Send + 'static,
        T: Send + 'static,
        E: Into<Problem> + Send + 'static,
    {
        let Self {
            state,
            caller,
            id,
            run,
            span,
        } = self;
        let caller = caller.of_request(id.shared());
        let caller = Arc::new(match run {
            Some(run) => caller.in_run(run),
            None => caller,
        });
        // Boxed early, because a use case's future is large and is moved several times on its way to the runtime.
        let outcome = state
            .service
            .run(|service| Box::pin(command(service, caller)).instrument(span))
            .await;
        outcome?.map_err(Into::into)
    }
}
