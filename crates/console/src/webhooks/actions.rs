//! What operators do with an endpoint: enable and disable it, send a sample, and send events again.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::web::Path;
use askama::Template;
use vestry_app::Refusal;
use vestry_app::platform::replays::ReplaySelection;
use vestry_app::platform::webhooks::{ListedEndpoint, Replayed, Resume, Trial};
use vestry_domain::Invalid;
use vestry_domain::action::Action;
use vestry_domain::event::{EventKind, TEST};
use vestry_domain::ids::{EventId, WebhookDeliveryId};
use vestry_domain::timestamp::Seconds;

use super::delivery::DeliveryAddress;
use super::endpoint::{ReplayForm, Wanted, shown};
use super::{WEBHOOKS, api_path, command, find, name_of, path_of};
use crate::app::{Address, Inside, enter, received};
use crate::by_api::ByApi;
use crate::filters;
use crate::flash::{Done, Flash};
use crate::form::{Form, Posted};
use crate::frame::Frame;
use crate::handler::Shown;
use crate::page::{self, done, page};
use crate::problems::Problems;
use crate::submission::{NotSubmitted, Submitted};
use crate::visit::Visit;

const NOT_REPLAYED: &str = "No replay was started.";
const NOT_SENT: &str = "No test event was sent.";
const DAY: i64 = 24 * 60 * 60;

#[derive(Template)]
#[template(path = "webhook_switch.html")]
struct SwitchPage<'a> {
    frame: Frame,
    base: String,
    listed: &'a ListedEndpoint,
    /// Whether the form enables the endpoint.
    enables: bool,
    by_api: ByApi,
}

#[derive(Template)]
#[template(path = "webhook_test.html")]
struct TestPage<'a> {
    frame: Frame,
    base: String,
    listed: &'a ListedEndpoint,
    kind: &'a str,
    /// The outcome of the last one.
    trial: Option<Trial>,
    problems: Problems,
    by_api: ByApi,
}

/// Whether the endpoint accepted a sample.
fn is_accepted(trial: &Trial) -> bool {
    trial
        .status
        .is_some_and(|status| (200..300).contains(&status))
}

/// `GET webhooks/{id}/disable`
pub(crate) async fn confirm_disabling(visit: Visit, address: Path<Address>) -> Shown {
    confirm_switch(&visit, &address, false).await
}

/// `GET webhooks/{id}/enable`
pub(crate) async fn confirm_enabling(visit: Visit, address: Path<Address>) -> Shown {
    confirm_switch(&visit, &address, true).await
}

