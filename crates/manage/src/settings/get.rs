//! `GET /v1/manage/apps/{app_id}/settings`

use actix_web::HttpResponse;
use vestry_domain::ids::AppId;
use vestry_edge::{Code, PathId, Problem};

use crate::call::Call;
use crate::etag;

pub(crate) const ERRORS: &[Code] = &[Code::NotFound, Code::KeyNotAllowed];

/// Get the settings of an App
///
/// Returns every setting, those with their default value too. docs/settings.md describes them.
///
/// Needs the scope `settings:read`.
#[utoipa::path(
    get,
    path = "/v1/manage/apps/{app_id}/settings",
    operation_id = "getSettings",
    tag = "Management",
    params(
        ("app_id" = String, Path, description = "Id of the App", pattern = "^app_[0-9A-Za-z]{27}$"),
    ),
    responses((status = 200, description = "The settings", body = Object))
)]
pub(crate) async fn handle(call: Call, PathId(id): PathId<AppId>) -> Result<HttpResponse, Problem> {
    let app = call
        .run(move |service, by| async move { service.show_settings(&by, id).await })
        .await?;
    etag::object(&app.settings)
}
