//! The router of a process, built from its endpoints.

use std::sync::Arc;

use actix_web::body::BoxBody;
use actix_web::dev::ServiceRequest;
use actix_web::middleware::{Next, from_fn};
use actix_web::web::{self, Data, ServiceConfig};
use actix_web::{Route, Scope};
use vestry_app::Service;

use crate::api::Api;
use crate::edge::edge;
use crate::endpoint::{self, Endpoint};
use crate::problem::Problem;
use crate::settings::WebSettings;
use crate::state::State;

/// Adds pages to a process, such as those of the console.
pub type Pages = Arc<dyn Fn(&mut ServiceConfig) + Send + Sync>;

/// Returns the configuration of an actix `App` that serves this API, to be passed to `App::configure`.
///
/// All endpoints share one edge and one [`State`]. Handlers also find the API in their application data, as `Data<&'static Api>`.
///
/// Whether a listener uses TLS, and its address, are read from the listener itself, so one factory serves all of them.
pub fn configure(
    service: Arc<Service>,
    settings: WebSettings,
    api: &'static Api,
    pages: Option<Pages>,
) -> impl Fn(&mut ServiceConfig) + Clone + Send + 'static {
    let state = Data::new(State::new(service, settings));
    let api = Data::new(api);
    move |config| {
        let at_the_edge = state.clone();
        let edge = from_fn(move |request: ServiceRequest, next: Next<BoxBody>| {
            edge(at_the_edge.clone(), request, next)
        });
        let mut everything = web::scope("").app_data(state.clone()).app_data(api.clone());
        for (prefix, paths) in by_prefix(api.endpoints()) {
            let resources = paths
                .iter()
                .filter_map(|endpoints| endpoint::resource(&state, &prefix, endpoints));
            if prefix.is_empty() {
                everything = resources.fold(everything, Scope::service);
            } else {
                let group = web::scope(&prefix).default_service(nowhere());
                everything = everything.service(resources.fold(group, Scope::service));
            }
        }
        if let Some(pages) = &pages {
            everything = everything.configure(|config| pages(config));
        }
        config.service(everything.default_service(nowhere()).wrap(edge));
    }
}

/// The route for paths without an endpoint.
fn nowhere() -> Route {
    web::to(|| async { Err::<String, _>(Problem::no_route()) })
}

/// The endpoints of each path, in table order.
pub fn by_path(endpoints: Vec<Endpoint>) -> Vec<Vec<Endpoint>> {
    let mut paths: Vec<Vec<Endpoint>> = Vec::new();
    for endpoint in endpoints {
        let known = paths.iter_mut().find(|group| {
            group
                .first()
                .is_some_and(|first| first.path == endpoint.path)
        });
        match known {
            Some(group) => group.push(endpoint),
            None => paths.push(vec![endpoint]),
        }
    }
    paths
}

/// The endpoints of each path, grouped by the fixed segments with which their paths begin. Paths without a group come first.
///
/// The router compares these segments as text and then tries the patterns of one group only. Otherwise it would try a request against every
/// earlier pattern.
pub fn by_prefix(endpoints: Vec<Endpoint>) -> Vec<(String, Vec<Vec<Endpoint>>)> {
    let mut groups: Vec<(String, Vec<Vec<Endpoint>>)> = vec![(String::new(), Vec::new())];
    for endpoints in by_path(endpoints) {
        let Some(first) = endpoints.first() else {
            continue;
        };
        let its_own = prefix(&first.path);
        match groups.iter_mut().find(|(prefix, _)| prefix == its_own) {
            Some((_, paths)) => paths.push(endpoints),
            None => groups.push((its_own.to_owned(), vec![endpoints])),
        }
    }
    groups
}

/// The prefix `/v1/auth/<group>` or `/v1/<group>` of a path; empty for paths without a version.
fn prefix(path: &str) -> &str {
    let version = ["/v1/auth/", "/v1/"]
        .into_iter()
        .find(|version| path.starts_with(version));
    version
        .and_then(|version| {
            let what = path.get(version.len()..)?;
            Some(version.len() + what.find('/').unwrap_or(what.len()))
        })
        .and_then(|end| path.get(..end))
        .unwrap_or_default()
}
