//! `GET /v1/manage/apps/{app_id}`

use actix_web::HttpResponse;
use vestry_domain::ids::AppId;
use vestry_edge::{Code, PathId, Problem};

use crate::apps::App;
use crate::call::Call;
use crate::etag;

pub(crate) const ERRORS: &[Code] = &[Code::NotFound, Code::KeyNotAllowed];

/// Get an App
///
/// Returns the name of the App and its times. Its settings have a path of their own.
///
/// Needs the scope `apps:read`.
#[utoipa::path(
    get,
    path = "/v1/manage/apps/{app_id}",
    operation_id = "getApp",
    tag = "Management",
    params(
        ("app_id" = String, Path, description = "Id of the App", pattern = "^app_[0-9A-Za-z]{27}$"),
    ),
    responses((status = 200, description = "The App", body = App))
)]
pub(crate) async fn handle(call: Call, PathId(id): PathId<AppId>) -> Result<HttpResponse, Problem> {
    let app = call
        .run(move |service, by| async move { service.show_app(&by, id).await })
        .await?;
    etag::object(&App::from(&app))
}
