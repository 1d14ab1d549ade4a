//! Management keys: the list, a new one, and revoking one.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::web::{Path, Query};
use askama::Template;
use serde::Deserialize;
use vestry_app::Refusal;
use vestry_app::operators::NewManagementKeyFields;
use vestry_domain::action::Action;
use vestry_domain::app::App;
use vestry_domain::extent::Extent;
use vestry_domain::ids::ManagementKeyId;
use vestry_domain::management_key::{Apps, ManagementKey, Rights};
use vestry_domain::management_scope::ManagementScope;
use vestry_domain::timestamp::Seconds;
use vestry_domain::{Environment, Invalid, Timestamp, api_key};

use crate::app::name_of;
use crate::by_api::ByApi;
use crate::filters;
use crate::flash::Done;
use crate::form::{Form, Posted};
use crate::frame::Frame;
use crate::handler::Shown;
use crate::page::{self, Entered, done, entered, page, received_inside, refused_action};
use crate::problems::Problems;
use crate::submission::{NotSubmitted, Submitted};
use crate::visit::Visit;

const PAGE: &str = "management-keys";
const LIST: &str = "/console/management-keys";
const NEW: &str = "/console/management-keys/new";
const DAY: i64 = 24 * 60 * 60;

/// A key in the list.
struct Row {
    key: ManagementKey,
    apps: String,
    environments: String,
    is_active: bool,
}

#[derive(Template)]
#[template(path = "management_keys.html")]
struct ListPage {
    frame: Frame,
    rows: Vec<Row>,
    shows_revoked: bool,
    may_issue: bool,
    by_api: ByApi,
}

#[derive(Template)]
#[template(path = "management_key_new.html")]
struct NewPage {
    frame: Frame,
    apps: Vec<App>,
    input: Input,
    submission: String,
    problems: Problems,
    by_api: ByApi,
}

#[derive(Template)]
#[template(path = "management_key_created.html")]
struct CreatedPage<'a> {
    frame: Frame,
    row: Row,
    key: &'a str,
}

#[derive(Template)]
#[template(path = "management_key_revoke.html")]
struct RevokePage {
    frame: Frame,
    key: ManagementKey,
    by_api: ByApi,
}

/// The query of the list.
#[derive(Deserialize)]
pub(crate) struct Wanted {
    #[serde(default)]
    revoked: Option<String>,
}

/// The part of the path that names a key. It is not trusted.
#[derive(Deserialize)]
pub(crate) struct Address {
    id: String,
}

/// The fields of the form as text.
#[derive(Clone)]
struct Input {
    name: String,
    apps: Vec<String>,
    environments: Vec<String>,
    scopes: Vec<String>,
    days: String,
    ip_allow: String,
}

impl Input {
    /// The proposal for a new key.
    fn proposed() -> Self {
        Self {
            name: String::new(),
            apps: Vec::new(),
            environments: vec![Environment::Test.as_str().to_owned()],
            scopes: Vec::new(),
            days: "90".to_owned(),
            ip_allow: String::new(),
        }
    }

    fn read(form: &Form) -> Self {
        Self {
            name: form.text("name").to_owned(),
            apps: form.all("apps"),
            environments: form.all("environments"),
            scopes: form.all("scopes"),
            days: form.text("expires_in").trim().to_owned(),
            ip_allow: form.text("ip_allow").to_owned(),
        }
    }

    fn has_app(&self, app: impl ToString) -> bool {
        self.apps.contains(&app.to_string())
    }

    fn has_environment(&self, name: &str) -> bool {
        self.environments.iter().any(|own| own == name)
    }

    fn has_scope(&self, scope: &ManagementScope) -> bool {
        self.scopes.iter().any(|own| own == scope.as_str())
    }

    /// The key to create.
    fn fields(&self, now: Timestamp) -> Result<NewManagementKeyFields, Invalid> {
        let apps = match self.has_app(Apps::ALL_WORD) {
            true => None,
            false => Some(all(&self.apps, "apps", "Select the Apps, or all Apps")?),
        };
        let environments = all(&self.environments, "environments", "Select an environment")?;
        let scopes = all(&self.scopes, "scopes", "Select at least one scope")?;
        let days: i64 = self
            .days
            .parse()
            .ok()
            .filter(|days| (1..=365).contains(days))
            .ok_or_else(|| Invalid::value("expires_in", "Enter 1 to 365 days"))?;
        let lines = (self.ip_allow.lines().enumerate()).filter(|(_, line)| !line.trim().is_empty());
        let networks = lines.map(|(number, line)| {
            api_key::network(line.trim()).map_err(|invalid| {
                Invalid::value(
                    "ip_allow",
                    format!("Line {}: {}", number + 1, invalid.message),
                )
            })
        });
        let networks = networks.collect::<Result<Vec<_>, _>>()?;
        let networks = Some(networks).filter(|networks| !networks.is_empty());
        Ok(NewManagementKeyFields {
            name: self.name.clone(),
            rights: Rights::new(apps, environments, scopes, networks)?,
            expires_at: now + Seconds(days * DAY),
        })
    }
}

/// The values of a field of which at least one must be selected.
fn all<T: std::str::FromStr>(
    texts: &[String],
    field: &'static str,
    message: &'static str,
) -> Result<Vec<T>, Invalid> {
    let values: Result<Vec<T>, _> = texts.iter().map(|text| text.parse()).collect();
    match values {
        Ok(values) if !values.is_empty() => Ok(values),
        _ => Err(Invalid::value(field, message)),
    }
}

