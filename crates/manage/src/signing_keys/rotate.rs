//! `POST /v1/manage/apps/{app_id}/{environment}/signing_keys/rotate`

use actix_web::HttpResponse;
use vestry_edge::views::SigningKeyView;
use vestry_edge::{Code, Problem};

use crate::call::Call;
use crate::etag;
use crate::place::InWorld;
use crate::signing_keys::SigningKey;

pub(crate) const ERRORS: &[Code] = &[Code::NotFound, Code::KeyNotAllowed, Code::LimitReached];

/// Create the next signing key
///
/// It is published at once and signs five minutes later. The old key stays published until its last JWT has expired.
///
/// Needs the scope `keys:write`.
#[utoipa::path(
    post,
    path = "/v1/manage/apps/{app_id}/{environment}/signing_keys/rotate",
    operation_id = "rotateSigningKey",
    tag = "Management",
    params(
        ("app_id" = String, Path, description = "Id of the App", pattern = "^app_[0-9A-Za-z]{27}$"),
        ("environment" = String, Path, description = "`test` or `live`", pattern = "^(test|live)$"),
    ),
    responses((status = 201, description = "The new key", body = SigningKey))
)]
pub(crate) async fn handle(call: Call, InWorld(world): InWorld) -> Result<HttpResponse, Problem> {
    let key = call
        .run(move |service, by| async move { service.rotate_signing_key(&by, world).await })
        .await?;
    etag::created(&SigningKeyView::from(&key))
}
