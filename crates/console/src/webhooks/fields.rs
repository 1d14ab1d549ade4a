//! The form for a new endpoint, and for changing one.

use actix_web::HttpResponse;
use actix_web::web::Path;
use askama::Template;
use vestry_app::Refusal;
use vestry_app::platform::webhooks::{EndpointChange, ListedEndpoint, NewEndpoint};
use vestry_domain::Invalid;
use vestry_domain::action::Action;
use vestry_domain::event::EventKind;
use vestry_domain::webhook::Endpoint;

use super::secret::{self, Shows};
use super::{WEBHOOKS, api_path, command, find, name_of, path_of};
use crate::app::{Address, Inside, enter, received};
use crate::by_api::ByApi;
use crate::filters;
use crate::flash::Done;
use crate::form::{Form, Posted};
use crate::frame::Frame;
use crate::handler::Shown;
use crate::page::{self, done, page};
use crate::problems::Problems;
use crate::submission::{NotSubmitted, Submitted};
use crate::visit::Visit;

const NOT_ADDED: &str = "The endpoint was not added.";
const NOT_SAVED: &str = "The endpoint was not saved.";

/// The fields as typed.
#[derive(Default)]
struct Input {
    name: String,
    url: String,
    types: Vec<String>,
    /// Types without a box of their own.
    other_types: String,
}

impl Input {
    fn read(form: &Form) -> Self {
        Self {
            name: form.text("name").trim().to_owned(),
            url: form.text("url").trim().to_owned(),
            types: form.all("types"),
            other_types: form.text("other_types").trim().to_owned(),
        }
    }

    fn of(endpoint: &Endpoint) -> Self {
        let boxes = boxes();
        let names = endpoint.types.names().iter().cloned();
        let (types, others): (Vec<_>, Vec<_>) = names.partition(|name| boxes.contains(name));
        Self {
            name: endpoint.name.clone().unwrap_or_default(),
            url: endpoint.url.as_str().to_owned(),
            types,
            other_types: others.join(", "),
        }
    }

    fn name(&self) -> Option<String> {
        Some(self.name.clone()).filter(|name| !name.is_empty())
    }

    fn all_types(&self) -> Vec<String> {
        let is_end = |character: char| character == ',' || character.is_whitespace();
        let others = self.other_types.split(is_end);
        let others = others.filter(|name| !name.is_empty()).map(str::to_owned);
        self.types.iter().cloned().chain(others).collect()
    }

    fn has_type(&self, name: &str) -> bool {
        self.types.iter().any(|own| own == name)
    }
}

/// The types with a box: all, each group, and those that no group includes.
fn boxes() -> Vec<String> {
    let mut names = vec!["*".to_owned()];
    for kind in EventKind::ALL {
        let group = format!("{}.*", kind.group());
        if !names.contains(&group) {
            names.push(group);
        }
    }
    let optional = EventKind::ALL.iter().filter(|kind| kind.is_optional());
    names.extend(optional.map(ToString::to_string));
    names
}

#[derive(Template)]
#[template(path = "webhook_form.html")]
struct FormPage<'a> {
    frame: Frame,
    /// The endpoint to change; `None` for a new one.
    endpoint: Option<&'a Endpoint>,
    /// The page to return to.
    back: String,
    input: Input,
    boxes: Vec<String>,
    problems: Problems,
    submission: String,
    /// The state of the endpoint with which the form was filled.
    filled: String,
    by_api: ByApi,
}

/// `GET webhooks/new`
pub(crate) async fn new(visit: Visit, address: Path<Address>) -> Shown {
    let inside = enter(&visit, &address).await?;
    inside
        .ready(&visit, Action::AddWebhook, inside.world())
        .await?;
    let input = Input {
        types: vec!["*".to_owned()],
        ..Input::default()
    };
    Ok(new_form(&visit, &inside, input, Problems::none()))
}

fn new_form(visit: &Visit, inside: &Inside, input: Input, problems: Problems) -> HttpResponse {
    let body = r#"{"url": "https://shop.example.com/events", "types": ["user.*"]}"#;
    let environment = inside.world().environment;
    let rest = format!(" {environment} https://shop.example.com/events --types 'user.*'");
    let template = FormPage {
        endpoint: None,
        back: inside.path(WEBHOOKS),
        boxes: boxes(),
        submission: visit.new_submission(),
        filled: String::new(),
        by_api: ByApi::new(
            "POST",
            &api_path(inside),
            body,
            command(inside, "create", &rest),
        ),
        frame: inside.frame(visit, WEBHOOKS),
        input,
        problems,
    };
    page(visit, template.problems.status(), &template)
}

