//! `POST /v1/manage/apps/{app_id}/{environment}/sessions/end_all`

use actix_web::HttpResponse;
use vestry_domain::action::Action;
use vestry_edge::{Code, Problem};

use crate::call::Call;
use crate::place::InWorld;
use crate::sessions::Ended;

pub(crate) const ERRORS: &[Code] = &[Code::NotFound, Code::KeyNotAllowed];

/// End all sessions of an environment
///
/// Every user of the App has to sign in again.
///
/// Needs the scope `sessions:write`.
#[utoipa::path(
    post,
    path = "/v1/manage/apps/{app_id}/{environment}/sessions/end_all",
    operation_id = "endAllSessions",
    tag = "Management",
    params(
        ("app_id" = String, Path, description = "Id of the App", pattern = "^app_[0-9A-Za-z]{27}$"),
        ("environment" = String, Path, description = "`test` or `live`", pattern = "^(test|live)$"),
    ),
    responses((status = 200, description = "The number of ended sessions", body = Ended))
)]
pub(crate) async fn handle(call: Call, InWorld(world): InWorld) -> Result<HttpResponse, Problem> {
    let ended = call
        .run(move |service, by| async move {
            let action = Action::DeleteEverySession;
            let caller = service.caller_for(action, &by, world).await?;
            service.delete_every_session(&caller).await
        })
        .await?;
    Ok(HttpResponse::Ok().json(Ended { ended }))
}
