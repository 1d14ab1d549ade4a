//! `GET /livez`

use actix_web::web::Json;
use serde::Serialize;
use utoipa::ToSchema;

use crate::problem::{Code, Problem};

pub(crate) const ERRORS: &[Code] = &[];

/// The process is alive.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Liveness)]
pub(crate) struct Answer {
    /// Always `ok`.
    #[schema(pattern = "^ok$")]
    status: &'static str,
}

/// Is the process alive?
///
/// Asks nothing of the database: a process that waits for it must not be killed for it.
#[utoipa::path(
    get,
    path = "/livez",
    operation_id = "getLiveness",
    tag = "Health",
    responses((status = 200, description = "It is", body = Answer))
)]
pub(crate) async fn handle() -> Result<Json<Answer>, Problem> {
    Ok(Json(Answer { status: "ok" }))
}
