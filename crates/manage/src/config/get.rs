//! `GET /v1/manage/apps/{app_id}/config`

use actix_web::HttpResponse;
use vestry_domain::ids::AppId;
use vestry_edge::{Code, PathId, Problem};

use crate::call::Call;
use crate::config::Config;
use crate::etag;

pub(crate) const ERRORS: &[Code] = &[Code::NotFound, Code::KeyNotAllowed];

/// Get the configuration of an App
///
/// Returns its settings, redirect URLs, identity providers and webhook endpoints as one document, without secrets. Lists are sorted and default
/// values written out, so equal configurations have equal documents.
///
/// A key for one environment gets that environment only.
///
/// Needs the scope `config:read`.
#[utoipa::path(
    get,
    path = "/v1/manage/apps/{app_id}/config",
    operation_id = "getConfig",
    tag = "Management",
    params(
        ("app_id" = String, Path, description = "Id of the App", pattern = "^app_[0-9A-Za-z]{27}$"),
    ),
    responses((status = 200, description = "The configuration", body = Config))
)]
pub(crate) async fn handle(call: Call, PathId(id): PathId<AppId>) -> Result<HttpResponse, Problem> {
    let config = call
        .run(move |service, by| async move { service.show_config(&by, id).await })
        .await?;
    etag::object(&config)
}
