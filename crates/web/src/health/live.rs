//! `GET /livez`

use actix_web::web::Json;
use serde::Serialize;
use utoipa::ToSchema;

use crate::http::{Code, Problem};

pub(crate) const ERRORS: &[Code] = &[];

/// Liveness of the process.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Liveness)]
pub(crate) struct Answer {
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
    responses((status = 200, description = "The process is alive", body = Answer))
)]
pub(crate) async fn handle() -> Result<Json<Answer>, Problem> {
    Ok(Json(Answer { status: "ok" }))
}
