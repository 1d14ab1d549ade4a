//! `GET /v1/manage/apps/{app_id}/{environment}/webhook_endpoints/{whep_id}/deliveries`

use std::str::FromStr;

use actix_web::HttpResponse;
use serde::Deserialize;
use serde_json::json;
use utoipa::IntoParams;
use vestry_app::PageSize;
use vestry_app::platform::webhooks::DeliveryFilter;
use vestry_domain::ids::WebhookEndpointId;
use vestry_domain::{Invalid, Timestamp};
use vestry_edge::views::{WebhookDeliveryView, views};
use vestry_edge::{Code, PathId, Problem, Query};

use crate::call::Call;
use crate::place::InWorld;
use crate::webhook_endpoints::WebhookDeliveries;

pub(crate) const ERRORS: &[Code] = &[Code::InvalidField, Code::NotFound, Code::KeyNotAllowed];

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct Filter {
    /// Only deliveries in this state.
    #[param(
        pattern = "^(waiting|delivered|exhausted|dropped|held)$",
        nullable = false
    )]
    state: Option<String>,
    /// Only deliveries of this event.
    #[param(pattern = "^event_[0-9A-Za-z]{27}$", nullable = false)]
    event_id: Option<String>,
    /// Only deliveries created at this time or later, in Unix seconds.
    #[param(nullable = false)]
    from: Option<i64>,
    /// Only deliveries created before this time, in Unix seconds.
    #[param(nullable = false)]
    until: Option<i64>,
    /// Maximum number of deliveries on the page, 10 to 100.
    #[param(minimum = 10, maximum = 100, default = 50, nullable = false)]
    limit: Option<i64>,
    /// Id of the last delivery of the previous page.
    #[param(pattern = "^whdel_[0-9A-Za-z]{27}$", nullable = false)]
    starting_after: Option<String>,
}

impl Filter {
    fn parsed(self) -> Result<DeliveryFilter, Invalid> {
        Ok(DeliveryFilter {
            state: optional("state", self.state)?,
            event_id: optional("event_id", self.event_id)?,
            from: self.from.map(Timestamp::from_unix),
            until: self.until.map(Timestamp::from_unix),
            after: optional("starting_after", self.starting_after)?,
        })
    }
}

/// Parses an optional parameter. An error names it.
pub(super) fn optional<T: FromStr<Err = Invalid>>(
    name: &'static str,
    value: Option<String>,
) -> Result<Option<T>, Invalid> {
    let parsed = value.map(|value| value.parse()).transpose();
    parsed.map_err(|invalid| Invalid {
        param: name.into(),
        ..invalid
    })
}

/// List the deliveries to a webhook endpoint
///
/// Returns the deliveries of the last 30 days, newest first. For the next page, send the id of the last delivery as `starting_after`.
///
/// Needs the scope `webhooks:read`.
#[utoipa::path(
    get,
    path = "/v1/manage/apps/{app_id}/{environment}/webhook_endpoints/{whep_id}/deliveries",
    operation_id = "listWebhookDeliveries",
    tag = "Management",
    params(
        ("app_id" = String, Path, description = "Id of the App", pattern = "^app_[0-9A-Za-z]{27}$"),
        ("environment" = String, Path, description = "`test` or `live`", pattern = "^(test|live)$"),
        ("whep_id" = String, Path, description = "Id of the webhook endpoint", pattern = "^whep_[0-9A-Za-z]{27}$"),
        Filter,
    ),
    responses((status = 200, description = "A page of deliveries", body = WebhookDeliveries))
)]
pub(crate) async fn handle(
    call: Call,
    InWorld(world): InWorld,
    PathId(id): PathId<WebhookEndpointId>,
    Query(filter): Query<Filter>,
) -> Result<HttpResponse, Problem> {
    let size = PageSize::check(filter.limit)?;
    let filter = filter.parsed()?;
    let mut found = call
        .run(move |service, by| async move {
            service
                .list_deliveries(&by, world.into(), id, filter, size.rows())
                .await
        })
        .await?;
    let has_more = size.cut(&mut found);
    let shown: Vec<WebhookDeliveryView> = views(&found);
    Ok(HttpResponse::Ok().json(json!({ "deliveries": shown, "has_more": has_more })))
}
