//! `POST /v1/auth/wallets/registrations/begin`

use actix_web::web::Json;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use vestry_app::wallet_sign_in::BeginWalletSignIn;
use vestry_domain::Invalid;

use crate::body::Body;
use crate::call::Call;
use crate::problem::{Code, Problem};
use crate::shapes::{SigningWalletTypeName, parse_id};

pub(crate) const ERRORS: &[Code] = &[Code::NotFound, Code::Duplicate, Code::Sealed];

/// Whose signature will come.
#[derive(Deserialize, ToSchema)]
#[schema(as = WalletRegistrationRequest)]
pub(crate) struct Request {
    #[schema(value_type = SigningWalletTypeName)]
    wallet_type: String,
    /// The address that will sign. Ethereum: in the mixed case of EIP-55, or all of one case.
    #[schema(min_length = 1, examples("0x2c7536E3605D9C16a7a3D7b1898e529396a65c23"))]
    public_address: String,
    /// The user who gets the wallet. When absent or `""`: the user who has it, or a new one.
    #[schema(pattern = "^(user_[0-9A-Za-z]{27})?$")]
    #[serde(default, deserialize_with = "crate::json::text_or_absent")]
    user_id: Option<String>,
}

impl Request {
    pub(crate) fn command(self) -> Result<BeginWalletSignIn, Invalid> {
        Ok(BeginWalletSignIn {
            wallet_type: self.wallet_type.parse()?,
            public_address: self.public_address,
            user_id: self
                .user_id
                .map(|id| parse_id("user_id", &id))
                .transpose()?,
        })
    }
}

/// Something to sign.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = WalletRegistrationBeginResponse)]
pub(crate) struct Answer {
    #[schema(pattern = "^walletrr_[0-9A-Za-z]{27}$")]
    id: String,
    #[schema(pattern = "^app_[0-9A-Za-z]{27}$")]
    app_id: String,
    /// Who will be signed in. A user that is new exists from the signature on.
    #[schema(pattern = "^user_[0-9A-Za-z]{27}$")]
    user_id: String,
    /// In its canonical form.
    #[schema(min_length = 1)]
    public_address: String,
    #[schema(value_type = SigningWalletTypeName)]
    wallet_type: &'static str,
    /// The text to sign, as it is: with `personal_sign` (EIP-191) or Solana's `signMessage`.
    #[schema(min_length = 1)]
    challenge: String,
    /// From this second on it is worthless.
    expires_at: i64,
    /// Unix seconds.
    created_at: i64,
    /// Unix seconds.
    updated_at: i64,
}

/// Begin signing in with a wallet
///
/// Answers a text for the wallet to sign, good for one `wallets/verify` within ten minutes. Asked again for the same address
/// and user, it may answer the same one. 409 `duplicate` when the address is another user's, or when its key is kept here:
/// such a wallet signs nobody in. 429 `too_many_attempts` when very many were asked for of one address.
///
/// Needs the scope `auth:write`.
#[utoipa::path(
    post,
    path = "/v1/auth/wallets/registrations/begin",
    operation_id = "beginWalletSignIn",
    tag = "Wallet sign-in",
    request_body = Request,
    responses((status = 200, description = "Something to sign", body = Answer))
)]
pub(crate) async fn handle(
    call: Call,
    Body(request): Body<Request>,
) -> Result<Json<Answer>, Problem> {
    let command = request.command()?;
    let challenge = call
        .run(|service, caller| async move { service.begin_wallet_sign_in(&caller, command).await })
        .await?;
    Ok(Json(Answer {
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
