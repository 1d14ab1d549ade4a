//! `DELETE /v1/manage/apps/{app_id}/{environment}/redirect_urls/{redirect_id}`

use actix_web::HttpResponse;
use vestry_domain::ids::RedirectUrlId;
use vestry_edge::{Code, PathId, Problem};

use crate::call::Call;
use crate::fields::Removed;
use crate::place::InWorld;

pub(crate) const ERRORS: &[Code] = &[Code::NotFound, Code::KeyNotAllowed];

/// Remove a redirect URL
///
/// Sign-ins can no longer redirect to it.
///
/// Needs the scope `redirect_urls:write`.
#[utoipa::path(
    delete,
    path = "/v1/manage/apps/{app_id}/{environment}/redirect_urls/{redirect_id}",
    operation_id = "removeRedirectUrl",
    tag = "Management",
    params(
        ("app_id" = String, Path, description = "Id of the App", pattern = "^app_[0-9A-Za-z]{27}$"),
        ("environment" = String, Path, description = "`test` or `live`", pattern = "^(test|live)$"),
        ("redirect_id" = String, Path, description = "Id of the redirect URL", pattern = "^redirect_[0-9A-Za-z]{27}$"),
    ),
    responses((status = 200, description = "The id of the removed URL", body = Removed))
)]
pub(crate) async fn handle(
    call: Call,
    InWorld(world): InWorld,
    PathId(id): PathId<RedirectUrlId>,
) -> Result<HttpResponse, Problem> {
    call.run(
        move |service, by| async move { service.remove_redirect_url(&by, world.into(), id).await },
    )
    .await?;
    Ok(Removed::of(id))
}
