//! `GET /v1/manage/apps/{app_id}/{environment}/signing_keys`

use actix_web::HttpResponse;
use vestry_edge::views::{SigningKeyView, views};
use vestry_edge::{Code, Problem};

use crate::call::Call;
use crate::etag;
use crate::place::InWorld;
use crate::signing_keys::SigningKeys;

pub(crate) const ERRORS: &[Code] = &[Code::NotFound, Code::KeyNotAllowed];

/// List signing keys
///
/// Returns the keys that sign and verify session JWTs of the environment, oldest first.
///
/// Needs the scope `keys:read`.
#[utoipa::path(
    get,
    path = "/v1/manage/apps/{app_id}/{environment}/signing_keys",
    operation_id = "listSigningKeys",
    tag = "Management",
    params(
        ("app_id" = String, Path, description = "Id of the App", pattern = "^app_[0-9A-Za-z]{27}$"),
        ("environment" = String, Path, description = "`test` or `live`", pattern = "^(test|live)$"),
    ),
    responses((status = 200, description = "The keys", body = SigningKeys))
)]
pub(crate) async fn handle(call: Call, InWorld(world): InWorld) -> Result<HttpResponse, Problem> {
    let keys = call
        .run(move |service, by| async move { service.list_signing_keys(&by, world).await })
        .await?;
    let shown: Vec<SigningKeyView<'_>> = views(&keys);
    etag::list("signing_keys", &shown)
}
