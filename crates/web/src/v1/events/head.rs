//! `GET /v1/events/head`

use serde::Serialize;
use utoipa::ToSchema;
use vestry_domain::event::{EventHead, Position};
use vestry_edge::{Call, Code, Json, Problem};

pub(crate) const ERRORS: &[Code] = &[];

/// An event and its position.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = EventMark)]
struct Place {
    /// Id of the event.
    #[schema(pattern = "^event_[0-9A-Za-z]{27}$")]
    id: String,
    /// Position in the log, starting at 1, without gaps.
    #[schema(minimum = 1)]
    position: i64,
}

/// The first and last event of a log.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = EventHeadResponse)]
pub(crate) struct Response {
    /// Generation of the log. It increases by one each time that events were lost together with a part of the database.
    #[schema(minimum = 1)]
    log: i64,
    /// The oldest retained event; `null` if there is none.
    #[schema(required = true)]
    oldest: Option<Place>,
    /// The newest retained event; `null` if there is none.
    #[schema(required = true)]
    newest: Option<Place>,
}

impl From<Position> for Place {
    fn from(mark: Position) -> Self {
        Self {
            id: mark.id.to_string(),
            position: mark.position,
        }
    }
}

impl From<EventHead> for Response {
    fn from(head: EventHead) -> Self {
        Self {
            log: head.log,
            oldest: head.oldest.map(Place::from),
            newest: head.newest.map(Place::from),
        }
    }
}

/// Get the oldest and newest event
///
/// Returns the ends of the log. To receive only future events, start after the newest one.
///
/// Needs the scope `events:read`.
#[utoipa::path(
    get,
    path = "/v1/events/head",
    operation_id = "getEventsHead",
    tag = "Events",
    responses((status = 200, description = "The ends of the log", body = Response))
)]
pub(crate) async fn handle(call: Call) -> Result<Json<Response>, Problem> {
    let head = call
        .run(|service, caller| async move { service.events_head(&caller).await })
        .await?;
    Ok(Json(head.into()))
}
