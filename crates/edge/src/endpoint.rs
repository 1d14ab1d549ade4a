//! An endpoint as the router and the API description see it.

use std::rc::Rc;

use actix_web::body::BoxBody;
use actix_web::dev::{HttpServiceFactory, ServiceRequest};
use actix_web::guard::{self, Guard};
use actix_web::http::Method;
use actix_web::middleware::{Next, from_fn};
use actix_web::web::{self, Data};
use utoipa::openapi::RefOr;
use utoipa::openapi::path::{HttpMethod, Operation as Description};
use utoipa::openapi::schema::Schema;
use vestry_domain::operation::Operation;

use crate::gate::{Auth, RoutePolicy, gate};
use crate::problem::{Code, Problem};
use crate::route::Route;
use crate::sdk::Sdk;
use crate::state::State;

/// Named schemas of the API description.
pub(crate) type Schemas = Vec<(String, RefOr<Schema>)>;

/// One method of one path.
pub struct Endpoint {
    /// The path as the API description spells it.
    pub path: String,
    pub(crate) method: HttpMethod,
    /// The authentication that it requires.
    pub auth: Auth,
    /// Error codes in addition to those that every endpoint of its kind can return.
    pub(crate) errors: &'static [Code],
    /// Whether the call changes nothing, even though its method normally does.
    reads: bool,
    /// Whether pages of any origin may call it.
    pub for_pages: bool,
    /// Whether browsers follow links to it. Errors are then shown as a page.
    pub(crate) is_browsed: bool,
    /// Its place in client libraries.
    pub(crate) sdk: Option<Sdk>,
    pub(crate) describe: fn() -> Description,
    pub(crate) schemas: fn(&mut Schemas),
    route: fn() -> actix_web::Route,
}

impl Endpoint {
    /// An endpoint whose path, method and description are declared at its handler.
    pub fn new<D>(auth: Auth, errors: &'static [Code], route: fn() -> actix_web::Route) -> Self
    where
        D: utoipa::Path + utoipa::__dev::SchemaReferences + for<'t> utoipa::__dev::Tags<'t>,
    {
        Self {
            path: D::path(),
            method: D::methods().into_iter().next().unwrap_or(HttpMethod::Get),
            auth,
            errors,
            reads: false,
            for_pages: false,
            is_browsed: false,
            sdk: (auth == Auth::ManagementKey).then_some(Sdk::Skip("management API")),
            describe: describe::<D>,
            schemas: D::schemas,
            route,
        }
    }

    /// Marks a call that changes nothing although its method could. It accepts no `Idempotency-Key`, and its response reflects the current
    /// state.
    pub const fn reads(mut self) -> Self {
        self.reads = true;
        self
    }

    /// Marks a call that pages of any origin may make.
    pub const fn for_pages(mut self) -> Self {
        self.for_pages = true;
        self
    }

    /// Marks a call that pages link to. Browsers that follow a link with `redirect=true` get errors as a page.
    pub const fn browsed(mut self) -> Self {
        self.is_browsed = true;
        self
    }

    /// Sets its place in client libraries. They do not make calls of the management API.
    pub const fn sdk(mut self, sdk: Sdk) -> Self {
        self.sdk = Some(sdk);
        self
    }

    /// Whether clients may repeat it: `key` with the same `Idempotency-Key`, `safe` in any case, or `never`.
    pub(crate) const fn idempotency(&self) -> &'static str {
        if self.takes_idempotency_key() {
            "key"
        } else if self.reads || matches!(self.method, HttpMethod::Get) {
            "safe"
        } else {
            "never"
        }
    }

    /// The method.
    pub fn method(&self) -> Method {
        actix_method(&self.method)
    }

    /// The operation, by which API keys are restricted; `None` for one that needs no key.
    pub(crate) fn operation(&self) -> Option<Operation> {
        (self.describe)().operation_id?.parse().ok()
    }

    /// Whether a management key can make the call of an App's own API.
    pub(crate) fn is_managed(&self) -> bool {
        let action = self.operation().map(Operation::action);
        self.auth == Auth::SecretKey
            && action.is_some_and(|action| action.management_scope().is_some())
    }

