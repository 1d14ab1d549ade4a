//! `POST /v1/manage/apps/{app_id}/{environment}/redirect_urls`

use actix_web::HttpResponse;
use serde::Deserialize;
use utoipa::ToSchema;
use vestry_edge::views::RedirectUrlView;
use vestry_edge::{Body, Code, Problem};

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
    Code::LimitReached,
];

/// A redirect URL to register.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = AddRedirectUrlRequest)]
pub(crate) struct Request {
    /// The kind of redirect, such as `login`; docs/redirect-urls.md lists them.
    kind: String,
    /// The URL.
    #[schema(examples("https://shop.example/signed-in"))]
    url: String,
    /// Whether calls that name no URL use it.
    #[serde(default)]
    #[schema(default = false)]
    default: bool,
}

/// Register a redirect URL
///
/// A URL that is registered for this kind already is returned as it is, or becomes the default if `default` says so.
///
/// Needs the scope `redirect_urls:write`.
#[utoipa::path(
    post,
    path = "/v1/manage/apps/{app_id}/{environment}/redirect_urls",
    operation_id = "addRedirectUrl",
    tag = "Management",
    params(
        ("app_id" = String, Path, description = "Id of the App", pattern = "^app_[0-9A-Za-z]{27}$"),
        ("environment" = String, Path, description = "`test` or `live`", pattern = "^(test|live)$"),
    ),
    request_body(content = Request, content_type = "application/json"),
    responses((status = 201, description = "The URL", body = RedirectUrl))
)]
pub(crate) async fn handle(
    call: Call,
    InWorld(world): InWorld,
    Body(request): Body<Request>,
) -> Result<HttpResponse, Problem> {
    let kind = request.kind.parse()?;
    let url = call
        .run(move |service, by| async move {
            service
                .add_redirect_url(&by, world, kind, &request.url, request.default)
                .await
        })
        .await?;
    etag::created(&RedirectUrlView::from(&url))
}
