//! `GET /readyz`

use std::time::Duration;

use actix_web::web::{Data, Json};
use serde::Serialize;
use utoipa::ToSchema;
use vestry_app::{Fault, Service};
use vestry_domain::envelope::KeyPurpose;

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
    /// `ok` or `unavailable`: the root key of wallets. Without it the service works with what it has in memory, and answers 503
    /// `sealed` to what needs another key of wallets. Sign-in goes on.
    #[schema(pattern = "^(ok|unavailable)$")]
    vault: &'static str,
    /// `ok` or `unavailable`: the root key of everything else that is kept secret. Without it, the same happens to sign-in, and
    /// whatever uses a key of a wallet, which could not be noted.
    #[schema(pattern = "^(ok|unavailable)$")]
    sign_in_key: &'static str,
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
        tokio::join!(
            tokio::time::timeout(PATIENCE, service.ready()),
            root_key(&service, KeyPurpose::Wallets),
            root_key(&service, KeyPurpose::Secrets),
        )
    });
    let (database, vault, sign_in_key) = asked.await?;
    let unavailable = || Problem::unavailable("database");
    database
        .map_err(|elapsed| unavailable().because(elapsed))?
        .map_err(|fault: Fault| unavailable().because(fault))?;
    Ok(Json(Answer {
        status: "ok",
        database: "ok",
        vault,
        sign_in_key,
        mail: transport(state.service.has_mailer()),
        sms: transport(state.service.has_sms()),
    }))
}

async fn root_key(service: &Service, purpose: KeyPurpose) -> &'static str {
    let answered = tokio::time::timeout(PATIENCE, service.has_root_key(purpose)).await;
    match answered {
        Ok(Ok(())) => "ok",
        Ok(Err(_)) | Err(_) => "unavailable",
    }
}

const fn transport(is_there: bool) -> &'static str {
    if is_there { "ok" } else { "not_configured" }
}
