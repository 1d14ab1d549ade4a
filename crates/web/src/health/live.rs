//! `GET /livez`

use serde::Serialize;
use utoipa::ToSchema;
use vestry_edge::{Code, Json, Problem};

pub(crate) const ERRORS: &[Code] = &[];

/// Liveness of the process.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Liveness)]
pub(crate) struct Response {
    /// Always `ok`.
    #[schema(pattern = "^ok$")]
    status: &'static str,
}

/// Check liveness
///
/// The probe does not access the database, so a supervisor never kills a process that merely waits for it.
#[utoipa::path(
    get,
    path = "/livez",
    operation_id = "getLiveness",
    tag = "Health",
    responses((status = 200, description = "The process is alive", body = Response))
)]
pub(crate) async fn handle() -> Result<Json<Response>, Problem> {
    Ok(Json(Response { status: "ok" }))
}
