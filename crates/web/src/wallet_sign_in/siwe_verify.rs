//! `POST /v1/auth/wallets/siwe/verify`

use actix_web::web::Json;
use serde::Deserialize;
use utoipa::ToSchema;
use vestry_app::wallet_sign_in::{SignedText, VerifyWallet};

use super::verify;
use crate::body::Body;
use crate::call::Call;
use crate::problem::{Code, Problem};
use crate::shapes::{Device, SessionFields, SigningWalletTypeName};

pub(crate) const ERRORS: &[Code] = verify::ERRORS;

/// A signature over a sign-in message, and what shall become of a session.
#[derive(Deserialize, ToSchema)]
#[schema(as = SiweVerifyRequest)]
pub(crate) struct Request {
    #[schema(value_type = SigningWalletTypeName)]
    wallet_type: String,
    /// The address that signed.
    #[schema(min_length = 1)]
    public_address: String,
    /// Over the message. Ethereum: 65 bytes in hex. Solana: 64 bytes in base58, or in base64 with padding.
    #[schema(min_length = 1)]
    signature: String,
    /// The message, to the letter as it was signed: EIP-4361, or its Solana form.
    #[schema(min_length = 1, max_length = 8192)]
    siwe_challenge: String,
    /// Minutes. Without a session in the request: start one that long. With one: it ends that long from now.
    #[schema(minimum = 5, maximum = 525_600, examples(60))]
    session_expires_in: Option<i64>,
    /// A session of the same user; the new factor is added to it and it gets a fresh token.
    #[serde(default, deserialize_with = "crate::json::text_or_absent")]
    session_token: Option<String>,
    /// The same, by one of its JWTs.
    #[serde(default, deserialize_with = "crate::json::text_or_absent")]
    session_jwt: Option<String>,
    /// Strings that the session and its JWTs carry for the App; none when absent, as before in a continued session.
    #[schema(max_items = 50)]
    permissions: Option<Vec<String>>,
    /// The end user's device.
    device_fingerprint: Option<Device>,
}

/// Verify a sign-in message
///
/// Checks the message whole: its form, a domain and URI on the App's list `siwe_domains`, the address, version, chain, times,
/// and a nonce of this service for this address, which is good once. What is wrong with the message is 400 `invalid_field`
/// for `siwe_challenge`; everything else is as in the verify call.
///
/// Needs the scope `auth:write`.
#[utoipa::path(
    post,
    path = "/v1/auth/wallets/siwe/verify",
    operation_id = "verifySiwe",
    tag = "Wallet sign-in",
    request_body = Request,
    responses((status = 200, description = "The signature was right", body = verify::Answer))
)]
pub(crate) async fn handle(
    call: Call,
    Body(request): Body<Request>,
) -> Result<Json<verify::Answer>, Problem> {
    let command = VerifyWallet {
        wallet_type: request.wallet_type.parse()?,
        public_address: request.public_address,
        signature: request.signature,
        text: SignedText::SignInMessage(request.siwe_challenge),
        session_fields: SessionFields {
            session_expires_in: request.session_expires_in,
            session_token: request.session_token,
            session_jwt: request.session_jwt,
            permissions: request.permissions,
        }
        .into(),
        device_fingerprint: Device::check_or_default(request.device_fingerprint)?,
    };
    let verified = call
        .run(|service, caller| async move { service.verify_wallet_sign_in(&caller, command).await })
        .await?;
    Ok(Json(verified.into()))
}
