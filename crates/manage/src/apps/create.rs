//! `POST /v1/manage/apps`

use actix_web::HttpResponse;
use serde::Deserialize;
use utoipa::ToSchema;
use vestry_edge::{Body, Code, Problem};

use crate::apps::App;
use crate::call::Call;
use crate::etag;

pub(crate) const ERRORS: &[Code] = &[
    Code::InvalidField,
    Code::UnknownField,
    Code::MissingField,
    Code::KeyNotAllowed,
    Code::LimitReached,
];

/// A new App.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = CreateAppRequest)]
pub(crate) struct Request {
    /// Its name, 1 to 100 characters. It appears in the subjects of e-mails.
    #[schema(min_length = 1, max_length = 100, examples("Shop"))]
    name: String,
}

/// Create an App
///
/// The App begins with default settings, a signing key in each environment, and no API key. The key must be for all Apps.
///
/// Needs the scope `apps:write`.
#[utoipa::path(
    post,
    path = "/v1/manage/apps",
    operation_id = "createApp",
    tag = "Management",
    request_body(content = Request, content_type = "application/json"),
    responses((status = 201, description = "The new App", body = App))
)]
pub(crate) async fn handle(
    call: Call,
    Body(request): Body<Request>,
) -> Result<HttpResponse, Problem> {
    let app = call
        .run(move |service, by| async move { service.create_app(&by, &request.name).await })
        .await?;
    etag::created(&App::from(&app))
}
