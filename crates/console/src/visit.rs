//! A request of a browser: who sends it, and with which cookies.

use std::future::{Ready, ready};
use std::sync::Arc;

use actix_web::dev::Payload;
use actix_web::http::Method;
use actix_web::http::header::{HeaderMap, USER_AGENT};
use actix_web::web::Data;
use actix_web::{FromRequest, HttpMessage, HttpRequest};
use vestry_app::operators::{ConsoleRequest, OperatorSession};
use vestry_app::{Refusal, Service};
use vestry_domain::Secret;
use vestry_edge::{Problem, RequestId, State, client};

use crate::ConsoleSettings;
use crate::cookie::Cookie;
use crate::flash::Flash;
use crate::theme::Theme;

/// A request of a browser.
#[derive(Clone)]
pub(crate) struct Visit {
    pub(crate) service: Arc<Service>,
    pub(crate) settings: Data<ConsoleSettings>,
    pub(crate) request: ConsoleRequest,
    /// The token of its session.
    pub(crate) token: Option<Secret<String>>,
    /// The random value of its browser.
    pub(crate) browser: Option<Secret<String>>,
    pub(crate) theme: Theme,
    /// The result of the last form.
    pub(crate) flash: Option<Flash>,
    /// Path and query, to return to after signing in.
    pub(crate) address: String,
    /// The path.
    pub(crate) path: String,
    pub(crate) method: Method,
    /// The pattern of the path, for records of refusals: a path can hold ids.
    pub(crate) route: String,
}

impl FromRequest for Visit {
    type Error = Problem;
    type Future = Ready<Result<Self, Problem>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(of(request))
    }
}

fn of(request: &HttpRequest) -> Result<Visit, Problem> {
    let missing = || Problem::internal("no State or settings in the application data");
    let state = request.app_data::<Data<State>>().ok_or_else(missing)?;
    let settings = request.app_data::<Data<ConsoleSettings>>();
    let settings = settings.ok_or_else(missing)?;
    let id = request
        .extensions()
        .get::<RequestId>()
        .map(RequestId::shared);
    let proxies = &state.settings.trusted_proxies.current();
    let peer = request.peer_addr();
    let client = peer.map(|peer| client::address(peer.ip(), request.headers(), proxies));
    let text = |cookie: Cookie| cookie.read(settings, request.headers());
    Ok(Visit {
        service: Arc::clone(&state.service),
        request: ConsoleRequest {
            id: id.ok_or_else(missing)?,
            client,
            user_agent: user_agent(request.headers()),
        },
        token: Cookie::Session.read(settings, request.headers()),
        browser: Cookie::Browser.read(settings, request.headers()),
        theme: text(Cookie::Theme)
            .and_then(|text| Theme::parse(text.expose()))
            .unwrap_or_default(),
        flash: text(Cookie::Flash).and_then(|text| Flash::parse(text.expose())),
        address: request.uri().to_string(),
        path: request.path().to_owned(),
        method: request.method().clone(),
        route: request.match_pattern().unwrap_or_default(),
        settings: settings.clone(),
    })
}

fn user_agent(headers: &HeaderMap) -> String {
    let sent = headers
        .get(USER_AGENT)
        .and_then(|value| value.to_str().ok());
    sent.unwrap_or_default().to_owned()
}

impl Visit {
    /// Runs a use case on the service's runtime.
    ///
    /// # Errors
    /// What the use case returns, or a panic in it.
    pub(crate) async fn run<T, E, C, F>(&self, command: C) -> Result<T, E>
    where
        C: FnOnce(Arc<Service>) -> F,
        F: Future<Output = Result<T, E>> + Send + 'static,
        T: Send + 'static,
        E: From<vestry_app::Fault> + Send + 'static,
    {
        match self.service.run(command).await {
            Ok(outcome) => outcome,
            Err(fault) => Err(fault.into()),
        }
    }

    /// The operator who is signed in; `None` without a live session.
    ///
    /// # Errors
    /// [`Refusal`], if the database does not answer.
    pub(crate) async fn session(&self) -> Result<Option<Signed>, Refusal> {
        let Some(token) = self.token.clone() else {
            return Ok(None);
        };
        let (request, asked) = (self.request.clone(), token.clone());
        let found = self
            .run(|service| async move { service.operator_session(&request, &asked).await })
            .await;
        match found {
            Ok(session) => Ok(Some(Signed { session, token })),
            Err(Refusal::InvalidSession) => Ok(None),
            Err(refusal) => Err(refusal),
        }
    }
}

/// An operator who is signed in.
pub(crate) struct Signed {
    pub(crate) session: OperatorSession,
    /// The token of the session, to which its forms are bound.
    pub(crate) token: Secret<String>,
}
