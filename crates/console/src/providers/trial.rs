//! "Try it": the real flow of an identity provider. Its last page shows what a sign-in would have done, and nothing was done (CON-18).

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::web::{Path, Query};
use askama::Template;
use vestry_app::identity::oauth::{
    BegunTrial, ProviderTrial, TrialFailure, TrialOutcome, TrialRefusal, TrialStep, TriedPerson,
};
use vestry_domain::Timestamp;
use vestry_domain::action::Action;
use vestry_domain::ids::UserId;
use vestry_domain::provider::{EmailStanding, ProviderKind, ProviderName, SignInFailure};
use vestry_edge::{Code, Problem};

use super::{METHODS, find, path_of, title};
use crate::app::{Address, Inside, enter, received};
use crate::filters;
use crate::form::Posted;
use crate::frame::Frame;
use crate::handler::Shown;
use crate::leave::{Returned, leave};
use crate::page::{self, page, redirect};
use crate::problems::capitalised;
use crate::visit::Visit;

/// A part of the flow that was passed or not.
struct Step {
    tone: &'static str,
    name: &'static str,
    detail: String,
}

impl Step {
    fn new(tone: &'static str, name: &'static str, detail: impl Into<String>) -> Self {
        Self {
            tone,
            name,
            detail: detail.into(),
        }
    }

    fn icon(&self) -> &'static str {
        match self.tone {
            "ok" => "check",
            _ => "alert",
        }
    }

    fn result(&self) -> &'static str {
        match self.tone {
            "ok" => "Passed:",
            "warn" => "Warning:",
            _ => "Failed:",
        }
    }
}

/// What a sign-in would have done: in short, for whom, and the rest of the sentence after the user.
struct Outcome {
    short: &'static str,
    user: Option<UserId>,
    rest: String,
}

#[derive(Template)]
#[template(path = "provider_trial.html")]
struct TrialPage {
    frame: Frame,
    name: String,
    title: String,
    /// Whether the provider has a page; the built-in one has none.
    has_page: bool,
    finished_at: Timestamp,
    tone: &'static str,
    state: &'static str,
    outcome: Outcome,
    /// Whether the reader may see users.
    may_see_users: bool,
    steps: Vec<Step>,
    person: Option<TriedPerson>,
}

/// The name of a provider that can be tried: one with a page, or the built-in one.
async fn named(visit: &Visit, inside: &Inside, name: &str) -> Result<ProviderName, HttpResponse> {
    match ProviderName::parse(name) {
        Ok(name) if name.kind() == ProviderKind::Test => Ok(name),
        _ => Ok(find(visit, inside, name).await?.name),
    }
}

/// The page about a provider, below that of the environment.
fn page_about(name: &ProviderName) -> String {
    match name.kind() {
        ProviderKind::Test => METHODS.to_owned(),
        _ => path_of(name.as_str()),
    }
}

/// `POST providers/{name}/trial`: the page that leads to the provider.
pub(crate) async fn begin(visit: Visit, posted: Posted, address: Path<Address>) -> Shown {
    let (_, inside) = received(&visit, posted, &address).await?;
    inside
        .ready(&visit, Action::TryProvider, inside.world())
        .await?;
    let name = named(&visit, &inside, &address.id).await?;
    let (caller, session) = (inside.caller.clone(), inside.signed.session.session.id);
    let asked = name.clone();
    let begun = visit
        .run(|service| async move { service.begin_provider_trial(&caller, session, &asked).await });
    match begun.await {
        Ok(BegunTrial::At(url)) => {
            let heading = format!("Try it: {}", title(&name));
            Ok(leave(&visit, &heading, title(&name), &url))
        }
        Ok(BegunTrial::Failed(failure)) => Ok(shown(
            &visit,
            &inside,
            &name,
            ProviderTrial::Failed(failure),
        )),
        Err(refusal) => Err(inside.refused(&visit, refusal, &page_about(&name)).await),
    }
}

/// `GET providers/{name}/trial`: acts on a GET (CON-4), because that is how providers send browsers back. The state can be used once, by the
/// session that began. To any other visitor it is unknown. They are not sent to the sign-in page, whose address would contain the code.
pub(crate) async fn come_back(
    visit: Visit,
    address: Path<Address>,
    Query(returned): Query<Returned>,
) -> Shown {
    if returned.state.is_none() {
        let inside = enter(&visit, &address).await?;
        let name = named(&visit, &inside, &address.id).await?;
        return Ok(redirect(&inside.path(&page_about(&name))));
    }
    let unknown = || page::refused(&visit, Problem::new(Code::InvalidState));
    match visit.session().await {
        Ok(Some(signed)) if signed.session.principal().is_some() => {}
        Ok(_) => return Err(unknown()),
        Err(refusal) => return Err(page::refused(&visit, refusal.into())),
    }
    let inside = enter(&visit, &address).await?;
    let name = ProviderName::parse(&address.id).map_err(|_malformed| unknown())?;
    let callback = returned.callback(None);
    let (caller, session) = (inside.caller.clone(), inside.signed.session.session.id);
    let asked = name.clone();
    let finished = visit.run(|service| async move {
        service
            .finish_provider_trial(&caller, session, &asked, callback)
            .await
    });
    match finished.await {
        Ok(Some(trial)) => Ok(shown(&visit, &inside, &name, trial)),
        Ok(None) => Err(unknown()),
        Err(refusal) => Err(inside.refused(&visit, refusal, &page_about(&name)).await),
    }
}

