//! `vestry operator`

mod sign_in;

use std::str::FromStr;

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use vestry_app::delivery::events::{EventPage, ListEvents, ListEventsError};
use vestry_app::operators::{
    Handover, ListedOperator, NewOperatorLink, OperatorChange, OperatorLookup,
};
use vestry_app::{Principal, Service};
use vestry_domain::Timestamp;
use vestry_domain::event::kinds;
use vestry_domain::ids::{AppId, EventId, UserId};
use vestry_domain::operator::{Grants, OperatorLink, Role};
use vestry_edge::views::{InvitationView, OperatorView};

use self::sign_in::SignIn;
use super::args::customers_app;
use super::installation::Installation;
use crate::failure::{Context, Failure};
use crate::output::{Output, date, table};

/// The word for every App.
const ALL: &str = "all";

/// The subcommands of `vestry operator`.
#[derive(Debug, Subcommand)]
pub(crate) enum Operator {
    /// Create a link with which an operator joins (shown once)
    ///
    /// The person who opens the link sets up a passkey, or a password and an authenticator app, and is then an operator with this role. The
    /// first owner joins this way too.
    #[command(after_help = "\
Roles:
  owner      everything, in the whole deployment
  admin      configures Apps and helps their users
  developer  reads, and works in test environments
  viewer     reads configuration and events, no users

The link of an owner is valid for 30 minutes, every other one for 72 hours. It needs
console.base_url, the URL at which browsers reach the console.

Examples:
  vestry operator create ann@example.com --owner
  vestry operator create ben@example.com --role developer --app app_…
  vestry operator create eve@example.com --role viewer --app all")]
    Create(Create),
    /// List operators and open invitations, oldest first
    List,
    /// Give an operator a role in some Apps, or take it away
    ///
    /// The operator's sessions end.
    #[command(after_help = "\
With --app all, the role replaces all others. --role none takes the role away; an
operator without any role is removed.

Examples:
  vestry operator set ben@example.com --role admin --app app_…
  vestry operator set ben@example.com --role none --app app_…
  vestry operator set ben@example.com --role owner")]
    Set(Set),
    /// Stop an operator from signing in, and end the operator's sessions
    Disable(Who),
    /// Let a disabled operator sign in again
    Enable(Who),
    /// Clear the lockouts of an operator after too many wrong passwords or codes
    Unlock(Who),
    /// Remove an operator with all factors, and end the operator's sessions
    Remove(Who),
    /// Replace lost factors: remove all of them, and create a link for new ones (shown once)
    ///
    /// The operator's sessions end, and all owners are told by mail if mail is configured.
    Reset(Who),
    /// Let operators sign in with your company's identity provider
    ///
    /// It replaces the password, not the second factor. Operators join by a link first.
    #[command(subcommand)]
    SignIn(SignIn),
    /// Show events about operators and management keys, newest first
    ///
    /// The events of the built-in App: who was invited, joined, signed in or failed to, and which keys were created. The service writes new
    /// events to this log within a second while it runs.
    #[command(after_help = "\
Examples:
  vestry operator events --types operator.sign_in_failed
  vestry operator events --types 'management_key.*,operator.joined' --limit 1000
  vestry operator events --after event_…")]
    Events(Log),
}

/// A part of the log.
#[derive(Debug, Args)]
pub(crate) struct Log {
    /// Event types or group.* [default: all]
    #[arg(long, value_name = "TYPES", value_delimiter = ',')]
    types: Vec<String>,
    /// Continue with events older than this one (event_…)
    #[arg(long, value_name = "ID")]
    after: Option<EventId>,
    /// Maximum number of events, 10 to 1000 [default: 100]
    #[arg(long, value_name = "NUMBER")]
    limit: Option<i64>,
}

/// An operator.
#[derive(Debug, Args)]
pub(crate) struct Who {
    /// E-mail address or ID (user_…)
    operator: String,
}

/// A new operator.
#[derive(Debug, Args)]
pub(crate) struct Create {
    /// E-mail address
    email: String,
    /// Make an owner, who can do everything
    #[arg(long, conflicts_with_all = ["role", "app"])]
    owner: bool,
    /// Role: admin, developer or viewer
    #[arg(long, value_name = "ROLE", required_unless_present = "owner")]
    role: Option<Role>,
    /// Apps: `all`, or App IDs separated by commas
    // Not with `--role owner`, whose error says how to make an owner.
    #[arg(long, value_name = "APP", value_delimiter = ',', value_parser = app,
        required_if_eq_any([("role", "admin"), ("role", "developer"), ("role", "viewer")]))]
    app: Vec<Option<AppId>>,
}

