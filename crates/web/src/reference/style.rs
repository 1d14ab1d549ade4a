//! `GET /docs/style.css`

use actix_web::HttpResponse;
use actix_web::http::header::CACHE_CONTROL;
use vestry_edge::{Code, Problem};

pub(crate) const ERRORS: &[Code] = &[];

/// Get the style sheet of the reference page
///
/// A separate file, so that the page needs no inline styles and its content security policy can forbid them.
#[utoipa::path(
    get,
    path = "/docs/style.css",
    operation_id = "getDocsStyle",
    tag = "Reference",
    responses((status = 200, description = "The style sheet", body = String, content_type = "text/css"))
)]
pub(crate) async fn handle() -> Result<HttpResponse, Problem> {
    let response = HttpResponse::Ok()
        .content_type("text/css; charset=utf-8")
        .insert_header((CACHE_CONTROL, "public, max-age=300"))
        .body(include_str!("style.css"));
    Ok(response)
}
