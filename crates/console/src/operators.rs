//! Operators: the list with open invitations, inviting, and changes of one operator.

mod actions;

pub(crate) use actions::{act, confirm, confirm_withdrawal, withdraw};

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::web::Path;
use askama::Template;
use serde::Deserialize;
use vestry_app::operators::{
    Handover, ListedOperator, NewOperatorLink, OperatorChange, OperatorLookup,
};
use vestry_app::{Principal, Refusal};
use vestry_domain::Invalid;
use vestry_domain::action::Action;
use vestry_domain::app::App;
use vestry_domain::extent::Extent;
use vestry_domain::ids::{AppId, UserId};
use vestry_domain::operator::{Grants, OperatorLink, Role};

use crate::app::name_of;
use crate::by_api::{ByApi, quoted};
use crate::filters;
use crate::flash::Done;
use crate::form::{Form, Posted};
use crate::frame::{self, Frame, roles};
use crate::handler::Shown;
use crate::page::{self, Entered, done, entered, page, received_inside, refused_action};
use crate::problems::Problems;
use crate::submission::{NotSubmitted, Submitted};
use crate::visit::Visit;

const PAGE: &str = "operators";
const LIST: &str = "/console/operators";
const INVITE: &str = "/console/operators/invite";
const API: &str = "/v1/manage/operators";
const INVITATIONS: &str = "/v1/manage/operators/invitations";

/// Every App, as a value of the field `apps`.
const ALL: &str = "all";
/// No role, as a value of the field `role`.
const NO_ROLE: &str = "none";

/// Each role with its meaning, the most powerful first.
const ROLES: [(Role, &str); 4] = [
    (
        Role::Owner,
        "Everything in all Apps, including Owners, management keys and the deployment.",
    ),
    (
        Role::Admin,
        "Everything in their Apps. Invites operators up to Developer.",
    ),
    (
        Role::Developer,
        "Reads everything except the audit log. Changes users, wallets and keys in test.",
    ),
    (
        Role::Viewer,
        "Reads settings, keys, webhooks and events, without addresses. Cannot see users.",
    ),
];

/// The parts of the path of a page about an operator or invitation. They are not trusted.
#[derive(Deserialize)]
pub(crate) struct Address {
    id: String,
    #[serde(default)]
    action: String,
}

/// An operator in the list.
struct Row {
    listed: ListedOperator,
    apps: String,
    is_self: bool,
    may_change: bool,
}

/// An open invitation.
struct Invitation {
    link: OperatorLink,
    roles: String,
    apps: String,
    may_withdraw: bool,
}

#[derive(Template)]
#[template(path = "operators.html")]
struct OperatorsPage {
    frame: Frame,
    rows: Vec<Row>,
    invitations: Vec<Invitation>,
    may_invite: bool,
    by_api: ByApi,
}

#[derive(Template)]
#[template(path = "operator_invite.html")]
struct InvitePage {
    frame: Frame,
    is_mailed: bool,
    email: String,
    choice: Choice,
    submission: String,
    problems: Problems,
    by_api: ByApi,
}

#[derive(Template)]
#[template(path = "operator_link.html")]
struct LinkPage<'a> {
    frame: Frame,
    title: &'static str,
    email: &'a str,
    link: &'a OperatorLink,
    url: &'a str,
}

#[derive(Template)]
#[template(path = "operator.html")]
struct OperatorPage {
    frame: Frame,
    /// The path of the page.
    base: String,
    listed: ListedOperator,
    apps: String,
    is_self: bool,
    /// Whether the reader may change this operator.
    may_change: bool,
    may_reset: bool,
    choice: Choice,
    problems: Problems,
    by_api: ByApi,
}

/// The role and the Apps of a form, with what its reader may choose.
#[derive(Clone)]
struct Choice {
    roles: Vec<(Role, &'static str)>,
    /// Whether the reader may choose every App.
    has_all: bool,
    open: Vec<App>,
    role: String,
    apps: Vec<String>,
}

impl Choice {
    /// What an operator may give.
    fn of(by: &Principal, apps: &[App]) -> Self {
        let own = by.as_operator().map(|operator| &operator.grants);
        let may_grant = |grants: &Grants| own.is_some_and(|own| own.may_grant(grants));
        let in_all = |role| Grants::new(role, None).is_ok_and(|grants| may_grant(&grants));
        let is_open =
            |role, app| Grants::new(role, Some(vec![app])).is_ok_and(|grants| may_grant(&grants));
        let may_give = |role| in_all(role) || apps.iter().any(|app| is_open(role, app.id));
        Self {
            roles: (ROLES.into_iter())
                .filter(|(role, _)| may_give(*role))
                .collect(),
            has_all: in_all(Role::Viewer),
            open: (apps.iter())
                .filter(|app| is_open(Role::Viewer, app.id))
                .cloned()
                .collect(),
            role: Role::Developer.as_str().to_owned(),
            apps: Vec::new(),
        }
    }

