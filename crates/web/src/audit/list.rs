//! `GET /v1/audit`

use std::borrow::Cow;

use actix_web::web::Json;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::openapi::schema::{Schema, Type};
use utoipa::openapi::{ObjectBuilder, RefOr};
use utoipa::{IntoParams, PartialSchema, ToSchema};
use vestry_app::audit::ListChanges;
use vestry_domain::audit::control::{
    ControlAction, ControlEntry, ControlFilter, Outcome, Party as Asked, SubjectKind,
};
use vestry_domain::event::Actor;
use vestry_domain::{Invalid, Timestamp};

use crate::call::Call;
use crate::problem::{Code, Problem};
use crate::query::Query;
use crate::shapes::parse_id;

pub(crate) const ERRORS: &[Code] = &[Code::InvalidField, Code::UnknownField, Code::Sealed];

/// Names in `action` at most.
const MOST_NAMES: usize = 20;

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct Filter {
    /// By whom: an id, or a kind such as `cli`.
    #[param(example = "cli", nullable = false)]
    actor: Option<String>,
    /// What was done: at most 20 names, with commas in between.
    #[param(example = "api_key.create,api_key.revoke", nullable = false)]
    action: Option<String>,
    /// To what: an id or a name, or a kind such as `api_key`.
    #[param(example = "api_key", nullable = false)]
    subject: Option<String>,
    /// What came of it.
    #[param(pattern = "^(done|refused|failed)$", nullable = false)]
    outcome: Option<String>,
    /// Not before this moment, in Unix seconds.
    #[param(minimum = 0, nullable = false)]
    from: Option<i64>,
    /// Before this moment, in Unix seconds.
    #[param(minimum = 0, nullable = false)]
    until: Option<i64>,
    /// Most entries on the page.
    #[param(minimum = 10, maximum = 100, default = 50, nullable = false)]
    limit: Option<i64>,
    /// The last entry of the page before.
    #[param(pattern = "^aud_[0-9A-Za-z]{27}$", nullable = false)]
    starting_after: Option<String>,
}

/// What was done to the App, its keys or its settings.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ChangeEntry)]
pub(crate) struct Entry {
    #[schema(pattern = "^aud_[0-9A-Za-z]{27}$")]
    id: String,
    actor: Party,
    #[schema(value_type = ActionName)]
    action: &'static str,
    subject: Party,
    /// Names, numbers, old (`from`) and new (`to`) values. Of a secret it says at most that it was set; of what is too long there is a
    /// hash.
    #[schema(value_type = Object)]
    detail: Box<RawValue>,
    #[schema(pattern = "^(done|refused|failed)$")]
    outcome: &'static str,
    /// The `X-Request-Id` of the call by which it happened; `null` where there was none.
    #[schema(required = true)]
    request_id: Option<String>,
    /// Which chain of the log it stands in.
    #[schema(pattern = "^auditchain_[0-9A-Za-z]{27}$")]
    chain: String,
    /// Its place in the chain, from 1.
    #[schema(minimum = 1)]
    sequence: i64,
    /// SHA-256, in hex, over the entry and the hash of the one before it.
    #[schema(pattern = "^[0-9a-f]{64}$")]
    hash: String,
    /// Unix seconds.
    created_at: i64,
}

/// Who, or what.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ChangeParty)]
struct Party {
    /// What kind of it.
    r#type: &'static str,
    /// Which one; `null` for `cli` and `system`.
    #[schema(required = true)]
    id: Option<String>,
}

/// The names of all actions, as the domain gives them.
struct ActionName;

impl PartialSchema for ActionName {
    fn schema() -> RefOr<Schema> {
        let names = ControlAction::ALL.iter().map(|action| action.as_str());
        let meanings = ControlAction::ALL.iter();
        let meanings = meanings.map(|action| format!("- `{action}`: {}", action.text()));
        let name = ObjectBuilder::new()
            .schema_type(Type::String)
            .enum_values(Some(names))
            .description(Some(meanings.collect::<Vec<_>>().join("\n")));
        Schema::Object(name.build()).into()
    }
}

impl ToSchema for ActionName {
    fn name() -> Cow<'static, str> {
        "ChangeAction".into()
    }
}

impl TryFrom<ControlEntry> for Entry {
    type Error = Problem;

