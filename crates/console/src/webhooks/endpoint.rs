//! One endpoint: its state, configuration, deliveries and replays.

use std::str::FromStr;

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::web::{Path, Query};
use askama::Template;
use serde::Deserialize;
use url::form_urlencoded;
use vestry_app::platform::webhooks::{DeliveryFilter, ListedEndpoint};
use vestry_app::{PageSize, Refusal};
use vestry_domain::Invalid;
use vestry_domain::action::Action;
use vestry_domain::timestamp::Seconds;
use vestry_domain::webhook::{Delivery, Replay};

use super::{
    WEBHOOKS, api_path, attempts_of, command, find, name_of, outcome_of, path_of, reason_of,
    state_of,
};
use crate::app::{Address, Inside, enter};
use crate::by_api::ByApi;
use crate::filters;
use crate::form::Form;
use crate::frame::Frame;
use crate::handler::Shown;
use crate::page::page;
use crate::problems::Problems;
use crate::visit::Visit;

/// The replays that the page shows.
const REPLAYS: usize = 5;

/// The query of the page. It is in the URL, so that a filter can be sent to a colleague.
#[derive(Deserialize, Default)]
pub(crate) struct Wanted {
    #[serde(default)]
    state: String,
    #[serde(default)]
    event_id: String,
    #[serde(default)]
    starting_after: String,
}

/// A choice of the deliveries to show.
struct Choice {
    name: &'static str,
    query: String,
    is_current: bool,
}

/// The form that sends many events again.
pub(super) struct ReplayForm {
    what: String,
    days: String,
    after: String,
    until: String,
    problems: Problems,
}

impl ReplayForm {
    /// How far back failed deliveries can be replayed, in days.
    pub(super) const DAYS: [i64; 3] = [1, 7, 30];

    fn new() -> Self {
        Self {
            what: "failed".to_owned(),
            days: "7".to_owned(),
            after: String::new(),
            until: String::new(),
            problems: Problems::none(),
        }
    }

    /// The form as it was sent.
    pub(super) fn refused(form: &Form, problems: Problems) -> Self {
        let text = |name| form.text(name).trim().to_owned();
        Self {
            what: text("what"),
            days: text("days"),
            after: text("after"),
            until: text("until"),
            problems,
        }
    }
}

#[derive(Template)]
#[template(path = "webhook.html")]
struct WebhookPage {
    frame: Frame,
    listed: ListedEndpoint,
    /// The path of the page.
    base: String,
    choices: Vec<Choice>,
    is_filtered: bool,
    /// Whether the page begins with the newest delivery.
    is_first_page: bool,
    deliveries: Vec<Delivery>,
    older: Option<String>,
    /// Why the filter was refused.
    problem: Option<String>,
    replays: Vec<Replay>,
    replay: ReplayForm,
    submission: String,
    may_test: bool,
    may_change: bool,
    may_replay: bool,
    by_api: ByApi,
}

impl WebhookPage {
    /// Whether new deliveries can appear on the page.
    fn is_live(&self) -> bool {
        self.is_first_page && self.problem.is_none()
    }
}

fn optional<T: FromStr<Err = Invalid>>(
    name: &'static str,
    value: &str,
) -> Result<Option<T>, Invalid> {
    if value.is_empty() {
        return Ok(None);
    }
    let parsed = value.parse().map(Some);
    parsed.map_err(|invalid: Invalid| Invalid {
        param: name.into(),
        ..invalid
    })
}

impl Wanted {
    fn filter(&self) -> Result<DeliveryFilter, Invalid> {
        Ok(DeliveryFilter {
            state: optional("state", &self.state)?,
            event_id: optional("event_id", &self.event_id)?,
            after: optional("starting_after", &self.starting_after)?,
            ..DeliveryFilter::default()
        })
    }

