//! `GET /openapi.json`

use actix_web::HttpResponse;
use actix_web::http::header::CACHE_CONTROL;
use actix_web::web::Data;
use vestry_edge::{Api, Code, Problem};

pub(crate) const ERRORS: &[Code] = &[];

/// Get the API description
///
/// OpenAPI 3.1, generated from the server's code.
#[utoipa::path(
    get,
    path = "/openapi.json",
    operation_id = "getOpenApi",
    tag = "Reference",
    responses((status = 200, description = "The API description", body = Object, content_type = "application/json"))
)]
pub(crate) async fn handle(api: Data<&'static Api>) -> Result<HttpResponse, Problem> {
    let response = HttpResponse::Ok()
        .content_type("application/json")
        .insert_header((CACHE_CONTROL, "public, max-age=300"))
        .body(api.openapi());
    Ok(response)
}
