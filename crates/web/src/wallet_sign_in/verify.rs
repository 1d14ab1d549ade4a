//! `POST /v1/auth/wallets/verify`

use actix_web::web::Json;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use vestry_app::sessions::SessionObject;
use vestry_app::wallet_sign_in::{SignedText, VerifiedWallet, VerifyWallet};

use crate::body::Body;
use crate::call::Call;
use crate::problem::{Code, Problem};
use crate::shapes::{Device, IssuedFields, Session, SessionFields, SigningWalletTypeName};

pub(crate) const ERRORS: &[Code] = &[
    Code::InvalidCredentials,
    Code::InvalidSession,
    Code::NotFound,
    Code::Duplicate,
    Code::Sealed,
];

/// A signature over a challenge, and what shall become of a session.
#[derive(Deserialize, ToSchema)]
#[schema(as = WalletVerifyRequest)]
pub(crate) struct Request {
    #[schema(value_type = SigningWalletTypeName)]
    wallet_type: String,
    /// The address that signed.
    #[schema(min_length = 1)]
    public_address: String,
    /// Over the `challenge`. Ethereum: 65 bytes in hex. Solana: 64 bytes in base58, or in base64 with padding.
    #[schema(min_length = 1)]
    signature: String,
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

/// The wallet that signed, and the session.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = WalletVerifyResponse)]
pub(crate) struct Answer {
    #[schema(pattern = "^wallet_[0-9A-Za-z]{27}$")]
    id: String,
    #[schema(pattern = "^app_[0-9A-Za-z]{27}$")]
    app_id: String,
    /// Who has signed in.
    #[schema(pattern = "^user_[0-9A-Za-z]{27}$")]
    user_id: String,
    /// In its canonical form.
    #[schema(min_length = 1)]
    public_address: String,
    #[schema(value_type = SigningWalletTypeName)]
    wallet_type: &'static str,
    /// True: its holder has proved it.
    verified: bool,
    /// False: calls without a choice use wallets whose keys are here.
    is_default: bool,
    /// True: its key is not here.
    is_read_only: bool,
    is_imported: bool,
    /// Whether it was told to sign nothing.
    is_disabled: bool,
    /// Why; `""` while it is not.
    #[schema(pattern = "^(requested|unproven_origin)?$")]
    disabled_reason: &'static str,
    /// Unix seconds.
    created_at: i64,
    /// Unix seconds.
    updated_at: i64,
    /// `""` when no session was asked for.
    #[schema(pattern = "^([0-9A-Za-z]{64})?$")]
    session_token: String,
    /// `""` when no session was asked for.
    session_jwt: String,
    /// `null` when no session was asked for.
    #[schema(value_type = Option<Session>, required = true)]
    session: Option<SessionObject>,
}

impl From<VerifiedWallet> for Answer {
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
/// A challenge is good once. An address that is new becomes a read-only wallet of its user; for a user who exists already
/// that is a change of credentials: the other sessions end and the user is told. Wrong signatures, and challenges that are
/// used, expired or unknown, get one and the same 401 `invalid_credentials`. A user who is `pending` is refused with 403
/// `insufficient_factor`: an identifier has to be verified first.
///
/// Needs the scope `auth:write`.
#[utoipa::path(
    post,
    path = "/v1/auth/wallets/verify",
    operation_id = "verifyWallet",
    tag = "Wallet sign-in",
    request_body = Request,
    responses((status = 200, description = "The signature was right", body = Answer))
)]
pub(crate) async fn handle(
    call: Call,
    Body(request): Body<Request>,
) -> Result<Json<Answer>, Problem> {
    let command = VerifyWallet {
        wallet_type: request.wallet_type.parse()?,
        public_address: request.public_address,
        signature: request.signature,
        text: SignedText::Challenge,
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
