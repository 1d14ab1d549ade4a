//! Webhooks: the endpoints of an environment, their deliveries, and what operators do with them.

mod actions;
mod delivery;
mod endpoint;
mod fields;
mod secret;

pub(crate) use actions::{
    confirm_disabling, confirm_enabling, disable, enable, new_test, replay, replay_one, test,
};
pub(crate) use delivery::show as show_delivery;
pub(crate) use endpoint::show;
pub(crate) use fields::{create, edit, new, save};
pub(crate) use secret::{confirm as confirm_rotation, rotate};

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::web::Path;
use askama::Template;
use vestry_app::Refusal;
use vestry_app::platform::webhooks::ListedEndpoint;
use vestry_domain::action::Action;
use vestry_domain::ids::WebhookEndpointId;
use vestry_domain::webhook::{DeliveryState, DisabledReason, Endpoint, EndpointState};

use crate::app::{Address, Inside, enter};
use crate::by_api::ByApi;
use crate::filters;
use crate::frame::Frame;
use crate::handler::Shown;
use crate::page::{self, page};
use crate::visit::Visit;

const WEBHOOKS: &str = "webhooks";

#[derive(Template)]
#[template(path = "webhooks.html")]
struct WebhooksPage {
    frame: Frame,
    endpoints: Vec<ListedEndpoint>,
    may_add: bool,
    by_api: ByApi,
}

/// The name of an endpoint, or else the host that it is at.
fn name_of(endpoint: &Endpoint) -> &str {
    match &endpoint.name {
        Some(name) => name,
        None => endpoint.url.url().host_str().unwrap_or("Unnamed endpoint"),
    }
}

/// The URL without its scheme, for lists.
fn place_of(endpoint: &Endpoint) -> &str {
    let url = endpoint.url.as_str();
    url.strip_prefix("https://").unwrap_or(url)
}

/// Tone and name of the state of an endpoint.
fn state_of(endpoint: &Endpoint) -> (&'static str, &'static str) {
    match endpoint.state() {
        EndpointState::Active => ("ok", "Active"),
        EndpointState::Failing => ("bad", "Failing"),
        EndpointState::Disabled => ("", "Disabled"),
    }
}

/// Why an endpoint is disabled.
fn reason_of(reason: DisabledReason) -> &'static str {
    match reason {
        DisabledReason::Operator => "An operator disabled it.",
        DisabledReason::Failing => "No delivery succeeded for days.",
        DisabledReason::Gone => "It returned 410 Gone.",
    }
}

/// Tone and name of the state of a delivery.
fn outcome_of(state: DeliveryState) -> (&'static str, &'static str) {
    match state {
        DeliveryState::Waiting => ("info", "Pending"),
        DeliveryState::Held => ("", "Held"),
        DeliveryState::Delivered => ("ok", "Delivered"),
        DeliveryState::Exhausted => ("bad", "Exhausted"),
        DeliveryState::Dropped => ("", "Discarded"),
    }
}

fn attempts_of(count: u32) -> String {
    match count {
        1 => "1 attempt".to_owned(),
        count => format!("{count} attempts"),
    }
}

/// The path of the endpoints in the management API.
fn api_path(inside: &Inside) -> String {
    let world = inside.world();
    format!(
        "/v1/manage/apps/{}/{}/webhook_endpoints",
        world.app_id, world.environment
    )
}

/// A command about an endpoint of the App; `rest` begins with a blank, or is empty.
fn command(inside: &Inside, verb: &str, rest: &str) -> String {
    format!("vestry webhook {verb} {}{rest}", inside.world().app_id)
}

/// The path of the page of an endpoint.
fn path_of(inside: &Inside, id: WebhookEndpointId) -> String {
    inside.path(&format!("{WEBHOOKS}/{id}"))
}

/// One endpoint of the environment.
async fn find(visit: &Visit, inside: &Inside, id: &str) -> Result<ListedEndpoint, HttpResponse> {
    let Ok(id) = id.parse::<WebhookEndpointId>() else {
        let unknown = Refusal::NotFound("webhook endpoint");
        return Err(page::refused(visit, unknown.into()));
    };
    let (by, world) = (inside.by.clone(), inside.world());
    let read =
        visit.run(|service| async move { service.show_webhook(&by, world.into(), id).await });
    match read.await {
        Ok(listed) => Ok(listed),
        Err(refusal) => Err(inside.refused(visit, refusal, WEBHOOKS).await),
    }
}

/// `GET webhooks`
pub(crate) async fn list(visit: Visit, address: Path<Address>) -> Shown {
    let inside = enter(&visit, &address).await?;
    let (by, world) = (inside.by.clone(), inside.world());
    let read = visit.run(|service| async move { service.list_webhooks(&by, world.into()).await });
    let mut endpoints = match read.await {
        Ok(endpoints) => endpoints,
        Err(refusal) => return Err(inside.refused(&visit, refusal, "").await),
    };
    endpoints.reverse();
    let template = WebhooksPage {
        may_add: inside.may(Action::AddWebhook),
        by_api: ByApi::new("GET", &api_path(&inside), "", command(&inside, "list", "")),
        frame: inside.frame(&visit, WEBHOOKS),
        endpoints,
    };
    Ok(page(&visit, StatusCode::OK, &template))
}
