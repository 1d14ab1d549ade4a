//! One delivery of an event, with its attempts and the responses to them.

use actix_web::http::StatusCode;
use actix_web::web::Path;
use askama::Template;
use serde::Deserialize;
use vestry_app::platform::webhooks::ListedEndpoint;
use vestry_domain::action::Action;
use vestry_domain::ids::WebhookDeliveryId;
use vestry_domain::webhook::{Attempt, Delivery, MAX_ATTEMPTS};

use super::{WEBHOOKS, api_path, command, find, name_of, outcome_of, path_of};
use crate::app::{Address, Inside, enter};
use crate::by_api::ByApi;
use crate::filters;
use crate::frame::Frame;
use crate::handler::Shown;
use crate::page::{self, page};
use crate::visit::Visit;

/// The parts of the path of a delivery.
#[derive(Deserialize)]
pub(crate) struct DeliveryAddress {
    #[serde(flatten)]
    pub(super) inside: Address,
    pub(super) delivery: String,
}

#[derive(Template)]
#[template(path = "webhook_delivery.html")]
struct DeliveryPage {
    frame: Frame,
    listed: ListedEndpoint,
    /// The path of the page of the endpoint.
    base: String,
    delivery: Delivery,
    /// Newest first.
    attempts: Vec<Attempt>,
    may_replay: bool,
    submission: String,
    by_api: ByApi,
}

/// Tone and name of the outcome of an attempt.
fn verdict(attempt: &Attempt) -> (&'static str, String) {
    match attempt.status {
        Some(status @ 200..=299) => ("ok", status.to_string()),
        Some(status) => ("bad", status.to_string()),
        None => ("bad", "No response".to_owned()),
    }
}

/// What the endpoint answered, or why it did not.
fn response(attempt: &Attempt) -> &str {
    let excerpt = attempt.response_excerpt.as_deref();
    excerpt.or(attempt.error.as_deref()).unwrap_or_default()
}

/// `GET webhooks/{id}/deliveries/{delivery}`
pub(crate) async fn show(visit: Visit, address: Path<DeliveryAddress>) -> Shown {
    let inside = enter(&visit, &address.inside).await?;
    let listed = find(&visit, &inside, &address.inside.id).await?;
    shown(&visit, &inside, listed, &address.delivery).await
}

async fn shown(visit: &Visit, inside: &Inside, listed: ListedEndpoint, delivery: &str) -> Shown {
    let Ok(delivery) = delivery.parse::<WebhookDeliveryId>() else {
        return Err(page::unknown(visit.clone()).await);
    };
    let (by, world, id) = (inside.by.clone(), inside.world(), listed.endpoint.id);
    let read = visit
        .run(|service| async move { service.show_delivery(&by, world.into(), id, delivery).await });
    let (delivery, mut attempts) = match read.await {
        Ok(read) => read,
        Err(refusal) => return Err(inside.refused(visit, refusal, WEBHOOKS).await),
    };
    attempts.reverse();
    let path = format!("{}/{id}/replay", api_path(inside));
    let body = format!(r#"{{"delivery_id": "{}"}}"#, delivery.id);
    let rest = format!(" {id} --delivery {}", delivery.id);
    let template = DeliveryPage {
        frame: inside.frame(visit, WEBHOOKS),
        base: path_of(inside, id),
        may_replay: inside.may(Action::ReplayDeliveries),
        submission: visit.new_submission(),
        by_api: ByApi::new("POST", &path, &body, command(inside, "replay", &rest)),
        listed,
        delivery,
        attempts,
    };
    Ok(page(visit, StatusCode::OK, &template))
}