/// `POST webhooks/new`: the response shows the signing secret, once (CON-7).
pub(crate) async fn create(visit: Visit, posted: Posted, address: Path<Address>) -> Shown {
    let (form, inside) = received(&visit, posted, &address).await?;
    inside
        .ready(&visit, Action::AddWebhook, inside.world())
        .await?;
    let input = Input::read(&form);
    let new = NewEndpoint {
        url: input.url.clone(),
        name: input.name(),
        types: input.all_types(),
        enabled: true,
    };
    let (by, world) = (inside.by.clone(), inside.world());
    let created = visit.once(
        inside.caller.clone(),
        &form,
        move |service, run| async move { service.add_webhook(&by.in_run(run), world, new).await },
    );
    let refusal = match created.await {
        Ok(Submitted::First((listed, secret))) => {
            let shows = Shows {
                endpoint: &listed.endpoint,
                secret: secret.expose(),
                previous: None,
            };
            return Ok(secret::once(&visit, &inside, shows));
        }
        Ok(Submitted::Repeated) => {
            return Ok(done(&visit, Done::Repeated, &inside.path(WEBHOOKS)));
        }
        Err(NotSubmitted::Problem(problem)) => return Err(page::refused(&visit, problem)),
        Err(NotSubmitted::Refused(refusal)) => refusal,
    };
    match refused_field(refusal) {
        Ok(invalid) => {
            let problems = Problems::of(NOT_ADDED, invalid);
            Ok(new_form(&visit, &inside, input, problems))
        }
        Err(refusal) => Err(inside.refused(&visit, refusal, "webhooks/new").await),
    }
}

/// The field that a refusal is about.
fn refused_field(refusal: Refusal) -> Result<Invalid, Refusal> {
    match refusal {
        Refusal::Invalid(invalid) => Ok(invalid),
        Refusal::Duplicate(_) => {
            let message = "another endpoint of this environment has the same URL and event types";
            Ok(Invalid::value("url", message))
        }
        other => Err(other),
    }
}

/// `GET webhooks/{id}/edit`
pub(crate) async fn edit(visit: Visit, address: Path<Address>) -> Shown {
    let inside = enter(&visit, &address).await?;
    inside
        .ready(&visit, Action::UpdateWebhook, inside.world())
        .await?;
    let listed = find(&visit, &inside, &address.id).await?;
    let input = Input::of(&listed.endpoint);
    Ok(edit_form(
        &visit,
        &inside,
        &listed.endpoint,
        input,
        Problems::none(),
    ))
}

fn edit_form(
    visit: &Visit,
    inside: &Inside,
    endpoint: &Endpoint,
    input: Input,
    problems: Problems,
) -> HttpResponse {
    let id = endpoint.id;
    let rest = format!(" {id} --types 'user.*,wallet.exported'");
    let body = r#"{"types": ["user.*", "wallet.exported"]}"#;
    let path = format!("{}/{id}", api_path(inside));
    let template = FormPage {
        back: path_of(inside, id),
        boxes: boxes(),
        submission: String::new(),
        filled: state_of_fields(endpoint),
        by_api: ByApi::new("PATCH", &path, body, command(inside, "set", &rest)).with_etag(),
        frame: inside.frame(visit, WEBHOOKS),
        endpoint: Some(endpoint),
        input,
        problems,
    };
    page(visit, template.problems.status(), &template)
}

/// Differs after each change of the fields.
fn state_of_fields(endpoint: &Endpoint) -> String {
    endpoint.updated_at.unix().to_string()
}

/// `POST webhooks/{id}/edit`
pub(crate) async fn save(visit: Visit, posted: Posted, address: Path<Address>) -> Shown {
    let (form, inside) = received(&visit, posted, &address).await?;
    inside
        .ready(&visit, Action::UpdateWebhook, inside.world())
        .await?;
    let ListedEndpoint { endpoint, .. } = find(&visit, &inside, &address.id).await?;
    let input = Input::read(&form);
    let change = EndpointChange {
        url: Some(input.url.clone()),
        name: Some(input.name()),
        types: Some(input.all_types()),
    };
    let filled = form.text("base").to_owned();
    let (by, world, id) = (inside.by.clone(), inside.world(), endpoint.id);
    let saved = visit.run(|service| async move {
        let is_expected = |known: &ListedEndpoint| state_of_fields(&known.endpoint) == filled;
        service
            .change_expected_webhook(&by, world.into(), id, change, &is_expected)
            .await
    });
    let refusal = match saved.await {
        Ok(_) => return Ok(done(&visit, Done::WebhookSaved, &path_of(&inside, id))),
        Err(refusal) => refusal,
    };
    if matches!(refusal, Refusal::PreconditionFailed) {
        let message = "another operator has changed the endpoint since you opened this page; these are its new values";
        let problems = Problems::of(NOT_SAVED, Invalid::value("", message));
        let ListedEndpoint { endpoint, .. } = find(&visit, &inside, &address.id).await?;
        let current = Input::of(&endpoint);
        return Ok(edit_form(&visit, &inside, &endpoint, current, problems));
    }
    match refused_field(refusal) {
        Ok(invalid) => {
            let problems = Problems::of(NOT_SAVED, invalid);
            Ok(edit_form(&visit, &inside, &endpoint, input, problems))
        }
        Err(refusal) => {
            let back = format!("{WEBHOOKS}/{id}/edit");
            Err(inside.refused(&visit, refusal, &back).await)
        }
    }
}
