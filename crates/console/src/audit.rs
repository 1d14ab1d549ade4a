//! The audit log of an App in one environment: changes with their actors, and refused calls.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::web::{Path, Query};
use askama::Template;
use serde::Deserialize;
use serde_json::{Map, Value};
use vestry_app::Refusal;
use vestry_app::audit::{AuditPage, ListChanges};
use vestry_domain::action::Action;
use vestry_domain::audit::control::{
    ControlAction, ControlEntry, ControlFilter, Outcome, Party, SubjectKind,
};
use vestry_domain::event::Actor;
use vestry_domain::ids::AuditEntryId;
use vestry_domain::{Invalid, Timestamp};

use crate::app::{Address, Inside, enter};
use crate::by_api::ByApi;
use crate::filters;
use crate::frame::Frame;
use crate::handler::Shown;
use crate::page::page;
use crate::query::{Chip, Filters, field, moment};
use crate::visit::Visit;

const AUDIT: &str = "audit";
/// The rows of a page.
const ROWS: i64 = 50;

/// The query of the list.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct Wanted {
    subject: String,
    action: String,
    actor: String,
    outcome: String,
    from: String,
    until: String,
    starting_after: String,
}

/// Actions that can be chosen together.
struct Group {
    name: &'static str,
    /// The name of the choice, such as `api_key.*`.
    all: String,
    actions: Vec<&'static str>,
}

/// An entry as a row.
struct Row {
    entry: ControlEntry,
    actor: Option<String>,
    /// The page of an operator, if the reader may open it.
    actor_page: Option<String>,
    /// The page of the subject in the environment, if it has one.
    subject_page: Option<String>,
    detail: String,
}

#[derive(Template)]
#[template(path = "audit.html")]
struct AuditLogPage {
    frame: Frame,
    wanted: Wanted,
    from: String,
    until: String,
    /// Whether the action is none of the options.
    has_other_action: bool,
    groups: Vec<Group>,
    chips: Vec<Chip>,
    rows: Vec<Row>,
    older: Option<String>,
    problem: Option<String>,
    by_api: ByApi,
}

impl AuditLogPage {
    fn is_action(&self, action: &str) -> bool {
        self.wanted.action == action
    }

    fn is_outcome(&self, outcome: &str) -> bool {
        self.wanted.outcome == outcome
    }
}

impl Row {
    fn new(entry: ControlEntry, reads_operators: bool) -> Self {
        let event = &entry.event;
        let page = match event.subject.kind {
            SubjectKind::User => Some("users"),
            SubjectKind::WebhookEndpoint => Some("webhooks"),
            _ => None,
        };
        Self {
            actor_page: match &event.actor {
                Actor::Operator(id) if reads_operators => {
                    Some(format!("{}/operators/{id}", vestry_edge::CONSOLE))
                }
                _ => None,
            },
            actor: event.actor.id(),
            subject_page: page.map(|page| format!("{page}/{}", event.subject.id)),
            detail: described(&event.detail),
            entry,
        }
    }

    /// The tone of the outcome.
    fn tone(&self) -> &'static str {
        match self.entry.event.outcome {
            Outcome::Done => "ok",
            Outcome::Refused => "bad",
            Outcome::Failed => "warn",
        }
    }

    /// The subject, shortened if it is an id.
    fn short_subject(&self) -> String {
        filters::shortened(&self.entry.event.subject.id)
    }

    /// Whether the subject is an id.
    fn has_id(&self) -> bool {
        !matches!(
            self.entry.event.subject.kind,
            SubjectKind::Call
                | SubjectKind::World
                | SubjectKind::Provider
                | SubjectKind::AppKey
                | SubjectKind::RootKey
                | SubjectKind::Checkpoint
                | SubjectKind::AuditSink
        )
    }
}

