//! `GET /v1/audit`

use std::borrow::Cow;

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
use vestry_edge::{Call, Code, Json, Problem, Query};

use crate::v1::shapes::optional_id;

pub(crate) const ERRORS: &[Code] = &[Code::InvalidField, Code::UnknownField, Code::Sealed];

/// Maximum number of names in `action`.
const MAX_NAMES: usize = 20;

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct Filter {
    /// Actor of the change: an id, or a kind such as `cli`.
    #[param(example = "cli", nullable = false)]
    actor: Option<String>,
    /// Action names, separated by commas, at most 20.
    #[param(example = "api_key.create,api_key.revoke", nullable = false)]
    action: Option<String>,
    /// Subject of the change: an id or a name, or a kind such as `api_key`.
    #[param(example = "api_key", nullable = false)]
    subject: Option<String>,
    /// Outcome of the change: `done`, `refused` or `failed`.
    #[param(pattern = "^(done|refused|failed)$", nullable = false)]
    outcome: Option<String>,
    /// Start of the time range, inclusive, in Unix seconds.
    #[param(minimum = 0, nullable = false)]
    from: Option<i64>,
    /// End of the time range, exclusive, in Unix seconds.
    #[param(minimum = 0, nullable = false)]
    until: Option<i64>,
    /// Maximum number of entries on the page, 10 to 100.
    #[param(minimum = 10, maximum = 100, default = 50, nullable = false)]
    limit: Option<i64>,
    /// Id of the last entry of the previous page.
    #[param(pattern = "^aud_[0-9A-Za-z]{27}$", nullable = false)]
    starting_after: Option<String>,
}

/// A change of the App, its keys or its settings.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ChangeEntry)]
pub(crate) struct Entry {
    /// Id of the entry.
    #[schema(pattern = "^aud_[0-9A-Za-z]{27}$")]
    id: String,
    actor: Party,
    #[schema(value_type = ActionName)]
    action: &'static str,
    subject: Party,
    /// Names, numbers, and old (`from`) and new (`to`) values. For a secret, at most that it was set. Values that are too long are replaced
    /// by a hash.
    #[schema(value_type = Object)]
    detail: Box<RawValue>,
    /// Outcome of the change: `done`, `refused` or `failed`.
    #[schema(pattern = "^(done|refused|failed)$")]
    outcome: &'static str,
    /// The `X-Request-Id` of the call that caused the entry; `null` if no call did.
    #[schema(required = true)]
    request_id: Option<String>,
    /// Id of the log's chain that the entry belongs to.
    #[schema(pattern = "^auditchain_[0-9A-Za-z]{27}$")]
    chain: String,
    /// Position in the chain, starting at 1.
    #[schema(minimum = 1)]
    sequence: i64,
    /// SHA-256, in hex, of the entry and the hash of the previous entry.
    #[schema(pattern = "^[0-9a-f]{64}$")]
    hash: String,
    /// When it happened, in Unix seconds.
    created_at: i64,
}

/// Actor or subject of a change.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ChangeParty)]
struct Party {
    /// Kind of the actor or subject.
    r#type: &'static str,
    /// Id of the actor or subject; `null` for `cli` and `system`.
    #[schema(required = true)]
    id: Option<String>,
}

/// The names of all actions, taken from the domain.
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

/// A page of the App's audit log.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = AuditListResponse)]
pub(crate) struct Response {
    /// Entries on this page, newest first.
    #[schema(max_items = 100)]
    entries: Vec<Entry>,
    /// Whether there is a next page.
    has_more: bool,
}

/// List audit log entries
///
/// Returns changes to API keys, settings, providers, redirect URLs and webhook endpoints, and key rotations, newest first. Each entry names
/// its actor and request. For the next page, send the id of the last entry as `starting_after`.
///
/// A change and its entry are committed together, so neither exists without the other. Operations on wallets are listed by `GET
/// /v1/wallets/{wallet_id}/audit`. `vestry audit verify` detects altered or removed entries.
///
/// Needs the scope `audit:read`, which a key has only if it was requested by name when the key was created.
#[utoipa::path(
    get,
    path = "/v1/audit",
    operation_id = "listAudit",
    tag = "Audit",
    params(Filter),
    responses((status = 200, description = "A page of entries", body = Response))
)]
pub(crate) async fn handle(
    call: Call,
    Query(filter): Query<Filter>,
) -> Result<Json<Response>, Problem> {
    let query = filter.parsed()?;
    let page = call
        .run(move |service, caller| async move { service.list_changes(&caller, query).await })
        .await?;
    let entries = page.entries.into_iter().map(Entry::try_from);
    Ok(Json(Response {
        entries: entries.collect::<Result<_, _>>()?,
        has_more: page.has_more,
    }))
}

impl Filter {
    fn parsed(self) -> Result<ListChanges, Invalid> {
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
            starting_after: optional_id("starting_after", self.starting_after)?,
        })
    }
}

fn moment(param: &'static str, seconds: Option<i64>) -> Result<Option<Timestamp>, Invalid> {
    match seconds {
        Some(seconds) if seconds < 0 => Err(Invalid::value(
            param,
            format!("{param} must be a Unix timestamp in seconds"),
        )),
        seconds => Ok(seconds.map(Timestamp::from_unix)),
    }
}

fn actions(names: &str) -> Result<Vec<ControlAction>, Invalid> {
    let names: Vec<&str> = names.split(',').collect();
    if names.len() > MAX_NAMES {
        return Err(Invalid::value(
            "action",
            "action must have at most 20 names",
        ));
    }
    names.into_iter().map(str::parse).collect()
}
