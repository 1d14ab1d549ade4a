//! `POST /v1/wallets/{wallet_id}/export`

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use vestry_app::wallets::ExportWallet;
use vestry_domain::Invalid;
use vestry_domain::ids::WalletId;
use vestry_edge::binary::{from_base64, to_base64};
use vestry_edge::{Body, Call, Code, Json, PathId, Problem};

use super::HPKE;

pub(crate) const ERRORS: &[Code] = &[
    Code::InvalidSession,
    Code::FeatureDisabled,
    Code::NotFound,
    Code::WalletReadOnly,
    Code::WalletDisabled,
    Code::Sealed,
];

/// The recipient and the form of the exported key.
#[derive(Deserialize, ToSchema)]
#[schema(as = ExportWalletRequest)]
pub(crate) struct Request {
    /// X25519 public key of the recipient: 32 bytes, in base64.
    #[schema(
        min_length = 1,
        examples("J/I7TsQKuVyGAKB8Qx1P2Pf9bB5bP3iNf+Cq0wXo1mE=")
    )]
    recipient_public_key: String,
    /// Always `private_key`, because phrases are not stored.
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

/// The encrypted private key.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ExportWalletResponse)]
pub(crate) struct Response {
    /// Encryption scheme; always `HPKE`.
    #[schema(pattern = "^HPKE$")]
    encryption_type: &'static str,
    /// Ciphertext with tag, in base64. Plaintext: 32 bytes for Ethereum, Bitcoin and Stellar; 64 bytes for Solana (seed and public key); 32
    /// or 64 bytes for Polkadot (mini secret or expanded secret).
    #[schema(min_length = 1)]
    ciphertext: String,
    /// HPKE encapsulated key: 32 bytes, in base64.
    #[schema(min_length = 44, max_length = 44)]
    encapsulated_key: String,
}

/// Export a private key
///
/// Encrypts the wallet's private key to a public key of the caller with HPKE (RFC 9180): mode base, DHKEM(X25519, HKDF-SHA256),
/// HKDF-SHA256, ChaCha20-Poly1305, empty `info` and `aad`. The wallet itself is unchanged.
///
/// Returns 403 `feature_disabled` unless the App's setting `wallet_export` allows exports.
///
/// Needs the scope `wallets:export`, which a key has only if it was requested by name.
#[utoipa::path(
    post,
    path = "/v1/wallets/{wallet_id}/export",
    operation_id = "exportWallet",
    tag = "Wallets",
    params(("wallet_id" = String, Path, description = "Id of the wallet", pattern = "^wallet_[0-9A-Za-z]{27}$")),
    request_body = Request,
    responses((status = 200, description = "The encrypted key", body = Response))
)]
pub(crate) async fn handle(
    call: Call,
    PathId(wallet_id): PathId<WalletId>,
    Body(request): Body<Request>,
) -> Result<Json<Response>, Problem> {
    let command = request.command(wallet_id)?;
    let exported = call
        .run(|service, caller| async move { service.export_wallet(&caller, command).await })
        .await?;
    Ok(Json(Response {
        encryption_type: HPKE,
        ciphertext: to_base64(&exported.ciphertext),
        encapsulated_key: to_base64(&exported.encapsulated_key),
    }))
}
