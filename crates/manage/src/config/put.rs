//! `PUT /v1/manage/apps/{app_id}/config`

use std::sync::Arc;

use actix_web::HttpResponse;
use serde::Deserialize;
use serde_json::{Map, Value};
use utoipa::IntoParams;
use vestry_domain::config::{Config as Document, without_secrets};
use vestry_domain::ids::AppId;
use vestry_edge::{Body, Code, PathId, Problem, Query, json};

use crate::call::Call;
use crate::config::{Config, ConfigPlan};
use crate::etag::{self, IfMatch};

pub(crate) const ERRORS: &[Code] = &[
    Code::InvalidField,
    Code::UnknownField,
    Code::MissingField,
    Code::NotFound,
    Code::KeyNotAllowed,
    Code::PreconditionFailed,
    Code::PreconditionRequired,
];

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Options {
    /// Whether to change nothing and return the changes.
    #[param(nullable = false)]
    plan: Option<bool>,
}

/// Apply a configuration to an App
///
/// Changes the settings, redirect URLs, identity providers and webhook endpoints to those of the document, all or none. What a part of the
/// document does not list is removed or gets its default value; a part that is absent stays as it is. Sending back what `getConfig` returned
/// changes nothing.
///
/// With `plan=true` it changes nothing and returns the changes, with the `ETag` of the present configuration. `If-Match` is then optional.
///
/// `settings` belong to both environments, so a document with settings needs a key for both.
///
/// Needs the scope `config:write`.
#[utoipa::path(
    put,
    path = "/v1/manage/apps/{app_id}/config",
    operation_id = "applyConfig",
    tag = "Management",
    params(
        ("app_id" = String, Path, description = "Id of the App", pattern = "^app_[0-9A-Za-z]{27}$"),
        ("If-Match" = Option<String>, Header, description = "The `ETag` of the object as the caller has seen it"),
        Options,
    ),
    request_body(content = Config, content_type = "application/json"),
    responses((status = 200, description = "The configuration after the change, or the planned changes", body = inline(Applied)))
)]
pub(crate) async fn handle(
    call: Call,
    PathId(id): PathId<AppId>,
    if_match: IfMatch,
    Query(options): Query<Options>,
    Body(document): Body<Map<String, Value>>,
) -> Result<HttpResponse, Problem> {
    let document: Document = json::from_value(Value::Object(document)).map_err(without_secrets)?;
    let is_plan = options.plan.unwrap_or_default();
    let if_match = if_match.shared();
    let condition = Arc::clone(&if_match);
    let done = call.attempt(move |service, by| async move {
        let is_expected =
            |config: &Document| (is_plan && condition.is_absent()) || condition.holds_for(config);
        if is_plan {
            let plan = service
                .plan_config(&by, id, &document, &is_expected)
                .await?;
            return Ok((plan.before, Some(plan.changes)));
        }
        let plan = service
            .apply_config(&by, id, &document, &is_expected)
            .await?;
        Ok((plan.after, None))
    });
    let (config, changes) = done.await?.map_err(|refusal| if_match.refused(refusal))?;
    match changes {
        None => etag::object(&config),
        Some(changes) => etag::object_of(&ConfigPlan::from(changes), &config),
    }
}

/// The configuration, or with `plan=true` the changes that lead to it.
#[derive(utoipa::ToSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "describes a response")]
#[schema(as = AppliedConfig)]
pub(crate) enum Applied {
    #[schema(title = "Config")]
    Config(Box<Config>),
    #[schema(title = "ConfigPlan")]
    Plan(ConfigPlan),
}
