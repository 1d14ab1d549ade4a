//! `PUT /v1/manage/apps/{app_id}/{environment}/providers/{provider}`

use std::sync::Arc;

use actix_web::HttpResponse;
use vestry_app::platform::ListedConnection;
use vestry_edge::views::ProviderView;
use vestry_edge::{Body, Code, Problem};

use crate::call::Call;
use crate::etag::{self, IfMatch};
use crate::place::{InProvider, InWorld};
use crate::providers::{Provider, ProviderRequest};

pub(crate) const ERRORS: &[Code] = &[
    Code::InvalidField,
    Code::UnknownField,
    Code::MissingField,
    Code::NotFound,
    Code::KeyNotAllowed,
    Code::LimitReached,
    Code::PreconditionFailed,
    Code::PreconditionRequired,
];

/// Set an identity provider
///
/// Creates the connection, or replaces it if `If-Match` is sent and is its `ETag`. Without `client_secret` a connection keeps the stored one; sending back what `getProvider` returned changes nothing. The callback URL stays the same.
///
/// Needs the scope `providers:write`.
#[utoipa::path(
    put,
    path = "/v1/manage/apps/{app_id}/{environment}/providers/{provider}",
    operation_id = "setProvider",
    tag = "Management",
    params(
        ("app_id" = String, Path, description = "Id of the App", pattern = "^app_[0-9A-Za-z]{27}$"),
        ("environment" = String, Path, description = "`test` or `live`", pattern = "^(test|live)$"),
        ("provider" = String, Path, description = "Name of the provider", pattern = "^[a-z][a-z0-9_-]{0,31}$"),
        ("If-Match" = Option<String>, Header, description = "The `ETag` of the object as the caller has seen it"),
    ),
    request_body(content = ProviderRequest, content_type = "application/json"),
    responses((status = 200, description = "The connection", body = Provider))
)]
pub(crate) async fn handle(
    call: Call,
    InWorld(world): InWorld,
    InProvider(name): InProvider,
    if_match: IfMatch,
    Body(request): Body<ProviderRequest>,
) -> Result<HttpResponse, Problem> {
    let new = request.connection(name);
    let if_match = if_match.shared();
    let condition = Arc::clone(&if_match);
    let stored = call.attempt(move |service, by| async move {
        let is_expected = |known: &Option<ListedConnection>| match known {
            None => condition.is_absent(),
            Some(known) => condition.holds_for(&ProviderView::from(known)),
        };
        service.put_provider(&by, world, new, &is_expected).await
    });
    let stored = stored.await?.map_err(|refusal| if_match.refused(refusal))?;
    etag::object(&ProviderView::from(&stored))
}