    /// The query for deliveries in a state, after one of them.
    fn query(&self, state: &str, after: Option<&Delivery>) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        for (name, value) in [("state", state), ("event_id", &self.event_id)] {
            if !value.is_empty() {
                query.append_pair(name, value);
            }
        }
        if let Some(after) = after {
            query.append_pair("starting_after", &after.id.to_string());
        }
        format!("?{}", query.finish())
    }

    /// Deliveries to a disabled endpoint are held, and not attempted.
    fn choices(&self, is_disabled: bool) -> Vec<Choice> {
        let pending = match is_disabled {
            true => ("Held", "held"),
            false => ("Pending", "waiting"),
        };
        let all = [
            ("All", ""),
            pending,
            ("Delivered", "delivered"),
            ("Exhausted", "exhausted"),
        ];
        let choices = all.into_iter().map(|(name, state)| Choice {
            name,
            query: self.query(state, None),
            is_current: self.state == state,
        });
        choices.collect()
    }
}

/// `GET webhooks/{id}`
pub(crate) async fn show(
    visit: Visit,
    address: Path<Address>,
    Query(wanted): Query<Wanted>,
) -> Shown {
    let inside = enter(&visit, &address).await?;
    let listed = find(&visit, &inside, &address.id).await?;
    shown(&visit, &inside, listed, &wanted, ReplayForm::new()).await
}

/// The page.
pub(super) async fn shown(
    visit: &Visit,
    inside: &Inside,
    listed: ListedEndpoint,
    wanted: &Wanted,
    replay: ReplayForm,
) -> Shown {
    let id = listed.endpoint.id;
    let (filter, problem) = match wanted.filter() {
        Ok(filter) => (Some(filter), None),
        Err(invalid) => (None, Some(invalid.message.into_owned())),
    };
    let (deliveries, has_more, mut replays) = read(visit, inside, &listed, filter).await?;
    replays.truncate(REPLAYS);
    let last = deliveries.last().filter(|_| has_more);
    let status = match problem {
        None => replay.problems.status(),
        Some(_) => StatusCode::BAD_REQUEST,
    };
    let path = format!("{}/{id}/replay", api_path(inside));
    let week_ago = visit.service.machine_time() - Seconds(7 * 24 * 60 * 60);
    let since = week_ago.unix();
    let body = format!(r#"{{"failed_since": {since}}}"#);
    let rest = format!(" {id} --failed-since {since}");
    let template = WebhookPage {
        frame: inside.frame(visit, WEBHOOKS),
        base: path_of(inside, id),
        choices: wanted.choices(listed.endpoint.disabled.is_some()),
        is_filtered: !wanted.state.is_empty() || !wanted.event_id.is_empty(),
        is_first_page: wanted.starting_after.is_empty(),
        older: last.map(|last| wanted.query(&wanted.state, Some(last))),
        submission: visit.new_submission(),
        may_test: inside.may(Action::TestWebhook),
        may_change: inside.may(Action::UpdateWebhook),
        may_replay: inside.may(Action::ReplayDeliveries),
        by_api: ByApi::new("POST", &path, &body, command(inside, "replay", &rest)),
        listed,
        deliveries,
        problem,
        replays,
        replay,
    };
    Ok(page(visit, status, &template))
}

/// A page of its deliveries, whether there are older ones, and its replays.
async fn read(
    visit: &Visit,
    inside: &Inside,
    listed: &ListedEndpoint,
    filter: Option<DeliveryFilter>,
) -> Result<(Vec<Delivery>, bool, Vec<Replay>), HttpResponse> {
    let (by, world, id) = (inside.by.clone(), inside.world(), listed.endpoint.id);
    let read = visit.run(|service| async move {
        let size = PageSize::check(None)?;
        let mut deliveries = match filter {
            None => Vec::new(),
            Some(filter) => {
                service
                    .list_deliveries(&by, world.into(), id, filter, size.rows())
                    .await?
            }
        };
        let replays = service.list_replays(&by, world.into(), id).await?;
        let has_more = size.cut(&mut deliveries);
        Ok::<_, Refusal>((deliveries, has_more, replays))
    });
    match read.await {
        Ok(read) => Ok(read),
        Err(refusal) => Err(inside.refused(visit, refusal, WEBHOOKS).await),
    }
}