    /// Filled with a form.
    fn filled(self, form: &Form) -> Self {
        Self {
            role: form.text("role").to_owned(),
            apps: form.all("apps"),
            ..self
        }
    }

    /// Filled with the roles of an operator. Several different ones leave the role open.
    fn held(self, grants: &Grants) -> Self {
        let by_role = grants.by_role();
        let role = match by_role.as_slice() {
            [(role, _)] => role.as_str().to_owned(),
            _ => String::new(),
        };
        let apps = match grants.in_all() {
            Some(_) => vec![ALL.to_owned()],
            None => grants.in_apps().map(|(app, _)| app.to_string()).collect(),
        };
        Self { role, apps, ..self }
    }

    fn has_role(&self, role: &Role) -> bool {
        self.role == role.as_str()
    }

    fn has_no_role(&self) -> bool {
        self.role == NO_ROLE
    }

    fn has_every_app(&self) -> bool {
        self.apps.iter().any(|own| own == ALL)
    }

    fn has_app(&self, app: &AppId) -> bool {
        let app = app.to_string();
        self.apps.contains(&app)
    }

    fn role(&self) -> Result<Role, Invalid> {
        self.role
            .parse()
            .map_err(|_unknown| Invalid::value("role", "Select a role"))
    }

    /// The Apps; `None` for every App.
    fn apps(&self) -> Result<Option<Vec<AppId>>, Invalid> {
        // An owner has every App, so none needs to be selected.
        if self.has_every_app() || self.role == Role::Owner.as_str() {
            return Ok(None);
        }
        let apps: Result<Vec<AppId>, _> = self.apps.iter().map(|app| app.parse()).collect();
        match apps {
            Ok(apps) if !apps.is_empty() => Ok(Some(apps)),
            _ => Err(Invalid::value("apps", "Select the Apps, or all Apps")),
        }
    }
}

/// The name of a role, capitalised.
const fn capital(role: &Role) -> &'static str {
    frame::capital(*role)
}

/// Names of Apps, for a sentence: `All`, or those of a list.
fn names(grants: &Grants, apps: &[App]) -> String {
    let named = grants.in_apps().map(|(app, _)| name_of(apps, app));
    let mut names: Vec<String> = named.collect();
    if grants.in_all().is_some() {
        names.insert(0, "All".to_owned());
    }
    names.join(", ")
}

/// Whether pages show forms that change an operator with these roles.
fn may_change(by: &Principal, grants: &Grants) -> bool {
    let own = by.as_operator().map(|operator| &operator.grants);
    by.may_somewhere(Action::ManageOperators) && own.is_some_and(|own| own.may_grant(grants))
}

/// A reader of these pages, and the Apps they see.
struct Reader {
    entered: Entered,
    apps: Vec<App>,
}

impl Reader {
    async fn new(visit: &Visit, entered: Entered) -> Result<Self, HttpResponse> {
        let apps = entered.apps(visit).await?;
        Ok(Self { entered, apps })
    }

    fn frame(&self, visit: &Visit) -> Frame {
        Frame::new(visit, &self.entered.signed, PAGE)
    }

    fn is_self(&self, user: UserId) -> bool {
        self.entered.signed.session.operator.user_id == user
    }

    async fn refused(&self, visit: &Visit, refusal: Refusal, back: &str) -> HttpResponse {
        refused_action(visit, &self.entered.signed, refusal, back).await
    }

    /// The operator of a path.
    async fn find(&self, visit: &Visit, id: &str) -> Result<ListedOperator, HttpResponse> {
        let Ok(user) = id.parse::<UserId>() else {
            return Err(page::refused(visit, Refusal::NotFound("operator").into()));
        };
        let by = self.entered.by.clone();
        let lookup = OperatorLookup::Id(user);
        let found = visit.run(|service| async move { service.find_operator(&by, &lookup).await });
        match found.await {
            Ok(listed) => Ok(listed),
            Err(refusal) => Err(self.refused(visit, refusal, LIST).await),
        }
    }

