//! `GET /v1/manage/apps`

use actix_web::HttpResponse;
use vestry_edge::views::views;
use vestry_edge::{Code, Problem};

use crate::apps::{App, Apps};
use crate::call::Call;
use crate::etag;

pub(crate) const ERRORS: &[Code] = &[Code::KeyNotAllowed];

/// List the Apps
///
/// Returns the Apps that the key administers, oldest first.
///
/// Needs the scope `apps:read`.
#[utoipa::path(
    get,
    path = "/v1/manage/apps",
    operation_id = "listApps",
    tag = "Management",
    responses((status = 200, description = "The Apps", body = Apps))
)]
pub(crate) async fn handle(call: Call) -> Result<HttpResponse, Problem> {
    let apps = call
        .run(|service, by| async move { service.list_apps(&by).await })
        .await?;
    let shown: Vec<App> = views(&apps);
    etag::list("apps", &shown)
}
