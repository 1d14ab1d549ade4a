//! `PUT /v1/manage/apps/{app_id}/settings`

use actix_web::HttpResponse;
use serde_json::{Map, Value};
use vestry_app::platform::SettingsChange;
use vestry_domain::ids::AppId;
use vestry_edge::{Body, Code, PathId, Problem};

use crate::call::Call;
use crate::etag::IfMatch;

pub(crate) const ERRORS: &[Code] = &[
    Code::InvalidField,
    Code::UnknownField,
    Code::NotFound,
    Code::KeyNotAllowed,
    Code::PreconditionFailed,
    Code::PreconditionRequired,
];

/// Replace the settings of an App
///
/// A setting that is not in the body gets its default value. Sending back what `getSettings` returned changes nothing.
///
/// Settings belong to both environments, so the key must be for both. Running services follow within a second.
///
/// Needs the scope `settings:write`.
#[utoipa::path(
    put,
    path = "/v1/manage/apps/{app_id}/settings",
    operation_id = "replaceSettings",
    tag = "Management",
    params(
        ("app_id" = String, Path, description = "Id of the App", pattern = "^app_[0-9A-Za-z]{27}$"),
        ("If-Match" = Option<String>, Header, description = "The `ETag` of the object as the caller has seen it"),
    ),
    request_body(content = Object, content_type = "application/json"),
    responses((status = 200, description = "The settings", body = Object))
)]
pub(crate) async fn handle(
    call: Call,
    PathId(id): PathId<AppId>,
    if_match: IfMatch,
    Body(settings): Body<Map<String, Value>>,
) -> Result<HttpResponse, Problem> {
    super::change(call, id, if_match, SettingsChange::All(settings)).await
}
