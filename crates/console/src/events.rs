//! The event log: the list, newest first, and one event with its deliveries.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::web::{Path, Query};
use askama::Template;
use serde::Deserialize;
use vestry_app::Refusal;
use vestry_app::delivery::events::{EventPage, ListEvents, ListEventsError};
use vestry_app::platform::event_deliveries::EventDelivery;
use vestry_domain::action::Action;
use vestry_domain::event::{EventKind, kinds};
use vestry_domain::ids::{EventId, UserId, WalletId};
use vestry_domain::webhook::DeliveryState;
use vestry_domain::{Environment, Invalid};

use crate::app::{Address, Inside, enter};
use crate::by_api::ByApi;
use crate::event_rows::EventRow;
use crate::filters;
use crate::frame::Frame;
use crate::handler::Shown;
use crate::page::{self, page, redirect};
use crate::query::{Chip, Filters, field, moment};
use crate::visit::Visit;

const EVENTS: &str = "events";
/// The rows of a page.
const ROWS: i64 = 50;

/// The query of the list.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct Wanted {
    /// The id of an event, a user or a wallet.
    q: String,
    types: String,
    from: String,
    until: String,
    after: String,
}

/// Types of events that can be chosen together.
struct Group {
    name: &'static str,
    /// The name of the choice, such as `user.*`.
    all: String,
    kinds: Vec<&'static str>,
}

#[derive(Template)]
#[template(path = "events.html")]
struct EventsPage {
    frame: Frame,
    q: String,
    types: String,
    from: String,
    until: String,
    /// Whether `types` is none of the options.
    has_other_types: bool,
    groups: Vec<Group>,
    chips: Vec<Chip>,
    rows: Vec<EventRow>,
    /// The days for which events are retained.
    days: i64,
    /// Whether the page begins in the middle of the log.
    is_later_page: bool,
    older: Option<String>,
    problem: Option<String>,
    by_api: ByApi,
}

impl EventsPage {
    /// Whether new events can appear on the page.
    fn is_live(&self) -> bool {
        !self.is_later_page && self.problem.is_none()
    }
}

#[derive(Template)]
#[template(path = "event.html")]
struct OneEventPage {
    frame: Frame,
    row: EventRow,
    /// `None` without the right to read webhooks.
    deliveries: Option<Vec<EventDelivery>>,
    may_read_users: bool,
    may_read_audit: bool,
    by_api: ByApi,
}

impl EventsPage {
    fn is_chosen(&self, types: &str) -> bool {
        self.types == types
    }
}

impl Wanted {
    fn parsed(&self) -> Result<ListEvents, Invalid> {
        let q = self.q.trim();
        let (mut user_id, mut wallet_id) = (None, None);
        if let Ok(id) = q.parse::<WalletId>() {
            wallet_id = Some(id);
        } else if let Ok(id) = q.parse::<UserId>() {
            user_id = Some(id);
        } else if !q.is_empty() {
            let message = "search for the whole id of an event, a user or a wallet";
            return Err(Invalid::value("q", message));
        }
        let names = self.types.split(',').map(str::trim);
        let after = match self.after.as_str() {
            "" => None,
            id => Some(id.parse::<EventId>().map_err(|_malformed| {
                Invalid::value("after", "after must be the id of an event")
            })?),
        };
        Ok(ListEvents {
            after,
            limit: Some(ROWS),
            kinds: kinds(names.filter(|name| !name.is_empty()))?,
            user_id,
            wallet_id,
            from: moment("from", &self.from)?,
            until: moment("until", &self.until)?,
            descending: true,
            wait: None,
        })
    }

    fn filters(&self) -> Filters<'_> {
        Filters(vec![
            ("q", "id", self.q.trim()),
            ("types", "type", &self.types),
            ("from", "from", &self.from),
            ("until", "until", &self.until),
        ])
    }

    /// The same list in the API, which has no times.
    fn path(&self, query: &ListEvents) -> String {
        let mut path = format!("/v1/events?order=desc&limit={ROWS}");
        let own = [
            (
                "types",
                Some(self.types.replace(' ', "")).filter(|types| !types.is_empty()),
            ),
            ("user_id", query.user_id.map(|id| id.to_string())),
            ("wallet_id", query.wallet_id.map(|id| id.to_string())),
            ("after", query.after.map(|id| id.to_string())),
        ];
        for (name, value) in own {
            if let Some(value) = value {
                path.push_str(&format!("&{name}={value}"));
            }
        }
        path
    }
}

/// The types that an App's log can have, by group.
fn groups() -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let of_apps = |kind: &&EventKind| !matches!(kind.group(), "operator" | "management_key");
    for kind in EventKind::ALL.iter().filter(of_apps) {
        match groups.iter_mut().find(|group| group.name == kind.group()) {
            Some(group) => group.kinds.push(kind.as_str()),
            None => groups.push(Group {
                name: kind.group(),
                all: format!("{}.*", kind.group()),
                kinds: vec![kind.as_str()],
            }),
        }
    }
    groups
}

