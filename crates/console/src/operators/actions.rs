//! Actions on an operator or an invitation, each with a page that says what follows.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::web::Path;
use askama::Template;
use vestry_app::Refusal;
use vestry_app::operators::{Handover, ListedOperator, OperatorChange};
use vestry_domain::action::Action;
use vestry_domain::ids::OperatorLinkId;
use vestry_domain::operator::OperatorLink;

use super::{API, Address, INVITATIONS, LAST_OWNER, LIST, Reader, link};
use crate::by_api::{ByApi, quoted};
use crate::filters;
use crate::flash::Done;
use crate::form::{Form, Posted};
use crate::frame::Frame;
use crate::handler::Shown;
use crate::page::{self, done, entered, page, received_inside};
use crate::submission::{NotSubmitted, Submitted};
use crate::visit::Visit;

/// An action.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Verb {
    Reset,
    Unlock,
    Disable,
    Enable,
    Remove,
}

/// What the page about an action says.
struct Words {
    title: &'static str,
    way_out: &'static str,
    text: &'static str,
    is_destructive: bool,
}

impl Verb {
    const ALL: [(Self, &'static str); 5] = [
        (Self::Reset, "reset"),
        (Self::Unlock, "unlock"),
        (Self::Disable, "disable"),
        (Self::Enable, "enable"),
        (Self::Remove, "remove"),
    ];

    fn parse(name: &str) -> Option<Self> {
        let found = Self::ALL.iter().find(|(_, own)| *own == name);
        found.map(|(verb, _)| *verb)
    }

    const fn words(self) -> Words {
        let (title, way_out, text, is_destructive) = match self {
            Self::Reset => (
                "Reset factors",
                "Keep factors",
                "All sessions end, and all passkeys, passwords and authenticator apps are removed. A link lets the operator set up new ones. All Owners are notified by email.",
                true,
            ),
            Self::Unlock => (
                "Unlock operator",
                "Keep locked",
                "Lockouts after failed attempts end now. New failures lock the operator again.",
                false,
            ),
            Self::Disable => (
                "Disable operator",
                "Keep enabled",
                "All sessions end, and sign-ins are rejected until the operator is enabled. Open invitations by this operator are withdrawn.",
                true,
            ),
            Self::Enable => (
                "Enable operator",
                "Keep disabled",
                "The operator can sign in again. Ended sessions stay ended.",
                false,
            ),
            Self::Remove => (
                "Remove operator",
                "Keep operator",
                "Roles and factors are removed, and all sessions end. The audit log keeps the entries. This cannot be undone.",
                true,
            ),
        };
        Words {
            title,
            way_out,
            text,
            is_destructive,
        }
    }

    /// The same by API and by command.
    fn by_api(self, listed: &ListedOperator) -> ByApi {
        let path = format!("{API}/{}", listed.operator.user_id);
        let verb = Self::ALL.iter().find(|(own, _)| *own == self);
        let verb = verb.map_or("", |(_, name)| name);
        let cli = format!("vestry operator {verb} {}", quoted(&listed.email));
        match self {
            Self::Disable => ByApi::new("PATCH", &path, r#"{"disabled": true}"#, cli),
            Self::Enable => ByApi::new("PATCH", &path, r#"{"disabled": false}"#, cli),
            Self::Remove => ByApi::new("DELETE", &path, "", cli),
            Self::Reset | Self::Unlock => ByApi::command(cli),
        }
    }
}

#[derive(Template)]
#[template(path = "operator_action.html")]
struct ActionPage {
    frame: Frame,
    /// The path of the page about the operator.
    base: String,
    listed: ListedOperator,
    words: Words,
    problem: &'static str,
    submission: String,
    by_api: ByApi,
}

#[derive(Template)]
#[template(path = "operator_withdraw.html")]
struct WithdrawalPage {
    frame: Frame,
    link: OperatorLink,
    by_api: ByApi,
}

fn action_page(
    visit: &Visit,
    reader: &Reader,
    listed: ListedOperator,
    verb: Verb,
    problem: &'static str,
) -> HttpResponse {
    let template = ActionPage {
        frame: reader.frame(visit),
        base: format!("{LIST}/{}", listed.operator.user_id),
        words: verb.words(),
        by_api: verb.by_api(&listed),
        submission: visit.new_submission(),
        listed,
        problem,
    };
    let status = match problem {
        "" => StatusCode::OK,
        _ => StatusCode::CONFLICT,
    };
    page(visit, status, &template)
}

impl Reader {
    /// Checks the right to an action, as [`Reader::ready`] does for changes.
    async fn ready_to(&self, visit: &Visit, verb: Verb) -> Result<(), HttpResponse> {
        if verb != Verb::Reset {
            return self.ready(visit, &visit.address).await;
        }
        self.entered.ready(visit, Action::ManageOwners).await
    }
}

/// `GET operators/{id}/{action}`
pub(crate) async fn confirm(visit: Visit, address: Path<Address>) -> Shown {
    let reader = Reader::new(&visit, entered(&visit).await?).await?;
    let Some(verb) = Verb::parse(&address.action) else {
        return Err(page::unknown(visit).await);
    };
    reader.ready_to(&visit, verb).await?;
    let listed = reader.find(&visit, &address.id).await?;
    Ok(action_page(&visit, &reader, listed, verb, ""))
}

/// `POST operators/{id}/{action}`
pub(crate) async fn act(visit: Visit, posted: Posted, address: Path<Address>) -> Shown {
    let (form, entered) = received_inside(&visit, posted).await?;
    let reader = Reader::new(&visit, entered).await?;
    let Some(verb) = Verb::parse(&address.action) else {
        return Err(page::unknown(visit).await);
    };
    reader.ready_to(&visit, verb).await?;
    let listed = reader.find(&visit, &address.id).await?;
    if verb == Verb::Reset {
        return reset(&visit, &form, &reader, &listed).await;
    }
    let (by, user) = (reader.entered.by.clone(), listed.operator.user_id);
    let acted = visit.run(|service| async move {
        let change = match verb {
            Verb::Reset | Verb::Unlock => return service.unlock_operator(&by, user).await,
            Verb::Disable => OperatorChange::Disable,
            Verb::Enable => OperatorChange::Enable,
            Verb::Remove => OperatorChange::Remove,
        };
        service.change_operator(&by, user, change).await
    });
    let one = format!("{LIST}/{user}");
    match acted.await {
        Ok(()) => Ok(match verb {
            Verb::Reset | Verb::Unlock => done(&visit, Done::OperatorUnlocked, &one),
            Verb::Disable => done(&visit, Done::OperatorDisabled, &one),
            Verb::Enable => done(&visit, Done::OperatorEnabled, &one),
            Verb::Remove => done(&visit, Done::OperatorRemoved, LIST),
        }),
        Err(Refusal::LastOwner) => Ok(action_page(&visit, &reader, listed, verb, LAST_OWNER)),
        Err(refusal) => Err(reader.refused(&visit, refusal, &visit.address).await),
    }
}

/// Replaces lost factors. Without mail, the response shows the link, once (CON-7).
async fn reset(
    visit: &Visit,
    form: &Form,
    reader: &Reader,
    listed: &ListedOperator,
) -> Result<HttpResponse, HttpResponse> {
    let (by, user) = (reader.entered.by.clone(), listed.operator.user_id);
    let handover = visit.service.invitation_handover();
    let caller = visit.service.caller_in_deployment(&by);
    let made = visit.once(caller, form, move |service, run| async move {
        service
            .reset_operator(&by.in_run(run), user, handover)
            .await
    });
    let one = format!("{LIST}/{user}");
    match made.await {
        Ok(Submitted::First(made)) if handover == Handover::Shown => {
            Ok(link(visit, reader, "Copy this link", &made))
        }
        Ok(Submitted::First(_)) => Ok(done(visit, Done::FactorsReset, &one)),
        Ok(Submitted::Repeated) => Ok(done(visit, Done::Repeated, &one)),
        Err(NotSubmitted::Problem(problem)) => Err(page::refused(visit, problem)),
        Err(NotSubmitted::Refused(refusal)) => {
            Err(reader.refused(visit, refusal, &visit.address).await)
        }
    }
}

/// `GET operators/invitations/{id}/withdraw`
pub(crate) async fn confirm_withdrawal(visit: Visit, address: Path<Address>) -> Shown {
    let reader = Reader::new(&visit, entered(&visit).await?).await?;
    reader.ready(&visit, &visit.address).await?;
    let by = reader.entered.by.clone();
    let open = visit.run(|service| async move { service.list_invitations(&by).await });
    let open = match open.await {
        Ok(open) => open,
        Err(refusal) => return Err(reader.refused(&visit, refusal, LIST).await),
    };
    let mut open = open.into_iter();
    let Some(link) = open.find(|link| link.id.to_string() == address.id) else {
        return Err(page::unknown(visit).await);
    };
    let path = format!("{INVITATIONS}/{}", link.id);
    let template = WithdrawalPage {
        frame: reader.frame(&visit),
        by_api: ByApi::new("DELETE", &path, "", String::new()),
        link,
    };
    Ok(page(&visit, StatusCode::OK, &template))
}

/// `POST operators/invitations/{id}/withdraw`
pub(crate) async fn withdraw(visit: Visit, posted: Posted, address: Path<Address>) -> Shown {
    let (_, entered) = received_inside(&visit, posted).await?;
    let reader = Reader::new(&visit, entered).await?;
    reader.ready(&visit, &visit.address).await?;
    let Ok(id) = address.id.parse::<OperatorLinkId>() else {
        return Err(page::unknown(visit).await);
    };
    let by = reader.entered.by.clone();
    let withdrawn = visit.run(|service| async move { service.withdraw_invitation(&by, id).await });
    match withdrawn.await {
        Ok(()) => Ok(done(&visit, Done::InvitationWithdrawn, LIST)),
        Err(refusal) => Err(reader.refused(&visit, refusal, LIST).await),
    }
}
