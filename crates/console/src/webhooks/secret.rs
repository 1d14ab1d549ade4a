//! Signing secrets: rotating one, and the page that shows a new one.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::web::Path;
use askama::Template;
use vestry_app::Refusal;
use vestry_app::platform::webhooks::ListedEndpoint;
use vestry_domain::action::Action;
use vestry_domain::timestamp::Seconds;
use vestry_domain::webhook::Endpoint;
use vestry_domain::{Invalid, Timestamp};

use super::{WEBHOOKS, api_path, command, find, name_of, path_of};
use crate::app::{Address, Inside, enter, received};
use crate::by_api::ByApi;
use crate::filters;
use crate::flash::Done;
use crate::form::Posted;
use crate::frame::Frame;
use crate::handler::Shown;
use crate::page::{self, done, page};
use crate::problems::Problems;
use crate::submission::{NotSubmitted, Submitted};
use crate::visit::Visit;

/// The proposed overlap in minutes: a day.
const OVERLAP: &str = "1440";
const NOT_ROTATED: &str = "The signing secret was not rotated.";

/// A new secret.
pub(super) struct Shows<'a> {
    pub(super) endpoint: &'a Endpoint,
    pub(super) secret: &'a str,
    /// The end of the previous secret, and when it expires.
    pub(super) previous: Option<(String, Timestamp)>,
}

#[derive(Template)]
#[template(path = "webhook_secret.html")]
struct SecretPage<'a> {
    frame: Frame,
    base: String,
    shows: Shows<'a>,
}

#[derive(Template)]
#[template(path = "webhook_rotate.html")]
struct RotationPage<'a> {
    frame: Frame,
    base: String,
    listed: &'a ListedEndpoint,
    overlap_minutes: &'a str,
    problems: Problems,
    submission: String,
    by_api: ByApi,
}

/// The page that shows a new secret, in the response to its form only (CON-7).
pub(super) fn once(visit: &Visit, inside: &Inside, shows: Shows<'_>) -> HttpResponse {
    let template = SecretPage {
        frame: inside.frame(visit, WEBHOOKS),
        base: path_of(inside, shows.endpoint.id),
        shows,
    };
    page(visit, StatusCode::OK, &template)
}

/// `GET webhooks/{id}/rotate`
pub(crate) async fn confirm(visit: Visit, address: Path<Address>) -> Shown {
    let inside = enter(&visit, &address).await?;
    inside
        .ready(&visit, Action::RotateWebhookSecret, inside.world())
        .await?;
    let listed = find(&visit, &inside, &address.id).await?;
    Ok(confirmation(
        &visit,
        &inside,
        &listed,
        OVERLAP,
        Problems::none(),
    ))
}

fn confirmation(
    visit: &Visit,
    inside: &Inside,
    listed: &ListedEndpoint,
    overlap_minutes: &str,
    problems: Problems,
) -> HttpResponse {
    let id = listed.endpoint.id;
    let path = format!("{}/{id}/rotate_secret", api_path(inside));
    let rest = format!(" {id} --overlap {OVERLAP}");
    let body = format!(r#"{{"overlap_minutes": {OVERLAP}}}"#);
    let template = RotationPage {
        frame: inside.frame(visit, WEBHOOKS),
        base: path_of(inside, id),
        listed,
        overlap_minutes,
        submission: visit.new_submission(),
        by_api: ByApi::new(
            "POST",
            &path,
            &body,
            command(inside, "rotate-secret", &rest),
        ),
        problems,
    };
    page(visit, template.problems.status(), &template)
}

/// `POST webhooks/{id}/rotate`: the response shows the new secret, once (CON-7).
pub(crate) async fn rotate(visit: Visit, posted: Posted, address: Path<Address>) -> Shown {
    let (form, inside) = received(&visit, posted, &address).await?;
    inside
        .ready(&visit, Action::RotateWebhookSecret, inside.world())
        .await?;
    let listed = find(&visit, &inside, &address.id).await?;
    let typed = form.text("overlap_minutes").trim().to_owned();
    let Ok(minutes) = typed.parse::<i64>() else {
        let message = "overlap_minutes must be a whole number from 0 to 10080";
        let invalid = Invalid::value("overlap_minutes", message);
        let problems = Problems::of(NOT_ROTATED, invalid);
        return Ok(confirmation(&visit, &inside, &listed, &typed, problems));
    };
    let (by, world, id) = (inside.by.clone(), inside.world(), listed.endpoint.id);
    let until = visit.service.machine_time() + Seconds::from_minutes(minutes);
    let rotated = visit.once(
        inside.caller.clone(),
        &form,
        move |service, run| async move {
            service
                .rotate_webhook_secret(&by.in_run(run), world.into(), id, minutes)
                .await
        },
    );
    match rotated.await {
        Ok(Submitted::First(secret)) => {
            let previous = listed.secrets.first();
            let shows = Shows {
                endpoint: &listed.endpoint,
                secret: secret.expose(),
                previous: previous.map(|previous| (previous.last_four.clone(), until)),
            };
            Ok(once(&visit, &inside, shows))
        }
        Ok(Submitted::Repeated) => Ok(done(&visit, Done::Repeated, &path_of(&inside, id))),
        Err(NotSubmitted::Problem(problem)) => Err(page::refused(&visit, problem)),
        Err(NotSubmitted::Refused(Refusal::Invalid(invalid))) => {
            let problems = Problems::of(NOT_ROTATED, invalid);
            Ok(confirmation(&visit, &inside, &listed, &typed, problems))
        }
        Err(NotSubmitted::Refused(refusal)) => {
            let back = format!("{WEBHOOKS}/{id}/rotate");
            Err(inside.refused(&visit, refusal, &back).await)
        }
    }
}
