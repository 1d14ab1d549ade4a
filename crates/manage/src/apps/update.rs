//! `PATCH /v1/manage/apps/{app_id}`

use actix_web::HttpResponse;
use serde::Deserialize;
use utoipa::ToSchema;
use vestry_app::platform::AppChange;
use vestry_domain::ids::AppId;
use vestry_edge::{Body, Code, PathId, Problem};

use crate::apps::App;
use crate::call::Call;
use crate::etag;

pub(crate) const ERRORS: &[Code] = &[
    Code::InvalidField,
    Code::UnknownField,
    Code::NotFound,
    Code::KeyNotAllowed,
];

/// Changes of an App.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = UpdateAppRequest)]
pub(crate) struct Request {
    /// Its new name, 1 to 100 characters.
    #[schema(min_length = 1, max_length = 100)]
    name: Option<String>,
    /// Whether it is disabled. Disabling ends the sessions of all its users; its keys, public tokens and pages then return 403.
    disabled: Option<bool>,
}

/// Rename, disable or enable an App
///
/// An App belongs to both environments, so the key must be for both. Running services follow within a second.
///
/// Needs the scope `apps:write`.
#[utoipa::path(
    patch,
    path = "/v1/manage/apps/{app_id}",
    operation_id = "updateApp",
    tag = "Management",
    params(
        ("app_id" = String, Path, description = "Id of the App", pattern = "^app_[0-9A-Za-z]{27}$"),
    ),
    request_body(content = Request, content_type = "application/json"),
    responses((status = 200, description = "The App", body = App))
)]
pub(crate) async fn handle(
    call: Call,
    PathId(id): PathId<AppId>,
    Body(request): Body<Request>,
) -> Result<HttpResponse, Problem> {
    let change = AppChange {
        name: request.name,
        disabled: request.disabled,
        ..AppChange::default()
    };
    let app = call
        .run(move |service, by| async move { service.change_app(&by, id, change, &|_| true).await })
        .await?;
    etag::object(&App::from(&app))
}
