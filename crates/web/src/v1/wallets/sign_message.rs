//! `POST /v1/wallets/{wallet_id}/sign_message`

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use vestry_app::wallets::SignMessage;
use vestry_domain::ids::WalletId;
use vestry_domain::signing::MessageRequest;
use vestry_edge::{Body, Call, Code, Json, PathId, Problem};

use crate::v1::shapes::Wallet;
use crate::v1::wallets::UNSIGNED;

pub(crate) const ERRORS: &[Code] = &[
    Code::InvalidSession,
    Code::MessageIsTransaction,
    Code::NotFound,
    Code::WalletReadOnly,
    Code::WalletDisabled,
    Code::Sealed,
];

/// The message to sign.
#[derive(Deserialize, ToSchema)]
#[schema(as = SignMessageRequest)]
pub(crate) struct Request {
    /// The message, at most 64 KiB. Without `encoding` it is signed as UTF-8 text, even if it begins with `0x`.
    #[schema(examples("test"))]
    message: String,
    /// Encoding of `message`: `utf-8` (default), `hex`, `base64` or `base58`.
    #[schema(pattern = "^(utf-8|hex|base64|base58)$", examples("utf-8"))]
    encoding: Option<String>,
    /// Bitcoin only: `bip322` (default), `bip322-unprefixed`, `bip137`, or `electrum` for the other header byte of `bip137`.
    #[schema(pattern = "^(bip322|bip322-unprefixed|bip137|electrum)$")]
    format: Option<String>,
}

/// A signature, verified before it is returned.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = SignMessageResponse)]
pub(crate) struct Response {
    /// Id of the wallet.
    #[schema(pattern = "^wallet_[0-9A-Za-z]{27}$")]
    wallet_id: String,
    wallet: Wallet,
    /// The signature. Ethereum: `0x` and 65 bytes in hex (r, s, and v of 27 or 28). Other chains: in the format given by `encoding`.
    #[schema(min_length = 1)]
    signature: String,
    /// Format of the signature, for chains other than Ethereum: `base58`, `base64` or `hex`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    encoding: Option<String>,
    /// Bitcoin, format `bip322`: the signature without the three-letter prefix, which the standard requires but many verifiers reject.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    signature_unprefixed: Option<String>,
}

/// Sign a message
///
/// Signs by the standard of the wallet's chain. Ethereum uses EIP-191 version 0x45 (`personal_sign`), whose prefix ensures that a message
/// can never be a transaction.
///
/// Needs the scope `wallets:sign`.
#[utoipa::path(
    post,
    path = "/v1/wallets/{wallet_id}/sign_message",
    operation_id = "signMessage",
    tag = "Wallets",
    params(("wallet_id" = String, Path, description = "Id of the wallet", pattern = "^wallet_[0-9A-Za-z]{27}$")),
    request_body = Request,
    responses((status = 200, description = "The signature", body = Response))
)]
pub(crate) async fn handle(
    call: Call,
    PathId(wallet_id): PathId<WalletId>,
    Body(request): Body<Request>,
) -> Result<Json<Response>, Problem> {
    let command = SignMessage {
        wallet_id,
        request: MessageRequest {
            message: request.message,
            encoding: request.encoding,
            format: request.format,
        },
    };
    let signed = call.sign(command).await?;
    let text = |name: &str| signed.signed.text(name).map(str::to_owned);
    Ok(Json(Response {
        wallet_id: wallet_id.to_string(),
        signature: text("signature").ok_or_else(|| Problem::internal(UNSIGNED))?,
        encoding: text("encoding"),
        signature_unprefixed: text("signature_unprefixed"),
        wallet: signed.wallet.into(),
    }))
}