/// The details of an entry in words: `name: value`, or `name: old → new`.
fn described(detail: &str) -> String {
    let Ok(members) = serde_json::from_str::<Map<String, Value>>(detail) else {
        return detail.to_owned();
    };
    let plain = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let members = members.iter().map(|(name, value)| {
        let change = (value.get("from"), value.get("to"));
        match change {
            (Some(from), Some(to)) => format!("{name}: {} → {}", plain(from), plain(to)),
            _ => format!("{name}: {}", plain(value)),
        }
    });
    members.collect::<Vec<_>>().join(", ")
}

impl Wanted {
    fn parsed(&self) -> Result<ListChanges, Invalid> {
        let outcome = match self.outcome.as_str() {
            "" => None,
            outcome => Some(outcome.parse::<Outcome>()?),
        };
        let (actor, subject) = (self.actor.trim(), self.subject.trim());
        let starting_after = match self.starting_after.as_str() {
            "" => None,
            id => Some(id.parse::<AuditEntryId>().map_err(|_malformed| {
                let message = "starting_after must be the id of an entry";
                Invalid::value("starting_after", message)
            })?),
        };
        let filter = ControlFilter {
            actor: match actor {
                "" => None,
                kind if Actor::KINDS.contains(&kind) => Some(Party::Kind(kind.to_owned())),
                id => Some(Party::Id(id.to_owned())),
            },
            actions: actions(&self.action)?,
            subject: match subject {
                "" => None,
                subject => Some(match subject.parse::<SubjectKind>() {
                    Ok(kind) => Party::Kind(kind),
                    Err(_id) => Party::Id(subject.to_owned()),
                }),
            },
            outcome,
            from: moment("from", &self.from)?,
            until: moment("until", &self.until)?,
        };
        Ok(ListChanges {
            filter,
            limit: Some(ROWS),
            starting_after,
        })
    }

    fn filters(&self) -> Filters<'_> {
        Filters(vec![
            ("subject", "subject", self.subject.trim()),
            ("action", "action", &self.action),
            ("actor", "actor", self.actor.trim()),
            ("outcome", "outcome", &self.outcome),
            ("from", "from", &self.from),
            ("until", "until", &self.until),
        ])
    }
}

/// The actions that a list of names selects: single ones, or `group.*`.
fn actions(names: &str) -> Result<Vec<ControlAction>, Invalid> {
    let names = names.split(',').map(str::trim);
    let mut found = Vec::new();
    for name in names.filter(|name| !name.is_empty()) {
        let group = name.strip_suffix(".*");
        let of_group = ControlAction::ALL
            .iter()
            .filter(|action| group == Some(group_of(**action)));
        let before = found.len();
        found.extend(of_group.copied());
        if found.len() == before {
            found.push(name.parse()?);
        }
    }
    Ok(found)
}

/// The part of an action's name before the dot.
fn group_of(action: ControlAction) -> &'static str {
    let name = action.as_str();
    name.split_once('.').map_or(name, |(group, _)| group)
}

/// The actions that an App's log can have, by group.
fn groups() -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for action in ControlAction::ALL {
        let name = group_of(*action);
        if matches!(name, "operator" | "management_key") {
            continue;
        }
        match groups.iter_mut().find(|group| group.name == name) {
            Some(group) => group.actions.push(action.as_str()),
            None => groups.push(Group {
                name,
                all: format!("{name}.*"),
                actions: vec![action.as_str()],
            }),
        }
    }
    groups
}

/// The same list in the API.
fn path(query: &ListChanges) -> String {
    let ControlFilter {
        actor,
        actions,
        subject,
        outcome,
        from,
        until,
    } = &query.filter;
    let actions: Vec<_> = actions.iter().map(|action| action.as_str()).collect();
    let seconds = |at: &Option<Timestamp>| at.map(|at| at.unix().to_string());
    let own = [
        (
            "actor",
            actor.as_ref().map(|actor| match actor {
                Party::Kind(text) | Party::Id(text) => text.clone(),
            }),
        ),
        (
            "action",
            Some(actions.join(",")).filter(|names| !names.is_empty()),
        ),
        (
            "subject",
            subject.as_ref().map(|subject| match subject {
                Party::Kind(kind) => kind.to_string(),
                Party::Id(id) => id.clone(),
            }),
        ),
        ("outcome", outcome.map(|outcome| outcome.to_string())),
        ("from", seconds(from)),
        ("until", seconds(until)),
        (
            "starting_after",
            query.starting_after.map(|id| id.to_string()),
        ),
    ];
    let mut query = url::form_urlencoded::Serializer::new(format!("/v1/audit?limit={ROWS}"));
    for (name, value) in own {
        if let Some(value) = value {
            query.append_pair(name, &value);
        }
    }
    query.finish()
}

