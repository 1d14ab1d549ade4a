//! `GET /v1/events/{event_id}`

use vestry_domain::ids::EventId;
use vestry_edge::{Call, Code, Json, PathId, Problem};

use crate::v1::shapes::Event;

pub(crate) const ERRORS: &[Code] = &[Code::NotFound];

/// Get an event
///
/// Returns one event of the log, as long as the App retains it.
///
/// Needs the scope `events:read`.
#[utoipa::path(
    get,
    path = "/v1/events/{event_id}",
    operation_id = "getEvent",
    tag = "Events",
    params(("event_id" = String, Path, description = "Id of the event", pattern = "^event_[0-9A-Za-z]{27}$")),
    responses((status = 200, description = "The event", body = Event))
)]
pub(crate) async fn handle(
    call: Call,
    PathId(id): PathId<EventId>,
) -> Result<Json<Event>, Problem> {
    let event = call
        .run(move |service, caller| async move { service.get_event(&caller, id).await })
        .await?;
    Ok(Json(event.try_into()?))
}
