//! `GET /v1/events`

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use vestry_app::delivery::events::ListEvents;
use vestry_domain::Invalid;
use vestry_domain::event::kinds;
use vestry_edge::{Call, Code, Json, Problem, Query};

use crate::v1::shapes::{Event, optional_id};

pub(crate) const ERRORS: &[Code] = &[Code::InvalidField, Code::UnknownField, Code::CursorUnknown];

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct Filter {
    /// Id of the last event already read, which is `next_after` of the previous page. Without it, the list starts at the oldest event.
    #[param(pattern = "^event_[0-9A-Za-z]{27}$", nullable = false)]
    after: Option<String>,
    /// Maximum number of events on the page, 10 to 1000.
    #[param(minimum = 10, maximum = 1000, default = 100, nullable = false)]
    limit: Option<i64>,
    /// Event types, separated by commas, at most 20. `group.*` selects all types of a group that are not optional.
    #[param(example = "user.created,wallet.*", nullable = false)]
    types: Option<String>,
    /// Limits the list to events about this user.
    #[param(pattern = "^user_[0-9A-Za-z]{27}$", nullable = false)]
    user_id: Option<String>,
    /// Limits the list to events about this wallet.
    #[param(pattern = "^wallet_[0-9A-Za-z]{27}$", nullable = false)]
    wallet_id: Option<String>,
    /// `asc` for oldest first; `desc` for newest first, where `after` selects older events.
    #[param(pattern = "^(asc|desc)$", default = "asc", nullable = false)]
    order: Option<String>,
    /// Seconds to wait for an event if there is none yet. Not supported with `order=desc`.
    #[param(minimum = 0, maximum = 30, default = 0, nullable = false)]
    wait: Option<i64>,
}

/// A page of the event log.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = EventListResponse)]
pub(crate) struct Response {
    /// Events on this page, in the requested order.
    #[schema(max_items = 1000)]
    events: Vec<Event>,
    /// Whether there are more events to read.
    has_more: bool,
    /// Id of the last event that was read, whether or not it matched the filter. Send it as `after` with the next call. `null` if `after`
    /// was not sent and there are no events.
    #[schema(pattern = "^event_[0-9A-Za-z]{27}$", required = true)]
    next_after: Option<String>,
}

/// List events
///
/// Returns the changes in the App's environment, in log order. If you always continue from `next_after`, you receive every event exactly
/// once.
///
/// One call reads at most 10,000 events, so a filtered page can be empty although `has_more` is true.
///
/// With `wait`, the call returns as soon as there is an event. Five calls per key and fifty per App can wait at the same time; further
/// calls return after one second.
///
/// An unknown `after` returns 409 `cursor_unknown`: the event has expired, or was lost when the database was restored. Resync with the list
/// endpoints, then continue from `GET /v1/events/head`.
///
/// Needs the scope `events:read`.
#[utoipa::path(
    get,
    path = "/v1/events",
    operation_id = "listEvents",
    tag = "Events",
    params(Filter),
    responses((status = 200, description = "A page of the log", body = Response))
)]
pub(crate) async fn handle(
    call: Call,
    Query(filter): Query<Filter>,
) -> Result<Json<Response>, Problem> {
    let query = filter.parsed()?;
    let page = call
        .wait(move |service, caller| async move { service.follow_events(&caller, query).await })
        .await?;
    let events = page.events.into_iter().map(Event::try_from);
    Ok(Json(Response {
        events: events.collect::<Result<_, _>>()?,
        has_more: page.has_more,
        next_after: page.next_after.map(|id| id.to_string()),
    }))
}

impl Filter {
    fn parsed(self) -> Result<ListEvents, Invalid> {
        let names = self.types.as_deref();
        let names = names.into_iter().flat_map(|names| names.split(','));
        Ok(ListEvents {
            after: optional_id("after", self.after)?,
            limit: self.limit,
            kinds: kinds(names)?,
            user_id: optional_id("user_id", self.user_id)?,
            wallet_id: optional_id("wallet_id", self.wallet_id)?,
            descending: match self.order.as_deref() {
                None | Some("asc") => false,
                Some("desc") => true,
                Some(_) => return Err(Invalid::value("order", "order must be asc or desc")),
            },
            wait: self.wait,
            ..ListEvents::default()
        })
    }
}