    /// Whether responses are stored for requests with an `Idempotency-Key`.
    pub const fn takes_idempotency_key(&self) -> bool {
        let may_change = match self.auth {
            Auth::SecretKey => matches!(
                self.method,
                HttpMethod::Post | HttpMethod::Put | HttpMethod::Patch | HttpMethod::Delete
            ),
            // The other calls have the same effect when they are repeated.
            Auth::ManagementKey => matches!(self.method, HttpMethod::Post),
            _ => false,
        };
        may_change && !self.reads
    }
}

/// Builds a table of endpoints, for a function that returns a `Vec<Endpoint>`.
///
/// Each line names the [`Auth`] that an endpoint requires, the module of its resource, its own module with `handle` and `ERRORS`, and any of
/// [`reads`](Endpoint::reads), [`for_pages`](Endpoint::for_pages) and [`browsed`](Endpoint::browsed). Its [`Sdk`] follows `=>`. Within a group of paths
/// ([`by_prefix`](crate::by_prefix)) the router tries them in this order, so a fixed segment comes before an id in the same position.
#[macro_export]
macro_rules! endpoints {
    ($($auth:ident $group:ident $name:ident $($kind:ident)* $(=> $sdk:ident $place:tt)?;)*) => {
        vec![$($crate::Endpoint::new::<$group::$name::__path_handle>(
            $crate::Auth::$auth,
            $group::$name::ERRORS,
            // Unit tests read the table and call no handler. Without handlers they compile in half the time.
            if cfg!(test) {
                ::actix_web::web::route
            } else {
                || ::actix_web::web::route().to($group::$name::handle)
            },
        )$(.$kind())*$(.sdk($crate::Sdk::$sdk $place))?,)*]
    };
}

fn describe<D: utoipa::Path + for<'t> utoipa::__dev::Tags<'t>>() -> Description {
    let mut operation = D::operation();
    operation.tags = Some(D::tags().into_iter().map(str::to_owned).collect());
    operation
}

/// The resource of one path, relative to the scope `prefix`: all of its methods behind one gate, and 405 for any other method.
pub(crate) fn resource(
    state: &Data<State>,
    prefix: &str,
    endpoints: &[Endpoint],
) -> Option<impl HttpServiceFactory + use<>> {
    let first = endpoints.first()?;
    let policy = Rc::new(RoutePolicy {
        route: Route {
            pattern: first.path.as_str().into(),
            operations: endpoints
                .iter()
                .filter_map(|endpoint| {
                    Some((actix_method(&endpoint.method), endpoint.operation()?))
                })
                .collect(),
        },
        auth: first.auth,
        for_pages: first.for_pages,
        keyed: endpoints
            .iter()
            .filter(|endpoint| endpoint.takes_idempotency_key())
            .map(|endpoint| actix_method(&endpoint.method))
            .collect(),
        is_browsed: first.is_browsed,
    });
    let mut resource = web::resource(first.path.strip_prefix(prefix)?);
    let mut methods = Vec::new();
    for endpoint in endpoints {
        let method = actix_method(&endpoint.method);
        methods.push(method.to_string());
        // A GET endpoint also serves HEAD (RFC 9110, section 9.3.2), which the framework does not add.
        let is_get = method == Method::GET;
        if is_get {
            methods.push(Method::HEAD.to_string());
        }
        let its_own = guard::Method(method);
        let asked = guard::fn_guard(move |request| {
            its_own.check(request) || (is_get && request.head().method == Method::HEAD)
        });
        resource = resource.route((endpoint.route)().guard(asked));
    }
    let allow = methods.join(", ");
    let other_methods = web::to(move || {
        let problem = Problem::method_not_allowed(allow.clone());
        async { Err::<String, _>(problem) }
    });
    let state = state.clone();
    let gated = from_fn(move |request: ServiceRequest, next: Next<BoxBody>| {
        gate(state.clone(), Rc::clone(&policy), request, next)
    });
    Some(resource.default_service(other_methods).wrap(gated))
}

fn actix_method(method: &HttpMethod) -> Method {
    match method {
        HttpMethod::Get => Method::GET,
        HttpMethod::Post => Method::POST,
        HttpMethod::Put => Method::PUT,
        HttpMethod::Delete => Method::DELETE,
        HttpMethod::Options => Method::OPTIONS,
        HttpMethod::Head => Method::HEAD,
        HttpMethod::Patch => Method::PATCH,
        HttpMethod::Trace => Method::TRACE,
    }
}
