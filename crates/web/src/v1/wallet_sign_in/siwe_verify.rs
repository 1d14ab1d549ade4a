//! `POST /v1/auth/wallets/siwe/verify`

use serde::Deserialize;
use utoipa::ToSchema;
use vestry_app::identity::wallet_sign_in::{SignedText, VerifyWallet};
use vestry_edge::{Body, Call, Code, Json, Problem};

use super::verify;
use crate::v1::shapes::{Device, SigningWalletTypeName, request_with_session, session_fields};

pub(crate) const ERRORS: &[Code] = verify::ERRORS;

request_with_session! {
    /// The signed sign-in message to verify, and how to handle the session.
    #[derive(Deserialize, ToSchema)]
    #[schema(as = SiweVerifyRequest)]
    pub(crate) struct Request {
        #[schema(value_type = SigningWalletTypeName)]
        wallet_type: String,
        /// Address of the wallet that signed.
        #[schema(min_length = 1)]
        public_address: String,
        /// Signature of the message. Ethereum: 65 bytes in hex. Solana: 64 bytes in base58, or in base64 with padding.
        #[schema(min_length = 1)]
        signature: String,
        /// The message exactly as it was signed (EIP-4361 or its Solana variant), at most 8,192 characters.
        #[schema(min_length = 1, max_length = 8192)]
        siwe_challenge: String,
    }
}

/// Verify a sign-in message
///
/// Checks the complete message: its form, domain and URI (which must be listed in the App's `siwe_domains`), address, version, chain and
/// times. The nonce must have been issued by this service for this address, and can be used once.
///
/// An invalid message returns 400 `invalid_field` for `siwe_challenge`. Other errors are those of `wallets/verify`.
///
/// Needs the scope `auth:write`.
#[utoipa::path(
    post,
    path = "/v1/auth/wallets/siwe/verify",
    operation_id = "verifySiwe",
    tag = "Wallet sign-in",
    request_body = Request,
    responses((status = 200, description = "The signature was valid", body = verify::Response))
)]
pub(crate) async fn handle(
    call: Call,
    Body(request): Body<Request>,
) -> Result<Json<verify::Response>, Problem> {
    let command = VerifyWallet {
        wallet_type: request.wallet_type.parse()?,
        public_address: request.public_address,
        signature: request.signature,
        text: SignedText::SignInMessage(request.siwe_challenge),
        session_fields: session_fields!(request),
        device_fingerprint: Device::check_or_default(request.device_fingerprint)?,
    };
    let verified = call
        .run(|service, caller| async move { service.verify_wallet_sign_in(&caller, command).await })
        .await?;
    Ok(Json(verified.into()))
}
