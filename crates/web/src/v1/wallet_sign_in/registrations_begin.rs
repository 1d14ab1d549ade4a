//! `POST /v1/auth/wallets/registrations/begin`

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use vestry_app::identity::wallet_sign_in::BeginWalletSignIn;
use vestry_domain::Invalid;
use vestry_edge::{Body, Call, Code, Json, Problem};

use crate::v1::shapes::{SigningWalletTypeName, optional_id};

pub(crate) const ERRORS: &[Code] = &[Code::NotFound, Code::Duplicate, Code::Sealed];

/// The wallet that will sign.
#[derive(Deserialize, ToSchema)]
#[schema(as = WalletRegistrationRequest)]
pub(crate) struct Request {
    #[schema(value_type = SigningWalletTypeName)]
    wallet_type: String,
    /// Address of the wallet. Ethereum: in EIP-55 mixed case, or all in one case.
    #[schema(min_length = 1, examples("0x2c7536E3605D9C16a7a3D7b1898e529396a65c23"))]
    public_address: String,
    /// Id of the user that gets the wallet. If absent or `""`, it is the user who already has it, or a new one.
    #[schema(pattern = "^(user_[0-9A-Za-z]{27})?$")]
    #[serde(default, deserialize_with = "vestry_edge::json::text_or_absent")]
    user_id: Option<String>,
}

impl Request {
    pub(crate) fn command(self) -> Result<BeginWalletSignIn, Invalid> {
        Ok(BeginWalletSignIn {
            wallet_type: self.wallet_type.parse()?,
            public_address: self.public_address,
            user_id: optional_id("user_id", self.user_id)?,
        })
    }
}

/// A challenge to sign.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = WalletRegistrationBeginResponse)]
pub(crate) struct Response {
    /// Id of the challenge.
    #[schema(pattern = "^walletrr_[0-9A-Za-z]{27}$")]
    id: String,
    /// Id of the App.
    #[schema(pattern = "^app_[0-9A-Za-z]{27}$")]
    app_id: String,
    /// Id of the user who will be signed in. A new user is created once the signature is verified.
    #[schema(pattern = "^user_[0-9A-Za-z]{27}$")]
    user_id: String,
    /// Address of the wallet, in canonical form.
    #[schema(min_length = 1)]
    public_address: String,
    #[schema(value_type = SigningWalletTypeName)]
    wallet_type: &'static str,
    /// The text to sign without changes, with `personal_sign` (EIP-191) or Solana's `signMessage`.
    #[schema(min_length = 1)]
    challenge: String,
    /// When the challenge expires, in Unix seconds.
    expires_at: i64,
    /// When the challenge was created, in Unix seconds.
    created_at: i64,
    /// Same as `created_at`, in Unix seconds.
    updated_at: i64,
}

/// Begin a sign-in with a wallet
///
/// Returns a text for the wallet to sign, valid for one `wallets/verify` within ten minutes. A repeated call for the same address and user
/// can return the same text.
///
/// Returns 409 `duplicate` if the address belongs to another user, or if its key is held by this service: such a wallet cannot be used to
/// sign in. Returns 429 `too_many_attempts` after too many calls for one address.
///
/// Needs the scope `auth:write`.
#[utoipa::path(
    post,
    path = "/v1/auth/wallets/registrations/begin",
    operation_id = "beginWalletSignIn",
    tag = "Wallet sign-in",
    request_body = Request,
    responses((status = 200, description = "The text to sign", body = Response))
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
        app_id: challenge.world.app_id.to_string(),
        user_id: challenge.user_id.to_string(),
        public_address: challenge.public_address,
        wallet_type: challenge.wallet_type.as_str(),
        challenge: challenge.text,
        expires_at: challenge.expires_at.unix(),
        created_at: challenge.created_at.unix(),
        updated_at: challenge.created_at.unix(),
    }))
}
