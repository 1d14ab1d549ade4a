//! `PATCH /v1/manage/apps/{app_id}/{environment}/redirect_urls/{redirect_id}`

use actix_web::HttpResponse;
use serde::Deserialize;
use utoipa::ToSchema;
use vestry_domain::Invalid;
use vestry_domain::ids::RedirectUrlId;
use vestry_edge::views::RedirectUrlView;
use vestry_edge::{Body, Code, PathId, Problem};

use crate::call::Call;
use crate::etag;
use crate::place::InWorld;
use crate::redirect_urls::RedirectUrl;

pub(crate) const ERRORS: &[Code] = &[
    Code::InvalidField,
    Code::UnknownField,
    Code::MissingField,
    Code::NotFound,
    Code::KeyNotAllowed,
];

/// A change of a redirect URL.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = UpdateRedirectUrlRequest)]
pub(crate) struct Request {
    /// `true`: another URL becomes the default instead of this one by the same call.
    default: bool,
}

/// Make a redirect URL the default
///
/// Calls that name no URL of its kind then use it, and no longer the earlier default.
///
/// Needs the scope `redirect_urls:write`.
#[utoipa::path(
    patch,
    path = "/v1/manage/apps/{app_id}/{environment}/redirect_urls/{redirect_id}",
    operation_id = "updateRedirectUrl",
    tag = "Management",
    params(
        ("app_id" = String, Path, description = "Id of the App", pattern = "^app_[0-9A-Za-z]{27}$"),
        ("environment" = String, Path, description = "`test` or `live`", pattern = "^(test|live)$"),
        ("redirect_id" = String, Path, description = "Id of the redirect URL", pattern = "^redirect_[0-9A-Za-z]{27}$"),
    ),
    request_body(content = Request, content_type = "application/json"),
    responses((status = 200, description = "The URL", body = RedirectUrl))
)]
pub(crate) async fn handle(
    call: Call,
    InWorld(world): InWorld,
    PathId(id): PathId<RedirectUrlId>,
    Body(request): Body<Request>,
) -> Result<HttpResponse, Problem> {
    if !request.default {
        let message = "default must be true; to replace the default, make another URL the default";
        return Err(Invalid::value("default", message).into());
    }
    let url = call
        .run(move |service, by| async move {
            service
                .make_redirect_url_default(&by, world.into(), id)
                .await
        })
        .await?;
    etag::object(&RedirectUrlView::from(&url))
}
