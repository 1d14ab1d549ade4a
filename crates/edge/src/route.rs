//! The route of a request.

use std::rc::Rc;

use actix_web::dev::ServiceRequest;
use actix_web::http::Method;
use actix_web::{HttpMessage, HttpRequest};
use vestry_domain::operation::Operation;

/// The path of an endpoint as the API description spells it, and its operations.
#[derive(Clone)]
pub struct Route {
    pub(crate) pattern: Rc<str>,
    /// The operation of each method.
    pub(crate) operations: Rc<[(Method, Operation)]>,
}

impl Route {
    /// Names the route of a request in the log line and the metrics.
    pub fn note(request: &ServiceRequest, pattern: &str) {
        Self::name(request.request(), pattern);
    }

    /// The same in a handler.
    pub fn name(request: &HttpRequest, pattern: &str) {
        request.extensions_mut().insert(Self {
            pattern: pattern.into(),
            operations: Rc::default(),
        });
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.pattern
    }

    /// The operation of a request with this method.
    pub(crate) fn operation(&self, method: &Method) -> Option<Operation> {
        let method = match *method {
            Method::HEAD => &Method::GET,
            _ => method,
        };
        let mut operations = self.operations.iter();
        let found = operations.find(|(served, _)| served == method);
        found.map(|(_, operation)| *operation)
    }
}
