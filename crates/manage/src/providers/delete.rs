//! `DELETE /v1/manage/apps/{app_id}/{environment}/providers/{provider}`

use std::sync::Arc;

use actix_web::HttpResponse;
use vestry_app::platform::ListedConnection;
use vestry_edge::views::ProviderView;
use vestry_edge::{Code, Problem};

use crate::call::Call;
use crate::etag::IfMatch;
use crate::fields::Removed;
use crate::place::{InProvider, InWorld};

pub(crate) const ERRORS: &[Code] = &[
    Code::NotFound,
    Code::KeyNotAllowed,
    Code::PreconditionFailed,
    Code::PreconditionRequired,
];

/// Remove an identity provider
///
/// Links of users to their identities are kept, and work again once the connection is set again.
///
/// Needs the scope `providers:write`.
#[utoipa::path(
    delete,
    path = "/v1/manage/apps/{app_id}/{environment}/providers/{provider}",
    operation_id = "removeProvider",
    tag = "Management",
    params(
        ("app_id" = String, Path, description = "Id of the App", pattern = "^app_[0-9A-Za-z]{27}$"),
        ("environment" = String, Path, description = "`test` or `live`", pattern = "^(test|live)$"),
        ("provider" = String, Path, description = "Name of the provider", pattern = "^[a-z][a-z0-9_-]{0,31}$"),
        ("If-Match" = Option<String>, Header, description = "The `ETag` of the object as the caller has seen it"),
    ),
    responses((status = 200, description = "The name of the removed provider", body = Removed))
)]
pub(crate) async fn handle(
    call: Call,
    InWorld(world): InWorld,
    InProvider(name): InProvider,
    if_match: IfMatch,
) -> Result<HttpResponse, Problem> {
    let if_match = if_match.shared();
    let condition = Arc::clone(&if_match);
    let removed = name.clone();
    let outcome = call.attempt(move |service, by| async move {
        let is_expected = |known: &Option<ListedConnection>| {
            known
                .as_ref()
                .is_some_and(|known| condition.holds_for(&ProviderView::from(known)))
        };
        service
            .remove_expected_provider(&by, world, &name, &is_expected)
            .await
    });
    outcome
        .await?
        .map_err(|refusal| if_match.refused(refusal))?;
    Ok(Removed::of(removed))
}