/// `GET audit`
pub(crate) async fn list(
    visit: Visit,
    address: Path<Address>,
    Query(wanted): Query<Wanted>,
) -> Shown {
    let inside = enter(&visit, &address).await?;
    let world = inside.world();
    inside.ready(&visit, Action::ReadAuditLog, world).await?;
    let query = match wanted.parsed() {
        Ok(query) => query,
        Err(invalid) => {
            let problem = Err(invalid.message.into_owned());
            return Ok(results(&visit, &inside, wanted, "/v1/audit", problem));
        }
    };
    let path = path(&query);
    let caller = inside.caller.clone();
    let found = visit.run(|service| async move { service.list_changes(&caller, query).await });
    let found = match found.await {
        Ok(found) => Ok(found),
        Err(Refusal::Invalid(invalid)) => Err(invalid.message.into_owned()),
        Err(refusal) => return Err(inside.refused(&visit, refusal, "").await),
    };
    Ok(results(&visit, &inside, wanted, &path, found))
}

fn results(
    visit: &Visit,
    inside: &Inside,
    wanted: Wanted,
    path: &str,
    found: Result<AuditPage<ControlEntry>, String>,
) -> HttpResponse {
    let filters = wanted.filters();
    let chips = filters.chips();
    let (rows, older, problem) = match found {
        Ok(found) => {
            let last = found.entries.last().filter(|_| found.has_more);
            let older = last.map(|last| filters.after("starting_after", &last.id.to_string()));
            let reads_operators = inside.by.may_somewhere(Action::ReadOperators);
            let row = |entry| Row::new(entry, reads_operators);
            let rows = found.entries.into_iter().map(row).collect();
            (rows, older, None)
        }
        Err(problem) => (Vec::new(), None, Some(problem)),
    };
    let status = match problem {
        None => StatusCode::OK,
        Some(_) => StatusCode::BAD_REQUEST,
    };
    let groups = groups();
    let is_option = |action: &str| {
        let mut options = groups.iter();
        options.any(|group| group.all == action || group.actions.contains(&action))
    };
    let template = AuditLogPage {
        frame: inside.frame(visit, AUDIT),
        has_other_action: !wanted.action.is_empty() && !is_option(&wanted.action),
        groups,
        chips,
        rows,
        older,
        problem,
        by_api: ByApi::of_app("GET", path, "", "vestry audit verify".to_owned()),
        from: field(&wanted.from),
        until: field(&wanted.until),
        wanted,
    };
    page(visit, status, &template)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn details_are_put_in_words() {
        for (detail, expected) in [
            ("{}", ""),
            (r#"{"count":3,"name":"Shop"}"#, "count: 3, name: Shop"),
            (r#"{"a":{"from":1,"to":[2,"x"]}}"#, r#"a: 1 → [2,"x"]"#),
            (r#"{"a":{"sha256":"00"}}"#, r#"a: {"sha256":"00"}"#),
            ("no JSON", "no JSON"),
        ] {
            assert_eq!(described(detail), expected, "{detail}");
        }
    }

    #[test]
    fn names_of_actions_select_one_or_a_group() {
        let keys = actions("api_key.*, app.create").unwrap_or_default();
        let names: Vec<_> = keys.iter().map(|action| action.as_str()).collect();
        let expected = [
            "api_key.create",
            "api_key.update",
            "api_key.rotate",
            "api_key.revoke",
            "app.create",
        ];
        assert_eq!(names, expected);
        assert!(actions("plane.*").is_err() && actions("app.fly").is_err());
    }
}