    /// Checks the right to change operators, and that a second factor was proved lately.
    async fn ready(&self, visit: &Visit, back: &str) -> Result<(), HttpResponse> {
        match self.entered.by.is_ready_somewhere(Action::ManageOperators) {
            Ok(()) => Ok(()),
            Err(refusal) => Err(self.refused(visit, refusal, back).await),
        }
    }
}

/// `GET operators`
pub(crate) async fn list(visit: Visit) -> Shown {
    let reader = Reader::new(&visit, entered(&visit).await?).await?;
    let by = reader.entered.by.clone();
    let read = visit.run(|service| async move {
        let operators = service.list_operators(&by).await?;
        let invitations = service.list_invitations(&by).await?;
        Ok::<_, Refusal>((operators, invitations))
    });
    let (operators, invitations) = match read.await {
        Ok(read) => read,
        Err(refusal) => return Err(reader.refused(&visit, refusal, LIST).await),
    };
    let by = &reader.entered.by;
    let rows = operators.into_iter().map(|listed| Row {
        apps: names(&listed.operator.grants, &reader.apps),
        is_self: reader.is_self(listed.operator.user_id),
        may_change: may_change(by, &listed.operator.grants),
        listed,
    });
    let invitations = invitations.into_iter().map(|link| {
        let grants = link.grants.as_ref();
        Invitation {
            roles: grants.map(roles).unwrap_or_default(),
            apps: grants
                .map(|grants| names(grants, &reader.apps))
                .unwrap_or_default(),
            may_withdraw: grants.is_some_and(|grants| may_change(by, grants)),
            link,
        }
    });
    let template = OperatorsPage {
        frame: reader.frame(&visit),
        rows: rows.collect(),
        invitations: invitations.collect(),
        may_invite: by.may_somewhere(Action::ManageOperators),
        by_api: ByApi::new("GET", API, "", "vestry operator list".to_owned()),
    };
    Ok(page(&visit, StatusCode::OK, &template))
}

/// `GET operators/invite`
pub(crate) async fn invitation(visit: Visit) -> Shown {
    let reader = Reader::new(&visit, entered(&visit).await?).await?;
    reader.ready(&visit, INVITE).await?;
    let choice = Choice::of(&reader.entered.by, &reader.apps);
    Ok(invite_form(
        &visit,
        &reader,
        String::new(),
        choice,
        Problems::none(),
    ))
}