fn row(key: ManagementKey, apps: &[App], now: Timestamp) -> Row {
    let names = match &key.rights.apps {
        Apps::All => "All".to_owned(),
        Apps::Listed(listed) => {
            let names = listed.values().iter().map(|app| name_of(apps, *app));
            let names: Vec<_> = names.collect();
            names.join(", ")
        }
    };
    let environments = key.rights.environments.values().iter();
    let environments: Vec<_> = environments.map(|own| own.as_str()).collect();
    Row {
        apps: names,
        environments: environments.join(", "),
        is_active: key.is_active(now),
        key,
    }
}

async fn keys(visit: &Visit, entered: &Entered) -> Result<Vec<ManagementKey>, HttpResponse> {
    let by = entered.by.clone();
    let keys = visit.run(|service| async move { service.list_management_keys(&by).await });
    match keys.await {
        Ok(keys) => Ok(keys),
        Err(refusal) => Err(refused_action(visit, &entered.signed, refusal, LIST).await),
    }
}

/// `GET management-keys`
pub(crate) async fn list(visit: Visit, Query(wanted): Query<Wanted>) -> Shown {
    let entered = entered(&visit).await?;
    let keys = keys(&visit, &entered).await?;
    let apps = entered.apps(&visit).await?;
    let (now, shows_revoked) = (visit.service.machine_time(), wanted.revoked.is_some());
    let rows = keys.into_iter().rev().map(|key| row(key, &apps, now));
    let template = ListPage {
        frame: Frame::new(&visit, &entered.signed, PAGE),
        rows: rows.filter(|row| row.is_active || shows_revoked).collect(),
        shows_revoked,
        may_issue: entered
            .by
            .may(Action::CreateManagementKey, Extent::Deployment),
        by_api: ByApi::command("vestry manage-key list".to_owned()),
    };
    Ok(page(&visit, StatusCode::OK, &template))
}

/// `GET management-keys/new`
pub(crate) async fn new(visit: Visit) -> Shown {
    let entered = entered(&visit).await?;
    entered.ready(&visit, Action::CreateManagementKey).await?;
    let apps = entered.apps(&visit).await?;
    Ok(form(
        &visit,
        &entered,
        apps,
        Input::proposed(),
        Problems::none(),
    ))
}

fn form(
    visit: &Visit,
    entered: &Entered,
    apps: Vec<App>,
    input: Input,
    problems: Problems,
) -> HttpResponse {
    let cli = "vestry manage-key create terraform --app all --environment test,live \
        --scope settings:write,webhooks:write --expires-in 90d";
    let template = NewPage {
        frame: Frame::new(visit, &entered.signed, PAGE),
        apps,
        input,
        submission: visit.new_submission(),
        by_api: ByApi::command(cli.to_owned()),
        problems,
    };
    page(visit, template.problems.status(), &template)
}

/// `POST management-keys/new`: the response shows the key, once (CON-7).
pub(crate) async fn create(visit: Visit, posted: Posted) -> Shown {
    let (fields, entered) = received_inside(&visit, posted).await?;
    entered.ready(&visit, Action::CreateManagementKey).await?;
    let input = Input::read(&fields);
    let apps = entered.apps(&visit).await?;
    let (by, wanted) = (entered.by.clone(), input.clone());
    let now = visit.service.machine_time();
    let caller = visit.service.caller_in_deployment(&by);
    let created = visit.once(caller, &fields, move |service, run| async move {
        let fields = wanted.fields(now)?;
        service.create_management_key(&by.in_run(run), fields).await
    });
    match created.await {
        Ok(Submitted::First(made)) => {
            let template = CreatedPage {
                frame: Frame::new(&visit, &entered.signed, PAGE),
                row: row(made.record, &apps, now),
                key: made.key.expose(),
            };
            Ok(page(&visit, StatusCode::OK, &template))
        }
        Ok(Submitted::Repeated) => Ok(done(&visit, Done::Repeated, LIST)),
        Err(NotSubmitted::Problem(problem)) => Err(page::refused(&visit, problem)),
        Err(NotSubmitted::Refused(Refusal::Invalid(invalid))) => {
            let problems = Problems::of("The key was not created.", invalid);
            Ok(form(&visit, &entered, apps, input, problems))
        }
        Err(NotSubmitted::Refused(refusal)) => {
            Err(refused_action(&visit, &entered.signed, refusal, NEW).await)
        }
    }
}

/// `GET management-keys/{id}/revoke`
pub(crate) async fn confirm_revocation(visit: Visit, address: Path<Address>) -> Shown {
    let entered = entered(&visit).await?;
    entered.ready(&visit, Action::RevokeManagementKey).await?;
    let now = visit.service.machine_time();
    let mut keys = keys(&visit, &entered).await?.into_iter();
    let Some(key) = keys.find(|key| key.id.to_string() == address.id && key.is_active(now)) else {
        return Err(page::unknown(visit).await);
    };
    let template = RevokePage {
        frame: Frame::new(&visit, &entered.signed, PAGE),
        by_api: ByApi::command(format!("vestry manage-key revoke {}", key.id)),
        key,
    };
    Ok(page(&visit, StatusCode::OK, &template))
}

/// `POST management-keys/{id}/revoke`
pub(crate) async fn revoke(visit: Visit, posted: Posted, address: Path<Address>) -> Shown {
    let (_, entered) = received_inside(&visit, posted).await?;
    entered.ready(&visit, Action::RevokeManagementKey).await?;
    let Ok(id) = address.id.parse::<ManagementKeyId>() else {
        return Err(page::unknown(visit).await);
    };
    let by = entered.by.clone();
    let revoked = visit.run(|service| async move { service.revoke_management_key(&by, id).await });
    match revoked.await {
        Ok(()) => Ok(done(&visit, Done::KeyRevoked, LIST)),
        Err(refusal) => Err(refused_action(&visit, &entered.signed, refusal, LIST).await),
    }
}
