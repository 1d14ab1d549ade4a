//! `POST /v1/wallets/{wallet_id}/export`

use actix_web::web::Json;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use vestry_app::wallets::ExportWallet;
use vestry_domain::Invalid;
use vestry_domain::ids::WalletId;

use super::HPKE;
use crate::binary::{from_base64, to_base64};
use crate::body::Body;
use crate::call::Call;
use crate::path::PathId;
use crate::problem::{Code, Problem};

pub(crate) const ERRORS: &[Code] = &[
    Code::FeatureDisabled,
    Code::NotFound,
    Code::WalletReadOnly,
    Code::WalletDisabled,
    Code::Sealed,
];

/// To whom.
#[derive(Deserialize, ToSchema)]
#[schema(as = ExportWalletRequest)]
pub(crate) struct Request {
    /// Base64 of an X25519 public key, 32 bytes.
    #[schema(
        min_length = 1,
        examples("J/I7TsQKuVyGAKB8Qx1P2Pf9bB5bP3iNf+Cq0wXo1mE=")
    )]
    recipient_public_key: String,
    /// `private_key`: phrases are not kept.
    #[schema(pattern = "^private_key$", examples("private_key"))]
    entropy_type: String,
}

impl Request {
    fn command(self, wallet_id: WalletId) -> Result<ExportWallet, Invalid> {
        Ok(ExportWallet {
            wallet_id,
            recipient_public_key: from_base64("recipient_public_key", &self.recipient_public_key)?,
            entropy_type: self.entropy_type.parse()?,
        })
    }
}

/// The private key, sealed.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ExportWalletResponse)]
pub(crate) struct Answer {
    #[schema(pattern = "^HPKE$")]
    encryption_type: &'static str,
    /// Base64 of ciphertext and tag. In it: 32 bytes for Ethereum, Bitcoin and Stellar, 64 for Solana (seed and public key),
    /// 32 or 64 for Polkadot (mini secret or expanded secret).
    #[schema(min_length = 1)]
    ciphertext: String,
    /// Base64 of the service's half of the agreement, 32 bytes.
    #[schema(min_length = 44, max_length = 44)]
    encapsulated_key: String,
}

/// Export a private key
///
/// Seals the wallet's private key to a public key of the caller, by HPKE (RFC 9180): mode base,
/// DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, ChaCha20-Poly1305, empty `info` and `aad`. The wallet stays as it is.
/// 403 `feature_disabled` unless the App's setting `wallet_export` allows it.
///
/// Needs the scope `wallets:export`, which a key has only when it was asked for by name.
#[utoipa::path(
    post,
    path = "/v1/wallets/{wallet_id}/export",
    operation_id = "exportWallet",
    tag = "Wallets",
    params(("wallet_id" = String, Path, description = "Id of the wallet", pattern = "^wallet_[0-9A-Za-z]{27}$")),
    request_body = Request,
    responses((status = 200, description = "The sealed key", body = Answer))
)]
pub(crate) async fn handle(
    call: Call,
    PathId(wallet_id): PathId<WalletId>,
    Body(request): Body<Request>,
) -> Result<Json<Answer>, Problem> {
    let command = request.command(wallet_id)?;
    let exported = call
        .run(|service, caller| async move { service.export_wallet(&caller, command).await })
        .await?;
    Ok(Json(Answer {
        encryption_type: HPKE,
        ciphertext: to_base64(&exported.ciphertext),
        encapsulated_key: to_base64(&exported.encapsulated_key),
    }))
}