fn shown(
    visit: &Visit,
    inside: &Inside,
    name: &ProviderName,
    trial: ProviderTrial,
) -> HttpResponse {
    let (outcome, steps, person) = match trial {
        ProviderTrial::Proved(person) => {
            let outcome = outcome(person.outcome, person.email_standing, name);
            (
                outcome,
                steps_of(name.kind(), person.email_standing),
                Some(person),
            )
        }
        ProviderTrial::Failed(failure) => (refusal(&failure), vec![failed(&failure)], None),
    };
    let (tone, state) = match person.as_ref().map(|person| person.outcome) {
        Some(TrialOutcome::Refused(_)) => ("warn", "Sign-in refused"),
        Some(_) => ("ok", "Sign-in works"),
        None => ("bad", "Sign-in fails"),
    };
    let mut frame = inside.frame(visit, METHODS);
    // Forms of the frame return to the page that they are on, which is shown once.
    frame.address = inside.path(&page_about(name));
    let template = TrialPage {
        name: name.to_string(),
        title: title(name).to_owned(),
        has_page: name.kind() != ProviderKind::Test,
        finished_at: frame.now,
        tone,
        state,
        outcome,
        may_see_users: inside.may(Action::GetUser),
        steps,
        person,
        frame,
    };
    page(visit, StatusCode::OK, &template)
}

fn outcome(outcome: TrialOutcome, standing: EmailStanding, name: &ProviderName) -> Outcome {
    let address = match standing {
        EmailStanding::Missing => "without an address",
        standing if standing.is_proof() => "with the verified address",
        _ => "without the address, because it does not count as verified",
    };
    let (short, user, rest) = match outcome {
        TrialOutcome::NewUser => (
            "Creates a new user.",
            None,
            format!("The user would be active, linked to this account, and {address}."),
        ),
        TrialOutcome::Linked(user) => (
            "Signs in an existing user.",
            Some(user),
            "is linked to this account.".to_owned(),
        ),
        TrialOutcome::Joined(user) => (
            "Joins an existing user.",
            Some(user),
            format!("has this verified address, and would get a link to {name}."),
        ),
        TrialOutcome::Refused(TrialRefusal::EmailTaken) => (
            "Refused.",
            None,
            "A user has this address, and it does not count as verified. The call to oauth/verify would return 409. Within a session of that user, it would add a link.".to_owned(),
        ),
        TrialOutcome::Refused(TrialRefusal::UserDisabled(user)) => {
            ("Refused.", Some(user), "is disabled.".to_owned())
        }
    };
    Outcome { short, user, rest }
}

fn refusal(failure: &TrialFailure) -> Outcome {
    let rest = match failure.reported.map(SignInFailure::as_str) {
        Some(error) => format!("The App’s login URL would get error={error}."),
        None => "The sign-in would not begin.".to_owned(),
    };
    Outcome {
        short: "Refused.",
        user: None,
        rest,
    }
}

fn failed(failure: &TrialFailure) -> Step {
    let name = match failure.step {
        TrialStep::Configuration => "Configuration",
        TrialStep::SignInPage => "Sign-in page of the provider",
        TrialStep::Exchange => "Authorization code exchanged",
    };
    let cause = capitalised(&failure.cause);
    Step::new("bad", name, format!("{cause}. {}", failure.advice))
}

fn steps_of(kind: ProviderKind, standing: EmailStanding) -> Vec<Step> {
    let mut steps = vec![Step::new(
        "ok",
        "Authorization code exchanged",
        "State and PKCE verifier matched",
    )];
    match kind {
        ProviderKind::GitHub | ProviderKind::Discord => {
            steps.push(Step::new("ok", "Profile read", "With the new access token"));
        }
        ProviderKind::Test => {}
        ProviderKind::Google
        | ProviderKind::Apple
        | ProviderKind::Microsoft
        | ProviderKind::Oidc => steps.push(Step::new(
            "ok",
            "ID token valid",
            "Issuer, audience, signature, nonce and expiry",
        )),
    }
    let reason = match standing {
        EmailStanding::Verified => "The provider says that it has verified the address.",
        EmailStanding::VerifiedDomain => {
            "xms_edov says that the owner of the address’s domain was verified."
        }
        EmailStanding::TrustedTenant => "The tenant is one of the trusted tenants.",
        EmailStanding::Missing => "The provider sent no address. Check the scopes.",
        EmailStanding::Unverified => "The provider does not say that it has verified the address.",
        EmailStanding::UntrustedIssuer => {
            "The issuer says that it has verified the address, but its email_verified is not trusted. To change this, turn “Trust the issuer’s email_verified” on."
        }
        EmailStanding::UntrustedTenant => {
            "There is no xms_edov, and the tenant is not one of the trusted tenants. To change this, add the tenant."
        }
    };
    steps.push(match standing.is_proof() {
        true => Step::new("ok", "Email counts as verified", reason),
        false => Step::new("warn", "Email does not count as verified", reason),
    });
    steps
}
