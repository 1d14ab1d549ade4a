//! `GET /v1/manage/status`

use actix_web::HttpResponse;
use vestry_edge::{Code, Problem};

use crate::call::Call;
use crate::status::Status;

pub(crate) const ERRORS: &[Code] = &[Code::KeyNotAllowed];

/// Get the state of the deployment
///
/// The key must be for all Apps and both environments.
///
/// Needs the scope `apps:read`.
#[utoipa::path(
    get,
    path = "/v1/manage/status",
    operation_id = "getDeploymentStatus",
    tag = "Management",
    responses((status = 200, description = "The state of the deployment", body = Status))
)]
pub(crate) async fn handle(call: Call) -> Result<HttpResponse, Problem> {
    let status = call.run(|service, by| async move { service.deployment_status(&by).await });
    Ok(HttpResponse::Ok().json(Status::from(status.await?)))
}
