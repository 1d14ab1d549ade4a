//! `GET /v1/manage/apps/{app_id}/{environment}/redirect_urls`

use actix_web::HttpResponse;
use vestry_edge::views::{RedirectUrlView, views};
use vestry_edge::{Code, Problem};

use crate::call::Call;
use crate::etag;
use crate::place::InWorld;
use crate::redirect_urls::RedirectUrls;

pub(crate) const ERRORS: &[Code] = &[Code::NotFound, Code::KeyNotAllowed];

/// List redirect URLs
///
/// Returns the URLs that sign-ins in this environment may redirect to, oldest first.
///
/// Needs the scope `redirect_urls:read`.
#[utoipa::path(
    get,
    path = "/v1/manage/apps/{app_id}/{environment}/redirect_urls",
    operation_id = "listRedirectUrls",
    tag = "Management",
    params(
        ("app_id" = String, Path, description = "Id of the App", pattern = "^app_[0-9A-Za-z]{27}$"),
        ("environment" = String, Path, description = "`test` or `live`", pattern = "^(test|live)$"),
    ),
    responses((status = 200, description = "The URLs", body = RedirectUrls))
)]
pub(crate) async fn handle(call: Call, InWorld(world): InWorld) -> Result<HttpResponse, Problem> {
    let urls = call
        .run(move |service, by| async move { service.list_redirect_urls(&by, world.into()).await })
        .await?;
    let shown: Vec<RedirectUrlView<'_>> = views(&urls);
    etag::list("redirect_urls", &shown)
}
