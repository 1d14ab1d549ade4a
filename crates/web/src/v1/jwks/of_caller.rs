//! `GET /v1/auth/jwks/default`

use vestry_edge::{Call, Code, Json, Problem};

use super::KeySet;

pub(crate) const ERRORS: &[Code] = &[];

/// Get the key set of the calling App
///
/// The public keys that verify session JWTs of the App and environment that the API key belongs to.
///
/// JWT libraries that can only fetch a URL can send the key as `?api_key=`. Prefer `GET /v1/auth/jwks/{app_id}`, which needs no key.
#[utoipa::path(
    get,
    path = "/v1/auth/jwks/default",
    operation_id = "getDefaultKeySet",
    tag = "Key sets",
    responses((status = 200, description = "The key set", body = KeySet))
)]
pub(crate) async fn handle(call: Call) -> Result<Json<KeySet>, Problem> {
    let keys = call
        .run(|service, caller| async move { service.key_set(&caller).await })
        .await?;
    Ok(Json(KeySet { keys }))
}
