//! `GET /v1/events`

use actix_web::web::Json;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use vestry_app::events::ListEvents;
use vestry_domain::Invalid;
use vestry_domain::event::kinds;

use crate::call::Call;
use crate::problem::{Code, Problem};
use crate::query::Query;
use crate::shapes::{Event, parse_id};

pub(crate) const ERRORS: &[Code] = &[Code::InvalidField, Code::UnknownField, Code::CursorUnknown];

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct Filter {
    /// The last event that you have looked at: `next_after` of the page before. Absent: from the oldest event on.
    #[param(pattern = "^event_[0-9A-Za-z]{27}$", nullable = false)]
    after: Option<String>,
    /// Most events on the page.
    #[param(minimum = 10, maximum = 1000, default = 100, nullable = false)]
    limit: Option<i64>,
    /// Only events of these types, at most 20, with commas in between; `group.*` for all of a group that are not optional.
    #[param(example = "user.created,wallet.*", nullable = false)]
    types: Option<String>,
    /// Only events about this user.
    #[param(pattern = "^user_[0-9A-Za-z]{27}$", nullable = false)]
    user_id: Option<String>,
    /// Only events about this wallet.
    #[param(pattern = "^wallet_[0-9A-Za-z]{27}$", nullable = false)]
    wallet_id: Option<String>,
    /// `asc`: oldest first. `desc`: newest first, and `after` means what is older.
    #[param(pattern = "^(asc|desc)$", default = "asc", nullable = false)]
    order: Option<String>,
    /// Seconds to wait for an event where there is none to show yet. Not with `order=desc`.
    #[param(minimum = 0, maximum = 30, default = 0, nullable = false)]
    wait: Option<i64>,
}

/// A page of the log.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = EventListResponse)]
pub(crate) struct Answer {
    /// In the order that was asked for.
    #[schema(max_items = 1000)]
    events: Vec<Event>,
    /// Whether there is more to look at.
    has_more: bool,
    /// The last event that was looked at, to be sent as `after` of the next call, also when it did not fit the filter. `null` where
    /// nothing was sent and there is nothing.
    #[schema(pattern = "^event_[0-9A-Za-z]{27}$", required = true)]
    next_after: Option<String>,
}

/// List events
///
/// What changed in the App's environment, in the order of the log. Go on from `next_after`, and you get every event exactly once. One
/// call looks at 10,000 events at most, so that a filtered page may be empty although `has_more` is true. With `wait`, the call
/// returns as soon as there is an event. Five calls of a key and fifty of an App can wait at the same time; one more returns after a
/// second.
///
/// An `after` that the log does not know, since the event is older than the App keeps events, or was lost when the database was set
/// back, is refused with 409 `cursor_unknown`: compare your copy by the list calls, and go on from `GET /v1/events/head`.
///
/// Needs the scope `events:read`.
#[utoipa::path(
    get,
    path = "/v1/events",
    operation_id = "listEvents",
    tag = "Events",
    params(Filter),
    responses((status = 200, description = "A page of the log", body = Answer))
)]
pub(crate) async fn handle(
    call: Call,
    Query(filter): Query<Filter>,
) -> Result<Json<Answer>, Problem> {
    let query = filter.parsed()?;
    let page = call
        .wait(move |service, caller| async move { service.follow_events(&caller, query).await })
        .await?;
    let events = page.events.into_iter().map(Event::try_from);
    Ok(Json(Answer {
        events: events.collect::<Result<_, _>>()?,
        has_more: page.has_more,
        next_after: page.next_after.map(|id| id.to_string()),
    }))
}

impl Filter {
    fn parsed(self) -> Result<ListEvents, Invalid> {
        let id = |param, text: Option<String>| text.map(|text| parse_id(param, &text)).transpose();
        let names = self.types.as_deref();
        let names = names.into_iter().flat_map(|names| names.split(','));
        let user_id = self.user_id.map(|text| parse_id("user_id", &text));
        let wallet_id = self.wallet_id.map(|text| parse_id("wallet_id", &text));
        Ok(ListEvents {
            after: id("after", self.after)?,
            limit: self.limit,
            kinds: kinds(names)?,
            user_id: user_id.transpose()?,
            wallet_id: wallet_id.transpose()?,
            descending: match self.order.as_deref() {
                None | Some("asc") => false,
                Some("desc") => true,
                Some(_) => return Err(Invalid::value("order", "order must be asc or desc")),
            },
            wait: self.wait,
        })
    }
}
