//! `GET /readyz`

use std::time::Duration;

use actix_web::web::{Data, Json};
use serde::Serialize;
use utoipa::ToSchema;
use vestry_app::{Fault, Service};
use vestry_domain::envelope::KeyPurpose;
use vestry_edge::{Code, Problem, State};

pub(crate) const ERRORS: &[Code] = &[];

/// How long the database may take to return a connection.
const PATIENCE: Duration = Duration::from_millis(500);

/// Readiness of the process and of its dependencies.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Readiness)]
pub(crate) struct Response {
    /// Always `ok`.
    #[schema(pattern = "^ok$")]
    status: &'static str,
    /// Always `ok`: the database responds and every migration is applied.
    #[schema(pattern = "^ok$")]
    database: &'static str,
    /// State of the wallets' root key: `ok` or `unavailable`. While it is unavailable, sign-in still works. Requests that need a wallet key
    /// that is not in memory fail with 503 `sealed`.
    #[schema(pattern = "^(ok|unavailable)$")]
    vault: &'static str,
    /// Why the wallets' root key is unavailable: `missing`, `unreadable` or `mismatch` (it does not open the keys of this database).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(pattern = "^(missing|unreadable|mismatch)$")]
    vault_reason: Option<&'static str>,
    /// State of the root key of all other secrets: `ok` or `unavailable`. While it is unavailable, sign-in requests that need a key that is
    /// not in memory fail with 503 `sealed`. So does every use of a wallet key, because it cannot be recorded.
    #[schema(pattern = "^(ok|unavailable)$")]
    sign_in_key: &'static str,
    /// Why the root key of all other secrets is unavailable, with the same values.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(pattern = "^(missing|unreadable|mismatch)$")]
    sign_in_key_reason: Option<&'static str>,
    /// Live e-mail delivery: `ok` or `not_configured`.
    #[schema(pattern = "^(ok|not_configured)$")]
    mail: &'static str,
    /// Live SMS delivery: `ok` or `not_configured`.
    #[schema(pattern = "^(ok|not_configured)$")]
    sms: &'static str,
}

/// Check readiness
///
/// Returns 503 while the process shuts down (`param` is `shutdown`). Also returns 503 while the database does not respond within half a
/// second or has pending migrations (`param` is `database`). The same holds while the database is behind `epoch.store` or was not compared
/// with it yet (`param` is `epoch`).
#[utoipa::path(
    get,
    path = "/readyz",
    operation_id = "getReadiness",
    tag = "Health",
    responses((status = 200, description = "The process accepts requests", body = Response))
)]
pub(crate) async fn handle(state: Data<State>) -> Result<Json<Response>, Problem> {
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
        .map_err(|elapsed| unavailable().with_source(elapsed))?
        .map_err(|fault: Fault| unavailable().with_source(fault))?;
    if state.service.is_held_back() {
        return Err(Problem::unavailable("epoch"));
    }
    Ok(Json(Response {
        status: "ok",
        database: "ok",
        vault: state_of(vault),
        vault_reason: vault,
        sign_in_key: state_of(sign_in_key),
        sign_in_key_reason: sign_in_key,
        mail: transport(state.service.has_mailer()),
        sms: transport(state.service.has_sms()),
    }))
}

/// Returns why a root key cannot be used; `None` if it can.
async fn root_key(service: &Service, purpose: KeyPurpose) -> Option<&'static str> {
    match tokio::time::timeout(PATIENCE, service.has_root_key(purpose)).await {
        Ok(Ok(())) => None,
        Ok(Err(trouble)) => Some(trouble.as_str()),
        Err(_too_long) => Some("unreadable"),
    }
}

const fn state_of(trouble: Option<&str>) -> &'static str {
    match trouble {
        None => "ok",
        Some(_) => "unavailable",
    }
}

const fn transport(is_there: bool) -> &'static str {
    if is_there { "ok" } else { "not_configured" }
}
