//! The overview of an App and environment.

use actix_web::http::StatusCode;
use actix_web::web::{Path, Query};
use askama::Template;
use vestry_app::delivery::events::{ListEvents, ListEventsError};
use vestry_domain::action::Action;
use vestry_domain::app::App;

use crate::activity::{Activity, Wanted};
use crate::app::{Address, enter};
use crate::by_api::ByApi;
use crate::checklist::Checklist;
use crate::event_rows::EventRow;
use crate::filters;
use crate::frame::Frame;
use crate::handler::Shown;
use crate::page::page;
use crate::visit::Visit;

/// The events on the overview.
const LAST_EVENTS: i64 = 10;

#[derive(Template)]
#[template(path = "overview.html")]
struct OverviewPage {
    frame: Frame,
    app: App,
    /// Why the default range is shown.
    problem: Option<String>,
    activity: Activity,
    /// The tasks before go-live; `None` in test.
    checklist: Option<Checklist>,
    /// The newest events, newest first.
    rows: Vec<EventRow>,
    by_api: ByApi,
}

/// `GET {app}/{environment}/`
pub(crate) async fn show(visit: Visit, address: Path<Address>, wanted: Query<Wanted>) -> Shown {
    let inside = enter(&visit, &address).await?;
    let id = inside.world().app_id;
    let (range, problem) = wanted.range();
    let (by, world) = (inside.by.clone(), inside.world());
    let found = visit
        .run(|service| async move { service.activity(&by, world, range.range).await })
        .await;
    let found = match found {
        Ok(found) => found,
        Err(refusal) => return Err(inside.refused(&visit, refusal, "").await),
    };
    let mut rows = Vec::new();
    if inside.may(Action::ReadEvents) {
        let caller = inside.caller.clone();
        let query = ListEvents {
            limit: Some(LAST_EVENTS),
            descending: true,
            ..ListEvents::default()
        };
        let found = visit.run(|service| async move { service.list_events(&caller, &query).await });
        match found.await {
            Ok(found) => rows.extend(found.events.into_iter().map(EventRow::new)),
            // There is no cursor.
            Err(ListEventsError::CursorUnknown) => {}
            Err(ListEventsError::Common(refusal)) => {
                return Err(inside.refused(&visit, refusal, "").await);
            }
        }
    }
    let status = match problem {
        None => StatusCode::OK,
        Some(_) => StatusCode::BAD_REQUEST,
    };
    let template = OverviewPage {
        problem: problem.map(|invalid| invalid.message.into_owned()),
        activity: Activity::new(range, found),
        checklist: Checklist::of(&visit, &inside).await?,
        rows,
        frame: inside.frame(&visit, ""),
        app: App::clone(&inside.caller.app),
        by_api: ByApi::new(
            "GET",
            &format!("/v1/manage/apps/{id}"),
            "",
            format!("vestry app show {id}"),
        ),
    };
    Ok(page(&visit, status, &template))
}
