//! `GET /readyz`

use std::time::Duration;

use actix_web::web::{Data, Json};
use serde::Serialize;
use utoipa::ToSchema;
use vestry_app::Fault;

use crate::problem::{Code, Problem};
use crate::state::State;

pub(crate) const ERRORS: &[Code] = &[];

/// How long the database may take to give a connection.
const PATIENCE: Duration = Duration::from_millis(500);

/// The process takes requests.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Readiness)]
pub(crate) struct Answer {
    /// Always `ok`.
    #[schema(pattern = "^ok$")]
    status: &'static str,
    /// `ok`: it answers and every migration is applied.
    #[schema(pattern = "^ok$")]
    database: &'static str,
    /// `ok` or `unavailable`. Without its key provider the service works with the keys that it has in memory, for an hour, and
    /// answers 503 `sealed` to what needs others.
    #[schema(pattern = "^(ok|unavailable)$")]
    vault: &'static str,
    /// `ok` or `not_configured`: whether live mail can be sent.
    #[schema(pattern = "^(ok|not_configured)$")]
    mail: &'static str,
    /// `ok` or `not_configured`: whether live text messages can be sent.
    #[schema(pattern = "^(ok|not_configured)$")]
    sms: &'static str,
}

/// Does the process take requests?
///
/// 503 while it shuts down (`param` is `shutdown`), while the database does not answer within half a second, or while
/// migrations are missing (`param` is `database`).
#[utoipa::path(
    get,
    path = "/readyz",
    operation_id = "getReadiness",
    tag = "Health",
    responses((status = 200, description = "It does", body = Answer))
)]
pub(crate) async fn handle(state: Data<State>) -> Result<Json<Answer>, Problem> {
    if state.settings.draining.has_begun() {
        return Err(Problem::unavailable("shutdown"));
    }
    let asked = state.service.run(|service| async move {
        let database = tokio::time::timeout(PATIENCE, service.ready()).await;
        let vault = tokio::time::timeout(PATIENCE, service.vault_is_open()).await;
        (database, vault.unwrap_or(false))
    });
    let (database, vault_is_open) = asked.await?;
    let unavailable = || Problem::unavailable("database");
    database
        .map_err(|elapsed| unavailable().because(elapsed))?
        .map_err(|fault: Fault| unavailable().because(fault))?;
    Ok(Json(Answer {
        status: "ok",
        database: "ok",
        vault: if vault_is_open { "ok" } else { "unavailable" },
        mail: transport(state.service.has_mailer()),
        sms: transport(state.service.has_sms()),
    }))
}

const fn transport(is_there: bool) -> &'static str {
    if is_there { "ok" } else { "not_configured" }
}
