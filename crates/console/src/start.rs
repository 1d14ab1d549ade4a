//! The start page: the Apps that the operator sees, and a new one.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use askama::Template;
use vestry_app::Refusal;
use vestry_domain::Environment;
use vestry_domain::action::Action;
use vestry_domain::app::App;
use vestry_domain::extent::Extent;

use crate::alarms::{self, AlarmRow};
use crate::by_api::ByApi;
use crate::filters;
use crate::flash::Done;
use crate::form::Posted;
use crate::frame::{self, Frame};
use crate::handler::Shown;
use crate::page::{self, Entered, done, entered, page, received_inside, redirect, refused_action};
use crate::problems::Problems;
use crate::submission::{NotSubmitted, Submitted};
use crate::visit::Visit;

const APPS: &str = "/v1/manage/apps";
const NEW: &str = "/console/apps/new";

#[derive(Template)]
#[template(path = "start.html")]
struct StartPage {
    frame: Frame,
    alarms: Vec<AlarmRow>,
    apps: Vec<App>,
    may_create: bool,
    by_api: ByApi,
}

#[derive(Template)]
#[template(path = "app_new.html")]
struct NewAppPage<'a> {
    frame: Frame,
    name: &'a str,
    problems: Problems,
    submission: String,
    by_api: ByApi,
}

/// `GET /console`
pub(crate) async fn to_start() -> HttpResponse {
    redirect("/console/")
}

/// `GET /console/`
pub(crate) async fn show(visit: Visit) -> Shown {
    let entered = entered(&visit).await?;
    let apps = entered.apps(&visit).await?;
    let by = entered.by.clone();
    let alarms = visit.run(|service| async move { service.alarms(&by).await });
    let alarms = match alarms.await {
        Ok(alarms) => alarms::rows(&alarms, &apps),
        Err(refusal) => return Err(page::refused(&visit, refusal.into())),
    };
    let template = StartPage {
        frame: Frame::new(&visit, &entered.signed, ""),
        alarms,
        apps,
        may_create: entered.by.may(Action::CreateApp, Extent::Deployment),
        by_api: ByApi::new("GET", APPS, "", "vestry app list".to_owned()),
    };
    Ok(page(&visit, StatusCode::OK, &template))
}

/// `GET apps/new`
pub(crate) async fn new_app(visit: Visit) -> Shown {
    let entered = entered(&visit).await?;
    entered.ready(&visit, Action::CreateApp).await?;
    Ok(form(&visit, &entered, "", Problems::none()))
}

fn form(visit: &Visit, entered: &Entered, name: &str, problems: Problems) -> HttpResponse {
    let body = r#"{"name": "Harbour Books"}"#;
    let template = NewAppPage {
        frame: Frame::new(visit, &entered.signed, ""),
        name,
        submission: visit.new_submission(),
        by_api: ByApi::new(
            "POST",
            APPS,
            body,
            "vestry app create \"Harbour Books\"".to_owned(),
        ),
        problems,
    };
    page(visit, template.problems.status(), &template)
}

/// `POST apps/new`
pub(crate) async fn create_app(visit: Visit, posted: Posted) -> Shown {
    let (fields, entered) = received_inside(&visit, posted).await?;
    let name = fields.text("name").to_owned();
    let (by, wanted) = (entered.by.clone(), name.clone());
    let caller = visit.service.caller_in_deployment(&by);
    let created = visit.once(caller, &fields, |service, run| async move {
        service.create_app(&by.in_run(run), &wanted).await
    });
    match created.await {
        Ok(Submitted::First(app)) => {
            let to = format!("{}/", frame::path(app.id, Environment::Test));
            Ok(done(&visit, Done::AppCreated, &to))
        }
        Ok(Submitted::Repeated) => Ok(done(&visit, Done::Repeated, "/console/")),
        Err(NotSubmitted::Problem(problem)) => Err(page::refused(&visit, problem)),
        Err(NotSubmitted::Refused(Refusal::Invalid(invalid))) => {
            let problems = Problems::of("The App was not created.", invalid);
            Ok(form(&visit, &entered, &name, problems))
        }
        Err(NotSubmitted::Refused(refusal)) => {
            Err(refused_action(&visit, &entered.signed, refusal, NEW).await)
        }
    }
}