async fn confirm_switch(visit: &Visit, address: &Address, enables: bool) -> Shown {
    let inside = enter(visit, address).await?;
    inside
        .ready(visit, Action::SwitchWebhook, inside.world())
        .await?;
    let listed = find(visit, &inside, &address.id).await?;
    let id = listed.endpoint.id;
    let (verb, body) = match enables {
        true => ("enable", r#"{"resume": "all"}"#),
        false => ("disable", ""),
    };
    let path = format!("{}/{id}/{verb}", api_path(&inside));
    let template = SwitchPage {
        frame: inside.frame(visit, WEBHOOKS),
        base: path_of(&inside, id),
        by_api: ByApi::new(
            "POST",
            &path,
            body,
            command(&inside, verb, &format!(" {id}")),
        ),
        listed: &listed,
        enables,
    };
    Ok(page(visit, StatusCode::OK, &template))
}

/// `POST webhooks/{id}/disable`
pub(crate) async fn disable(visit: Visit, posted: Posted, address: Path<Address>) -> Shown {
    let (_, inside) = received(&visit, posted, &address).await?;
    inside
        .ready(&visit, Action::SwitchWebhook, inside.world())
        .await?;
    let ListedEndpoint { endpoint, .. } = find(&visit, &inside, &address.id).await?;
    let (by, world, id) = (inside.by.clone(), inside.world(), endpoint.id);
    let disabled =
        visit.run(|service| async move { service.disable_webhook(&by, world.into(), id).await });
    match disabled.await {
        Ok(_) => Ok(done(&visit, Done::WebhookDisabled, &path_of(&inside, id))),
        Err(refusal) => {
            let back = format!("{WEBHOOKS}/{id}/disable");
            Err(inside.refused(&visit, refusal, &back).await)
        }
    }
}

/// `POST webhooks/{id}/enable`
pub(crate) async fn enable(visit: Visit, posted: Posted, address: Path<Address>) -> Shown {
    let (form, inside) = received(&visit, posted, &address).await?;
    inside
        .ready(&visit, Action::SwitchWebhook, inside.world())
        .await?;
    let ListedEndpoint { endpoint, .. } = find(&visit, &inside, &address.id).await?;
    let resume = match form.text("resume") {
        "none" => Resume::Nothing,
        _ => Resume::All,
    };
    let (by, world, id) = (inside.by.clone(), inside.world(), endpoint.id);
    let enabled = visit
        .run(|service| async move { service.enable_webhook(&by, world.into(), id, resume).await });
    match enabled.await {
        Ok(_) => Ok(done(&visit, Done::WebhookEnabled, &path_of(&inside, id))),
        Err(refusal) => {
            let back = format!("{WEBHOOKS}/{id}/enable");
            Err(inside.refused(&visit, refusal, &back).await)
        }
    }
}

/// `GET webhooks/{id}/test`
pub(crate) async fn new_test(visit: Visit, address: Path<Address>) -> Shown {
    let inside = enter(&visit, &address).await?;
    inside
        .ready(&visit, Action::TestWebhook, inside.world())
        .await?;
    let listed = find(&visit, &inside, &address.id).await?;
    let problems = Problems::none();
    Ok(test_page(&visit, &inside, &listed, TEST, None, problems))
}

fn test_page(
    visit: &Visit,
    inside: &Inside,
    listed: &ListedEndpoint,
    kind: &str,
    trial: Option<Trial>,
    problems: Problems,
) -> HttpResponse {
    let id = listed.endpoint.id;
    let path = format!("{}/{id}/test", api_path(inside));
    let rest = format!(" {id} --type user.created");
    let body = r#"{"type": "user.created"}"#;
    let template = TestPage {
        frame: inside.frame(visit, WEBHOOKS),
        base: path_of(inside, id),
        listed,
        kind,
        trial,
        by_api: ByApi::new("POST", &path, body, command(inside, "test", &rest)),
        problems,
    };
    page(visit, template.problems.status(), &template)
}

/// `POST webhooks/{id}/test`: the response shows what the endpoint answered.
pub(crate) async fn test(visit: Visit, posted: Posted, address: Path<Address>) -> Shown {
    let (form, inside) = received(&visit, posted, &address).await?;
    inside
        .ready(&visit, Action::TestWebhook, inside.world())
        .await?;
    let listed = find(&visit, &inside, &address.id).await?;
    let typed = form.text("type").to_owned();
    let kind = match typed.as_str() {
        "" | TEST => None,
        name => match name.parse::<EventKind>() {
            Ok(kind) => Some(kind),
            Err(invalid) => {
                let invalid = Invalid {
                    param: "type".into(),
                    ..invalid
                };
                let problems = Problems::of(NOT_SENT, invalid);
                return Ok(test_page(&visit, &inside, &listed, &typed, None, problems));
            }
        },
    };
    let (by, world, id) = (inside.by.clone(), inside.world(), listed.endpoint.id);
    let sent =
        visit.run(|service| async move { service.try_webhook(&by, world.into(), id, kind).await });
    match sent.await {
        Ok(trial) => {
            let name = kind.map_or(TEST, EventKind::as_str);
            let (trial, problems) = (Some(trial), Problems::none());
            Ok(test_page(&visit, &inside, &listed, name, trial, problems))
        }
        Err(refusal) => {
            let back = format!("{WEBHOOKS}/{id}/test");
            Err(inside.refused(&visit, refusal, &back).await)
        }
    }
}

/// `POST webhooks/{id}/deliveries/{delivery}/replay`
pub(crate) async fn replay_one(
    visit: Visit,
    posted: Posted,
    address: Path<DeliveryAddress>,
) -> Shown {
    let (form, inside) = received(&visit, posted, &address.inside).await?;
    inside
        .ready(&visit, Action::ReplayDeliveries, inside.world())
        .await?;
    let ListedEndpoint { endpoint, .. } = find(&visit, &inside, &address.inside.id).await?;
    let Ok(delivery) = address.delivery.parse::<WebhookDeliveryId>() else {
        return Err(page::unknown(visit).await);
    };
    let (by, world, id) = (inside.by.clone(), inside.world(), endpoint.id);
    let replayed = visit.once(
        inside.caller.clone(),
        &form,
        move |service, run| async move {
            let what = Replayed::Delivery(delivery);
            service
                .replay_webhook(&by.in_run(run), world.into(), id, what)
                .await
        },
    );
    let base = path_of(&inside, id);
    match replayed.await {
        Ok(Submitted::First(new)) => {
            let to = format!("{base}/deliveries/{}", new.id);
            Ok(done(&visit, Flash::replayed(1), &to))
        }
        Ok(Submitted::Repeated) => Ok(done(&visit, Done::Repeated, &base)),
        Err(NotSubmitted::Problem(problem)) => Err(page::refused(&visit, problem)),
        Err(NotSubmitted::Refused(refusal)) => {
            let back = format!("{WEBHOOKS}/{id}/deliveries/{delivery}");
            Err(inside.refused(&visit, refusal, &back).await)
        }
    }
}

/// The events that the form selects.
fn selection(visit: &Visit, form: &Form) -> Result<ReplaySelection, Invalid> {
    let event = |name: &'static str| {
        let text = form.text(name).trim();
        let parsed = (!text.is_empty())
            .then(|| text.parse::<EventId>())
            .transpose();
        parsed.map_err(|invalid: Invalid| Invalid {
            param: name.into(),
            ..invalid
        })
    };
    match form.text("what") {
        "failed" => {
            let days = form.text("days").parse::<i64>().ok();
            let days = days.filter(|days| ReplayForm::DAYS.contains(days));
            let missing = || Invalid::value("days", "choose one of the times");
            let length = Seconds(days.ok_or_else(missing)?.saturating_mul(DAY));
            let since = visit.service.machine_time() - length;
            Ok(ReplaySelection::FailedSince(since))
        }
        "range" => Ok(ReplaySelection::Range {
            after: event("after")?.ok_or_else(|| Invalid::missing("after"))?,
            until: event("until")?,
        }),
        _ => Err(Invalid::value("what", "choose the events to replay")),
    }
}

