//! `POST /v1/manage/apps/{app_id}/{environment}/providers/{provider}/check`

use actix_web::HttpResponse;
use vestry_edge::{Code, Problem};

use crate::call::Call;
use crate::place::{InProvider, InWorld};
use crate::providers::ProviderChecks;

pub(crate) const ERRORS: &[Code] = &[
    Code::NotFound,
    Code::KeyNotAllowed,
    Code::TooManyAttempts,
    Code::Unavailable,
];

/// Check an identity provider
///
/// Calls the provider's discovery document, key set and sign-in page, and nothing from a cache. A problem is part of the result, not an error. At most 5 times a minute for the providers of an environment.
///
/// Needs the scope `providers:write`.
#[utoipa::path(
    post,
    path = "/v1/manage/apps/{app_id}/{environment}/providers/{provider}/check",
    operation_id = "checkProvider",
    tag = "Management",
    params(
        ("app_id" = String, Path, description = "Id of the App", pattern = "^app_[0-9A-Za-z]{27}$"),
        ("environment" = String, Path, description = "`test` or `live`", pattern = "^(test|live)$"),
        ("provider" = String, Path, description = "Name of the provider", pattern = "^[a-z][a-z0-9_-]{0,31}$"),
    ),
    responses((status = 200, description = "The checks that were made", body = ProviderChecks))
)]
pub(crate) async fn handle(
    call: Call,
    InWorld(world): InWorld,
    InProvider(name): InProvider,
) -> Result<HttpResponse, Problem> {
    let checks = call.run(move |service, by| async move {
        service.check_provider_connection(&by, world, &name).await
    });
    Ok(HttpResponse::Ok().json(ProviderChecks::from(checks.await?)))
}
