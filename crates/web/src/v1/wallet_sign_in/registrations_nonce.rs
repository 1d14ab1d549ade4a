//! `POST /v1/auth/wallets/registrations/nonce`

use serde::Serialize;
use utoipa::ToSchema;
use vestry_edge::{Body, Call, Code, Json, Problem};

use super::registrations_begin::Request;

pub(crate) const ERRORS: &[Code] = super::registrations_begin::ERRORS;

/// A nonce for a sign-in message.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = WalletNonceResponse)]
pub(crate) struct Response {
    /// Id of the challenge.
    #[schema(pattern = "^walletrr_[0-9A-Za-z]{27}$")]
    id: String,
    /// Id of the user who will be signed in.
    #[schema(pattern = "^user_[0-9A-Za-z]{27}$")]
    user_id: String,
    /// Value for the `Nonce` field of the message.
    #[schema(pattern = "^[0-9A-Za-z]{24}$")]
    nonce: String,
    /// Whether no user has the address yet. The user is then created with this `user_id` once the signature is verified.
    user_created: bool,
}

/// Get a nonce for a sign-in message
///
/// For standard sign-in messages (EIP-4361 and its Solana variant), which the App composes itself. The nonce is valid for one
/// `wallets/siwe/verify` within ten minutes.
///
/// Errors are those of `wallets/registrations/begin`.
///
/// Needs the scope `auth:write`.
#[utoipa::path(
    post,
    path = "/v1/auth/wallets/registrations/nonce",
    operation_id = "getWalletNonce",
    tag = "Wallet sign-in",
    request_body = Request,
    responses((status = 200, description = "The nonce", body = Response))
)]
pub(crate) async fn handle(
    call: Call,
    Body(request): Body<Request>,
) -> Result<Json<Response>, Problem> {
    let command = request.command()?;
    let challenge = call
        .run(|service, caller| async move { service.begin_wallet_sign_in(&caller, command).await })
        .await?;
    Ok(Json(Response {
        id: challenge.id.to_string(),
        user_id: challenge.user_id.to_string(),
        nonce: challenge.nonce,
        user_created: challenge.is_new_user,
    }))
}
