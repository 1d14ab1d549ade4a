//! `POST /v1/auth/wallets/verify`

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use vestry_app::identity::wallet_sign_in::{SignedText, VerifiedWallet, VerifyWallet};
use vestry_edge::{Body, Call, Code, Json, Problem};

use crate::v1::shapes::{
    Device, IssuedFields, SigningWalletTypeName, request_with_session, response_with_session,
    session_fields,
};

pub(crate) const ERRORS: &[Code] = &[
    Code::InvalidCredentials,
    Code::InvalidSession,
    Code::NotFound,
    Code::Duplicate,
    Code::Sealed,
];

request_with_session! {
    /// The signature to verify, and how to handle the session.
    #[derive(Deserialize, ToSchema)]
    #[schema(as = WalletVerifyRequest)]
    pub(crate) struct Request {
        #[schema(value_type = SigningWalletTypeName)]
        wallet_type: String,
        /// Address of the wallet that signed.
        #[schema(min_length = 1)]
        public_address: String,
        /// Signature of the `challenge`. Ethereum: 65 bytes in hex. Solana: 64 bytes in base58, or in base64 with padding.
        #[schema(min_length = 1)]
        signature: String,
    }
}

response_with_session! {
    /// The wallet that signed, and the session if one was requested.
    #[derive(Serialize, ToSchema)]
    #[serde(deny_unknown_fields)]
    #[schema(as = WalletVerifyResponse)]
    pub(crate) struct Response {
        /// Id of the wallet.
        #[schema(pattern = "^wallet_[0-9A-Za-z]{27}$")]
        id: String,
        /// Id of the App.
        #[schema(pattern = "^app_[0-9A-Za-z]{27}$")]
        app_id: String,
        /// Id of the user who signed in.
        #[schema(pattern = "^user_[0-9A-Za-z]{27}$")]
        user_id: String,
        /// Address of the wallet, in canonical form.
        #[schema(min_length = 1)]
        public_address: String,
        #[schema(value_type = SigningWalletTypeName)]
        wallet_type: &'static str,
        /// Always true, because the signature proves control of the address.
        verified: bool,
        /// Always false, because the default wallet of a type is one whose key is held by the service.
        is_default: bool,
        /// Always true, because its key is not held by the service.
        is_read_only: bool,
        /// Whether its key was imported.
        is_imported: bool,
        /// Whether the wallet is disabled and cannot sign.
        is_disabled: bool,
        /// Why the wallet is disabled: `requested` or `unproven_origin`; `""` if it is not.
        #[schema(pattern = "^(requested|unproven_origin)?$")]
        disabled_reason: &'static str,
        /// When the wallet was created, in Unix seconds.
        created_at: i64,
        /// When the wallet was last changed, in Unix seconds.
        updated_at: i64,
    }
}

impl From<VerifiedWallet> for Response {
    fn from(verified: VerifiedWallet) -> Self {
        let issued = IssuedFields::from(verified.issued);
        let wallet = verified.wallet;
        Self {
            id: wallet.id.to_string(),
            app_id: wallet.world.app_id.to_string(),
            user_id: wallet.user_id.to_string(),
            public_address: wallet.public_address,
            wallet_type: wallet.wallet_type.as_str(),
            verified: wallet.verified,
            is_default: wallet.is_default,
            is_read_only: wallet.is_read_only,
            is_imported: wallet.is_imported,
            is_disabled: wallet.disabled.is_some(),
            disabled_reason: wallet
                .disabled
                .map_or("", |disabled| disabled.reason.as_str()),
            created_at: wallet.created_at.unix(),
            updated_at: wallet.updated_at.unix(),
            session_token: issued.session_token,
            session_jwt: issued.session_jwt,
            session: issued.session,
        }
    }
}

/// Verify a wallet's signature
///
/// A challenge can be used once. Wrong signatures and used, expired or unknown challenges all return the same 401 `invalid_credentials`.
///
/// A new address becomes a read-only wallet of its user. For an existing user this is a change of credentials: the other sessions end and
/// the user is notified.
///
/// A `pending` user gets 403 `insufficient_factor` and must verify an identifier first.
///
/// Needs the scope `auth:write`.
#[utoipa::path(
    post,
    path = "/v1/auth/wallets/verify",
    operation_id = "verifyWallet",
    tag = "Wallet sign-in",
    request_body = Request,
    responses((status = 200, description = "The signature was valid", body = Response))
)]
pub(crate) async fn handle(
    call: Call,
    Body(request): Body<Request>,
) -> Result<Json<Response>, Problem> {
    let command = VerifyWallet {
        wallet_type: request.wallet_type.parse()?,
        public_address: request.public_address,
        signature: request.signature,
        text: SignedText::Challenge,
        session_fields: session_fields!(request),
        device_fingerprint: Device::check_or_default(request.device_fingerprint)?,
    };
    let verified = call
        .run(|service, caller| async move { service.verify_wallet_sign_in(&caller, command).await })
        .await?;
    Ok(Json(verified.into()))
}
