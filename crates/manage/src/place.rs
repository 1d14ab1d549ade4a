//! The App and the environment in a path.

use std::future::{Ready, ready};

use actix_web::dev::Payload;
use actix_web::{FromRequest, HttpRequest};
use vestry_domain::World;
use vestry_domain::provider::ProviderName;
use vestry_edge::Problem;

/// The App and environment of a path. A malformed id gets the same 404 as an unknown one, and another word than `test` or `live` is an
/// unknown path.
pub(crate) struct InWorld(pub(crate) World);

impl FromRequest for InWorld {
    type Error = Problem;
    type Future = Ready<Result<Self, Problem>>;

    fn from_request(request: &HttpRequest, _payload: &mut Payload) -> Self::Future {
        let segment = |name| request.match_info().get(name).unwrap_or_default();
        let app = segment("app_id").parse();
        let environment = segment("environment").parse();
        ready(match (environment, app) {
            (Ok(environment), Ok(app)) => Ok(Self(World::new(app, environment))),
            (Ok(_), Err(_)) => Err(Problem::not_found("app")),
            (Err(_), _) => Err(Problem::no_route()),
        })
    }
}

/// The name of an identity provider in a path. A malformed name is that of an unknown provider.
pub(crate) struct InProvider(pub(crate) ProviderName);

impl FromRequest for InProvider {
    type Error = Problem;
    type Future = Ready<Result<Self, Problem>>;

    fn from_request(request: &HttpRequest, _payload: &mut Payload) -> Self::Future {
        let name = request.match_info().get("provider").unwrap_or_default();
        ready(
            name.parse()
                .map(Self)
                .map_err(|_malformed| Problem::not_found("provider")),
        )
    }
}