    fn try_from(entry: ControlEntry) -> Result<Self, Problem> {
        let event = entry.event;
        let detail = RawValue::from_string(event.detail).map_err(Problem::internal)?;
        Ok(Self {
            id: entry.id.to_string(),
            actor: Party {
                r#type: event.actor.kind(),
                id: event.actor.id(),
            },
            action: event.action.as_str(),
            subject: Party {
                r#type: event.subject.kind.as_str(),
                id: Some(event.subject.id),
            },
            detail,
            outcome: event.outcome.as_str(),
            request_id: event.request_id,
            chain: entry.chain.to_string(),
            sequence: entry.sequence,
            hash: hex::encode(entry.hash),
            created_at: event.at.unix(),
        })
    }
}

/// A page of the audit log.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = AuditListResponse)]
pub(crate) struct Answer {
    /// Newest first.
    #[schema(max_items = 100)]
    entries: Vec<Entry>,
    /// Whether there is a next page.
    has_more: bool,
}

/// List what was done to the App
///
/// Who made and revoked keys, changed settings, providers, redirect URLs and webhook endpoints, rotated keys, and did so by which
/// request, newest first. A change and its entry are on disk together: none is without the other. What was done with a wallet is in
/// `GET /v1/wallets/{wallet_id}/audit`. `vestry audit verify` checks that nothing was altered or taken out.
/// For the next page, send the id of the last entry as `starting_after`.
///
/// Needs the scope `audit:read`, which a key has only where it was named when the key was made.
#[utoipa::path(
    get,
    path = "/v1/audit",
    operation_id = "listAudit",
    tag = "Audit",
    params(Filter),
    responses((status = 200, description = "A page of entries", body = Answer))
)]
pub(crate) async fn handle(
    call: Call,
    Query(filter): Query<Filter>,
) -> Result<Json<Answer>, Problem> {
    let query = filter.parsed()?;
    let page = call
        .run(move |service, caller| async move { service.list_changes(&caller, query).await })
        .await?;
    let entries = page.entries.into_iter().map(Entry::try_from);
    Ok(Json(Answer {
        entries: entries.collect::<Result<_, _>>()?,
        has_more: page.has_more,
    }))
}

impl Filter {
    fn parsed(self) -> Result<ListChanges, Invalid> {
        let starting_after = self.starting_after;
        let starting_after = starting_after.map(|id| parse_id("starting_after", &id));
        let outcome = self.outcome.as_deref().map(|outcome| {
            let wrong =
                |_unknown| Invalid::value("outcome", "outcome must be done, refused or failed");
            outcome.parse::<Outcome>().map_err(wrong)
        });
        let mut filter = ControlFilter {
            actions: self
                .action
                .as_deref()
                .map(actions)
                .transpose()?
                .unwrap_or_default(),
            outcome: outcome.transpose()?,
            from: moment("from", self.from)?,
            until: moment("until", self.until)?,
            ..ControlFilter::default()
        };
        match self.actor {
            Some(kind) if Actor::KINDS.contains(&kind.as_str()) => {
                filter.actor = Some(Asked::Kind(kind));
            }
            id => filter.actor = id.map(Asked::Id),
        }
        match self.subject.as_deref().map(str::parse::<SubjectKind>) {
            Some(Ok(kind)) => filter.subject = Some(Asked::Kind(kind)),
            _ => filter.subject = self.subject.map(Asked::Id),
        }
        Ok(ListChanges {
            filter,
            limit: self.limit,
            starting_after: starting_after.transpose()?,
        })
    }
}

fn moment(param: &'static str, seconds: Option<i64>) -> Result<Option<Timestamp>, Invalid> {
    match seconds {
        Some(seconds) if seconds < 0 => Err(Invalid::value(
            param,
            format!("{param} must be a moment in Unix seconds"),
        )),
        seconds => Ok(seconds.map(Timestamp::from_unix)),
    }
}

fn actions(names: &str) -> Result<Vec<ControlAction>, Invalid> {
    let names: Vec<&str> = names.split(',').collect();
    if names.len() > MOST_NAMES {
        return Err(Invalid::value(
            "action",
            "action must have at most 20 names",
        ));
    }
    names.into_iter().map(str::parse).collect()
}