fn invite_form(
    visit: &Visit,
    reader: &Reader,
    email: String,
    choice: Choice,
    problems: Problems,
) -> HttpResponse {
    let app = (reader.apps.first()).map_or_else(|| ALL.to_owned(), |app| app.id.to_string());
    let body = format!(r#"{{"email": "noor@example.com", "role": "viewer", "apps": ["{app}"]}}"#);
    let cli = format!("vestry operator create noor@example.com --role developer --app {app}");
    let template = InvitePage {
        frame: reader.frame(visit),
        is_mailed: visit.service.invitation_handover() == Handover::Mail,
        email,
        choice,
        submission: visit.new_submission(),
        by_api: ByApi::new("POST", INVITATIONS, &body, cli),
        problems,
    };
    page(visit, template.problems.status(), &template)
}

/// `POST operators/invite`: without mail, the response shows the link, once (CON-7).
pub(crate) async fn invite(visit: Visit, posted: Posted) -> Shown {
    let (form, entered) = received_inside(&visit, posted).await?;
    let reader = Reader::new(&visit, entered).await?;
    reader.ready(&visit, INVITE).await?;
    let choice = Choice::of(&reader.entered.by, &reader.apps).filled(&form);
    let email = form.text("email").trim().to_owned();
    let handover = visit.service.invitation_handover();
    let (by, to, wanted) = (reader.entered.by.clone(), email.clone(), choice.clone());
    let caller = visit.service.caller_in_deployment(&by);
    let invited = visit.once(caller, &form, move |service, run| async move {
        let grants = Grants::new(wanted.role()?, wanted.apps()?)?;
        service
            .invite_operator(&by.in_run(run), &to, grants, handover)
            .await
    });
    let refused = |problems| invite_form(&visit, &reader, email.clone(), choice.clone(), problems);
    match invited.await {
        Ok(Submitted::First(_)) if handover == Handover::Mail => {
            Ok(done(&visit, Done::InvitationSent, LIST))
        }
        Ok(Submitted::First(made)) => Ok(link(&visit, &reader, "Copy this invitation", &made)),
        Ok(Submitted::Repeated) => Ok(done(&visit, Done::Repeated, LIST)),
        Err(NotSubmitted::Problem(problem)) => Err(page::refused(&visit, problem)),
        Err(NotSubmitted::Refused(Refusal::Invalid(invalid))) => Ok(refused(Problems::of(
            "The operator was not invited.",
            invalid,
        ))),
        Err(NotSubmitted::Refused(Refusal::Duplicate(_))) => {
            let text = "This address is already an operator. Change their role instead";
            let invalid = Invalid::value("email", text);
            Ok(refused(Problems::of(
                "The operator was not invited.",
                invalid,
            )))
        }
        Err(NotSubmitted::Refused(refusal)) => Err(reader.refused(&visit, refusal, INVITE).await),
    }
}

/// The page with a link that is not mailed.
fn link(
    visit: &Visit,
    reader: &Reader,
    title: &'static str,
    made: &NewOperatorLink,
) -> HttpResponse {
    let template = LinkPage {
        frame: reader.frame(visit),
        title,
        email: made.record.email.address(),
        link: &made.record,
        url: made.url.expose(),
    };
    page(visit, StatusCode::OK, &template)
}

/// `GET operators/{id}`
pub(crate) async fn show(visit: Visit, address: Path<Address>) -> Shown {
    let reader = Reader::new(&visit, entered(&visit).await?).await?;
    let listed = reader.find(&visit, &address.id).await?;
    let choice = Choice::of(&reader.entered.by, &reader.apps).held(&listed.operator.grants);
    Ok(operator_page(
        &visit,
        &reader,
        listed,
        choice,
        Problems::none(),
    ))
}

fn operator_page(
    visit: &Visit,
    reader: &Reader,
    listed: ListedOperator,
    choice: Choice,
    problems: Problems,
) -> HttpResponse {
    let by = &reader.entered.by;
    let user = listed.operator.user_id;
    let cli = format!(
        "vestry operator set {} --role viewer --app all",
        quoted(&listed.email)
    );
    let body = r#"{"role": "viewer", "apps": "all"}"#;
    let template = OperatorPage {
        frame: reader.frame(visit),
        base: format!("{LIST}/{user}"),
        apps: names(&listed.operator.grants, &reader.apps),
        is_self: reader.is_self(user),
        may_change: may_change(by, &listed.operator.grants),
        may_reset: by.may(Action::ManageOwners, Extent::Deployment),
        by_api: ByApi::new("PATCH", &format!("{API}/{user}"), body, cli),
        listed,
        choice,
        problems,
    };
    page(visit, template.problems.status(), &template)
}

/// `POST operators/{id}`: the role and the Apps.
pub(crate) async fn save(visit: Visit, posted: Posted, address: Path<Address>) -> Shown {
    let (form, entered) = received_inside(&visit, posted).await?;
    let reader = Reader::new(&visit, entered).await?;
    let back = format!("{LIST}/{}", address.id);
    reader.ready(&visit, &back).await?;
    let listed = reader.find(&visit, &address.id).await?;
    let user = listed.operator.user_id;
    let choice = Choice::of(&reader.entered.by, &reader.apps).filled(&form);
    let (by, wanted) = (reader.entered.by.clone(), choice.clone());
    let saved = visit.run(|service| async move {
        let role = match wanted.role.as_str() {
            NO_ROLE => None,
            _ => Some(wanted.role()?),
        };
        let change = OperatorChange::Role(role, wanted.apps()?);
        service.change_operator(&by, user, change).await
    });
    match saved.await {
        Ok(()) => Ok(done(&visit, Done::OperatorSaved, LIST)),
        Err(Refusal::Invalid(invalid)) => {
            let problems = Problems::of("The operator was not saved.", invalid);
            Ok(operator_page(&visit, &reader, listed, choice, problems))
        }
        Err(Refusal::LastOwner) => {
            let invalid = Invalid::value("role", LAST_OWNER);
            let problems = Problems::of("The operator was not saved.", invalid);
            Ok(operator_page(&visit, &reader, listed, choice, problems))
        }
        Err(refusal) => Err(reader.refused(&visit, refusal, &back).await),
    }
}

/// Shown where a change would leave no owner who can sign in (OPR-3).
const LAST_OWNER: &str = "At least one Owner with a second factor must remain";