/// `GET events`
pub(crate) async fn list(
    visit: Visit,
    address: Path<Address>,
    Query(wanted): Query<Wanted>,
) -> Shown {
    let inside = enter(&visit, &address).await?;
    let world = inside.world();
    inside.ready(&visit, Action::ReadEvents, world).await?;
    if let Ok(id) = wanted.q.trim().parse::<EventId>() {
        return Ok(redirect(&inside.path(&format!("{EVENTS}/{id}"))));
    }
    let query = match wanted.parsed() {
        Ok(query) => query,
        Err(invalid) => {
            let problem = Err(invalid.message.into_owned());
            return Ok(results(&visit, &inside, wanted, "/v1/events", problem));
        }
    };
    let path = wanted.path(&query);
    let caller = inside.caller.clone();
    let found = visit.run(|service| async move { service.list_events(&caller, &query).await });
    let found = match found.await {
        Ok(found) => Ok(found),
        Err(ListEventsError::CursorUnknown) => {
            let expired = "The event at which this page begins is no longer in the log. Begin again with the newest.";
            Err(expired.to_owned())
        }
        Err(ListEventsError::Common(Refusal::Invalid(invalid))) => {
            Err(invalid.message.into_owned())
        }
        Err(ListEventsError::Common(refusal)) => {
            return Err(inside.refused(&visit, refusal, "").await);
        }
    };
    Ok(results(&visit, &inside, wanted, &path, found))
}

fn results(
    visit: &Visit,
    inside: &Inside,
    wanted: Wanted,
    path: &str,
    found: Result<EventPage, String>,
) -> HttpResponse {
    let filters = wanted.filters();
    let chips = filters.chips();
    let (rows, older, problem) = match found {
        Ok(found) => {
            let next = found.next_after.filter(|_| found.has_more);
            let older = next.map(|id| filters.after("after", &id.to_string()));
            let rows = found.events.into_iter().map(EventRow::new).collect();
            (rows, older, None)
        }
        Err(problem) => (Vec::new(), None, Some(problem)),
    };
    let status = match problem {
        None => StatusCode::OK,
        Some(_) => StatusCode::BAD_REQUEST,
    };
    let groups = groups();
    let is_option = |types: &str| {
        let mut options = groups.iter();
        options.any(|group| group.all == types || group.kinds.contains(&types))
    };
    let retention = inside
        .caller
        .app
        .settings
        .event_retention(inside.world().environment);
    let template = EventsPage {
        frame: inside.frame(visit, EVENTS),
        has_other_types: !wanted.types.is_empty() && !is_option(&wanted.types),
        groups,
        chips,
        rows,
        days: retention.0 / 86_400,
        is_later_page: !wanted.after.is_empty(),
        older,
        problem,
        by_api: ByApi::of_app(
            "GET",
            path,
            "",
            format!(
                "vestry listen --forward-to http://127.0.0.1:3000/events{}",
                live(inside)
            ),
        ),
        from: field(&wanted.from),
        until: field(&wanted.until),
        q: wanted.q,
        types: wanted.types,
    };
    page(visit, status, &template)
}

/// `GET events/{id}`
pub(crate) async fn show(visit: Visit, address: Path<Address>) -> Shown {
    let inside = enter(&visit, &address).await?;
    let world = inside.world();
    inside.ready(&visit, Action::ReadEvents, world).await?;
    let Ok(id) = address.id.parse::<EventId>() else {
        return Err(page::unknown(visit).await);
    };
    let caller = inside.caller.clone();
    let event = visit.run(|service| async move { service.get_event(&caller, id).await });
    let event = match event.await {
        Ok(event) => event,
        Err(refusal) => return Err(inside.refused(&visit, refusal, EVENTS).await),
    };
    let mut deliveries = None;
    if inside.may(Action::ReadWebhooks) {
        let by = inside.by.clone();
        let found = visit
            .run(|service| async move { service.list_deliveries_of_event(&by, world, id).await });
        match found.await {
            Ok(found) => deliveries = Some(found),
            Err(refusal) => return Err(inside.refused(&visit, refusal, EVENTS).await),
        }
    }
    let template = OneEventPage {
        frame: inside.frame(&visit, EVENTS),
        row: EventRow::new(event),
        deliveries,
        may_read_users: inside.may(Action::GetUser),
        may_read_audit: inside.may(Action::ReadAuditLog),
        by_api: ByApi::of_app(
            "GET",
            &format!("/v1/events/{id}"),
            "",
            format!(
                "vestry events resend {id} --forward-to http://127.0.0.1:3000/events{}",
                live(&inside)
            ),
        ),
    };
    Ok(page(&visit, StatusCode::OK, &template))
}

/// The option without which the command refuses keys of live.
fn live(inside: &Inside) -> &'static str {
    match inside.world().environment {
        Environment::Live => " --live",
        Environment::Test => "",
    }
}

/// The tone and the name of the state of a delivery.
fn state(one: &EventDelivery) -> (&'static str, &'static str) {
    match one.delivery.state {
        DeliveryState::Waiting => ("info", "Waiting"),
        DeliveryState::Held => ("warn", "Held"),
        DeliveryState::Delivered => ("ok", "Delivered"),
        DeliveryState::Exhausted => ("bad", "Exhausted"),
        DeliveryState::Dropped => ("", "Dropped"),
    }
}
