//! From a handler to a use case: the one crossing into the service's runtime.

use std::future::{Ready, ready};
use std::sync::Arc;

use actix_web::dev::Payload;
use actix_web::web::Data;
use actix_web::{FromRequest, HttpMessage, HttpRequest};
use tracing::Instrument;
use vestry_app::idempotency::Run;
use vestry_app::wallets::{SignedByWallet, SigningCommand};
use vestry_app::{Caller, Service};
use vestry_domain::api_key::ApiKeyKind;

use crate::problem::Problem;
use crate::request_id::RequestId;
use crate::state::State;

/// A request of a caller whose key was checked at the gate.
pub(crate) struct Call {
    state: Data<State>,
    caller: Arc<Caller>,
    id: RequestId,
    /// Of a request with an idempotency key.
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
                span: tracing::info_span!("request", id = id.as_str()),
            }),
            _ => Err(Problem::internal(
                "a keyed handler behind a gate without keys",
            )),
        };
        ready(call)
    }
}

impl Call {
    /// For what needs no crossing: it neither waits nor touches the store.
    pub(crate) fn service(&self) -> &Service {
        &self.state.service
    }

    /// For what may be dropped at any moment, since it only reads, or leaves its writing to others: it need not cross. `None` when the
    /// answer is to be kept for a repeat, which only [`Call::run`] sees to.
    pub(crate) fn on_the_worker(&self) -> Option<(&Service, &Caller)> {
        match self.run {
            Some(_) => None,
            None => Some((&self.state.service, &self.caller)),
        }
    }

    /// Which kind of key the request carries.
    pub(crate) fn key_kind(&self) -> ApiKeyKind {
        self.caller.key.kind
    }

    /// Has a wallet sign.
    pub(crate) async fn sign<C>(self, command: C) -> Result<SignedByWallet, Problem>
    where
        C: SigningCommand + 'static,
    {
        self.run(|service, caller| async move { service.sign(&caller, command).await })
            .await
    }

    /// Has a use case wait on this worker that crosses by itself for whatever it does: when the client goes away, it is dropped.
    pub(crate) async fn wait<T, E, C, F>(self, command: C) -> Result<T, Problem>
    where
        C: FnOnce(Arc<Service>, Arc<Caller>) -> F,
        F: Future<Output = Result<T, E>>,
        E: Into<Problem>,
    {
        let service = Arc::clone(&self.state.service);
        let waiting = command(service, self.caller).instrument(self.span);
        waiting.await.map_err(Into::into)
    }

    /// Runs a use case to its end, whatever becomes of the client.
    pub(crate) async fn run<T, E, C, F>(self, command: C) -> Result<T, Problem>
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
        // Boxed at once: the future of a use case is large, and is moved several times on its way to the runtime.
        let outcome = state
            .service
            .run(|service| Box::pin(command(service, caller)).instrument(span))
            .await;
        outcome?.map_err(Into::into)
    }
}