/// A new role.
#[derive(Debug, Args)]
pub(crate) struct Set {
    #[command(flatten)]
    who: Who,
    /// Role: owner, admin, developer, viewer or none
    #[arg(long, value_name = "ROLE")]
    role: NewRole,
    /// Apps: `all`, or App IDs separated by commas. An owner has all
    #[arg(long, value_name = "APP", value_delimiter = ',', value_parser = app)]
    app: Vec<Option<AppId>>,
}

/// A role, or none.
#[derive(Debug, Clone, Copy)]
struct NewRole(Option<Role>);

impl FromStr for NewRole {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text, text.parse()) {
            ("none", _) => Ok(Self(None)),
            (_, Ok(role)) => Ok(Self(Some(role))),
            (_, Err(_unknown)) => {
                Err("role must be owner, admin, developer, viewer or none".to_owned())
            }
        }
    }
}

/// Parses an App ID, or `all` as `None`.
fn app(text: &str) -> Result<Option<AppId>, String> {
    match text {
        ALL => Ok(None),
        id => customers_app(id).map(Some),
    }
}

/// The named Apps; `None` for all of them.
fn apps(named: &[Option<AppId>]) -> Result<Option<Vec<AppId>>, Failure> {
    let listed: Vec<AppId> = named.iter().copied().flatten().collect();
    match (named.contains(&None), listed.is_empty()) {
        (true, true) => Ok(None),
        (false, false) => Ok(Some(listed)),
        (true, false) => Err(Failure::usage(
            "--app takes either all or a list of App IDs",
        )),
        (false, true) => Err(Failure::usage("--app is required: all, or App IDs")),
    }
}

impl Create {
    fn grants(&self) -> Result<Grants, Failure> {
        let grants = match self.role {
            None => Grants::new(Role::Owner, None),
            // Otherwise `--role owner` could forget what `--owner` says: every App.
            Some(Role::Owner) => return Err(Failure::usage("use --owner to make an owner")),
            Some(role) => Grants::new(role, apps(&self.app)?),
        };
        grants.map_err(|invalid| Failure::usage(invalid.message))
    }
}

impl Operator {
    pub(super) async fn run(self, installation: &Installation) -> Result<Output, Failure> {
        let service = installation.service().await?;
        let by = Principal::cli();
        match self {
            Self::Create(create) => {
                let grants = create.grants()?;
                let made = service
                    .invite_operator(by, &create.email, grants, Handover::Shown)
                    .await?;
                let role = roles(made.record.grants.as_ref().unwrap_or(&Grants::default()));
                Ok(link(&made, &format!("joins as {role}")))
            }
            Self::List => {
                let operators = service.list_operators(by).await?;
                let invitations = service.list_invitations(by).await?;
                let now = service.machine_time();
                Ok(Output::new(
                    json!({
                        "operators": operators.iter().map(OperatorView::from).collect::<Vec<_>>(),
                        "invitations": invitations.iter().map(InvitationView::from).collect::<Vec<_>>(),
                    }),
                    list(&operators, &invitations, now),
                ))
            }
            Self::Set(set) => {
                let NewRole(role) = set.role;
                let apps = match role {
                    Some(Role::Owner) if set.app.is_empty() => None,
                    _ => apps(&set.app)?,
                };
                if role == Some(Role::Owner) && apps.is_some() {
                    return Err(Failure::usage("an owner has every App; leave --app out"));
                }
                let change = OperatorChange::Role(role, apps);
                changed(&service, &set.who, change, "Changed").await
            }
            Self::Disable(who) => {
                changed(&service, &who, OperatorChange::Disable, "Disabled").await
            }
            Self::Enable(who) => changed(&service, &who, OperatorChange::Enable, "Enabled").await,
            Self::Unlock(who) => {
                let found = service.find_operator(by, &who.lookup()).await?;
                let user = found.operator.user_id;
                service.unlock_operator(by, user).await?;
                Ok(report("Unlocked", &found))
            }
            Self::Remove(who) => changed(&service, &who, OperatorChange::Remove, "Removed").await,
            Self::Reset(who) => {
                let found = service.find_operator(by, &who.lookup()).await?;
                let user = found.operator.user_id;
                let made = service.reset_operator(by, user, Handover::Shown).await?;
                Ok(link(&made, "sets up new factors"))
            }
            Self::SignIn(command) => command.run(&service).await,
            Self::Events(log) => {
                let page = service.list_deployment_events(by, &log.query()?).await;
                events(&page.map_err(|error| match error {
                    ListEventsError::CursorUnknown => {
                        Failure::new("--after: this event has expired or was never in this log")
                    }
                    ListEventsError::Common(refusal) => refusal.into(),
                })?)
            }
        }
    }
}