/// `POST webhooks/{id}/replay`
pub(crate) async fn replay(visit: Visit, posted: Posted, address: Path<Address>) -> Shown {
    let (form, inside) = received(&visit, posted, &address).await?;
    inside
        .ready(&visit, Action::ReplayDeliveries, inside.world())
        .await?;
    let listed = find(&visit, &inside, &address.id).await?;
    let refuse = |invalid| ReplayForm::refused(&form, Problems::of(NOT_REPLAYED, invalid));
    let all = Wanted::default();
    let wanted = match selection(&visit, &form) {
        Ok(wanted) => wanted,
        Err(invalid) => return shown(&visit, &inside, listed, &all, refuse(invalid)).await,
    };
    let (by, world, id) = (inside.by.clone(), inside.world(), listed.endpoint.id);
    let begun = visit.once(
        inside.caller.clone(),
        &form,
        move |service, run| async move {
            service
                .replay_missed(&by.in_run(run), world.into(), id, wanted)
                .await
        },
    );
    let refusal = match begun.await {
        Ok(Submitted::First(replay)) => {
            let flash = Flash::replayed(u32::try_from(replay.count).unwrap_or(u32::MAX));
            return Ok(done(&visit, flash, &path_of(&inside, id)));
        }
        Ok(Submitted::Repeated) => {
            return Ok(done(&visit, Done::Repeated, &path_of(&inside, id)));
        }
        Err(NotSubmitted::Problem(problem)) => return Err(page::refused(&visit, problem)),
        Err(NotSubmitted::Refused(refusal)) => refusal,
    };
    let invalid = match refusal {
        Refusal::Invalid(invalid) => invalid,
        Refusal::NotNow(message) => Invalid::value("", message),
        Refusal::NotFound("event") => {
            Invalid::value("", "the log of this environment has no such event")
        }
        refusal => {
            let back = format!("{WEBHOOKS}/{id}");
            return Err(inside.refused(&visit, refusal, &back).await);
        }
    };
    shown(&visit, &inside, listed, &all, refuse(invalid)).await
}
