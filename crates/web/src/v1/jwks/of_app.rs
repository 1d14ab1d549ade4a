//! `GET /v1/auth/jwks/{app_id}`

use actix_web::HttpResponse;
use actix_web::http::header::CACHE_CONTROL;
use actix_web::web::Data;
use serde::Deserialize;
use utoipa::IntoParams;
use vestry_domain::Environment;
use vestry_domain::ids::AppId;
use vestry_edge::{Code, PathId, Problem, Query, State};

use super::KeySet;

pub(crate) const ERRORS: &[Code] = &[Code::InvalidField, Code::NotFound];

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct Filter {
    /// Limits the set to the keys of one environment: `test` or `live`. By default it has the keys of both; the `aud` claim of a token
    /// names its environment.
    #[param(pattern = "^(test|live)$", nullable = false)]
    environment: Option<String>,
}

/// Get the key set of an App
///
/// The public keys that verify an App's session JWTs. The call needs no key and is open to pages of any origin.
///
/// A new key is in every response two minutes after it was created and starts to sign after five. A verifier that refetches the set when it
/// meets an unknown `kid` therefore never fails.
#[utoipa::path(
    get,
    path = "/v1/auth/jwks/{app_id}",
    operation_id = "getKeySet",
    tag = "Key sets",
    params(
        ("app_id" = String, Path, description = "Id of the App", pattern = "^app_[0-9A-Za-z]{27}$"),
        Filter
    ),
    responses((status = 200, description = "The key set", body = KeySet))
)]
pub(crate) async fn handle(
    state: Data<State>,
    PathId(app_id): PathId<AppId>,
    Query(filter): Query<Filter>,
) -> Result<HttpResponse, Problem> {
    let environment = filter
        .environment
        .map(|name| name.parse::<Environment>())
        .transpose()?;
    let keys = state
        .service
        .run(move |service| async move { service.public_key_set(app_id, environment).await })
        .await??;
    // Shorter than the time for which a new key is published before it signs.
    let response = HttpResponse::Ok()
        .insert_header((CACHE_CONTROL, "public, max-age=60"))
        .json(KeySet { keys });
    Ok(response)
}