impl Who {
    fn lookup(&self) -> OperatorLookup {
        match self.operator.parse::<UserId>() {
            Ok(id) => OperatorLookup::Id(id),
            Err(_address) => OperatorLookup::Email(self.operator.clone()),
        }
    }
}

impl Log {
    fn query(&self) -> Result<ListEvents, Failure> {
        let kinds = kinds(self.types.iter().map(String::as_str));
        Ok(ListEvents {
            after: self.after,
            limit: self.limit,
            kinds: kinds.map_err(|invalid| Failure::usage(invalid.message))?,
            descending: true,
            ..ListEvents::default()
        })
    }
}

/// The output of a page of events: the same objects as in the API.
fn events(page: &EventPage) -> Result<Output, Failure> {
    let objects: Result<Vec<Value>, _> = page
        .events
        .iter()
        .map(|event| serde_json::from_str(&event.json()?))
        .collect();
    let objects = objects.context("an event cannot be shown")?;
    let rows = page.events.iter().map(|event| {
        let event = &event.event;
        [
            date(event.created_at),
            event.kind.to_string(),
            event.actor.to_string(),
            event.data.clone(),
        ]
    });
    let text = table(["AT", "EVENT", "BY", "DATA"], rows, "No events.");
    let document = json!({
        "events": objects,
        "has_more": page.has_more,
        "next_after": page.next_after,
    });
    Ok(Output::new(document, text))
}

async fn changed(
    service: &Service,
    who: &Who,
    change: OperatorChange,
    done: &str,
) -> Result<Output, Failure> {
    let by = Principal::cli();
    let found = service.find_operator(by, &who.lookup()).await?;
    let user = found.operator.user_id;
    service.change_operator(by, user, change).await?;
    Ok(report(done, &found))
}

/// The output of a change.
fn report(done: &str, operator: &ListedOperator) -> Output {
    let (user, email) = (operator.operator.user_id, &operator.email);
    Output::new(
        json!({ "user_id": user, "email": email }),
        format!("{done} {email} ({user})."),
    )
}

/// The output of a new link. No other output contains one.
fn link(made: &NewOperatorLink, what: &str) -> Output {
    let record = &made.record;
    let mut document = json!(InvitationView::from(record));
    if let Some(members) = document.as_object_mut() {
        members.insert("url".to_owned(), made.url.expose().clone().into());
    }
    Output::new(
        document,
        format!(
            "{}\n\nThe person who opens this link as {} {what}. It works once, until {}, and is shown only once.",
            made.url.expose(),
            record.email.address(),
            date(record.expires_at),
        ),
    )
}

fn list(operators: &[ListedOperator], invitations: &[OperatorLink], now: Timestamp) -> String {
    let operators = operators.iter().map(|listed| {
        let state = match (listed.is_disabled, listed.has_second_factor) {
            (true, _) => "disabled",
            (false, Some(false)) => "no second factor yet",
            (false, _) => "active",
        };
        [
            listed.operator.user_id.to_string(),
            listed.email.clone(),
            roles(&listed.operator.grants),
            date(listed.operator.created_at),
            state.to_owned(),
        ]
    });
    let invitations = invitations.iter().filter(|link| link.is_open(now));
    let invitations = invitations.map(|link| {
        [
            link.id.to_string(),
            link.email.address().to_owned(),
            link.grants.as_ref().map(roles).unwrap_or_default(),
            date(link.created_at),
            format!("invited until {}", date(link.expires_at)),
        ]
    });
    table(
        ["ID", "EMAIL", "ROLE", "SINCE", "STATE"],
        operators.chain(invitations),
        "No operators. vestry operator create --help shows how to create the first owner.",
    )
}

/// Roles, in words.
fn roles(grants: &Grants) -> String {
    let all = grants.in_all().map(|role| match role {
        Role::Owner => role.to_string(),
        role => format!("{role} in all Apps"),
    });
    let own = grants
        .in_apps()
        .map(|(app, role)| format!("{role} in {app}"));
    all.into_iter().chain(own).collect::<Vec<_>>().join(", ")
}
