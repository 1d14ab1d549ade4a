//! `POST /v1/manage/apps/{app_id}/{environment}/keys`

use actix_web::HttpResponse;
use vestry_domain::api_key::ApiKeyKind;
use vestry_edge::views::ApiKeyView;
use vestry_edge::{Body, Code, Problem};

use crate::call::Call;
use crate::etag;
use crate::fields::KeyRequest;
use crate::keys::NewApiKey;
use crate::place::InWorld;

pub(crate) const ERRORS: &[Code] = &[
    Code::InvalidField,
    Code::UnknownField,
    Code::NotFound,
    Code::KeyNotAllowed,
];

/// Create an API key
///
/// The response shows the key, and no later one does. Without `preset` and `scopes`, a secret key can do everything except export private keys and read the audit log.
///
/// `wallets:export` cannot be granted here, and `audit:read` only by a key that has it.
///
/// Needs the scope `keys:write`.
#[utoipa::path(
    post,
    path = "/v1/manage/apps/{app_id}/{environment}/keys",
    operation_id = "createApiKey",
    tag = "Management",
    params(
        ("app_id" = String, Path, description = "Id of the App", pattern = "^app_[0-9A-Za-z]{27}$"),
        ("environment" = String, Path, description = "`test` or `live`", pattern = "^(test|live)$"),
    ),
    request_body(content = KeyRequest, content_type = "application/json"),
    responses((status = 201, description = "The new key", body = NewApiKey))
)]
pub(crate) async fn handle(
    call: Call,
    InWorld(world): InWorld,
    Body(request): Body<KeyRequest>,
) -> Result<HttpResponse, Problem> {
    let kind = match &request.kind {
        None => ApiKeyKind::Secret,
        Some(kind) => kind.parse()?,
    };
    let fields = request.parsed()?.set;
    let made =
        call.run(move |service, by| async move {
            service.create_api_key(&by, world, kind, fields).await
        })
        .await?;
    etag::created(&ApiKeyView::from(&made))
}
