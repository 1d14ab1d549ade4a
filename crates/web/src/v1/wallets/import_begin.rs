//! `POST /v1/wallets/import/begin`

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use vestry_app::wallets::BeginImport;
use vestry_domain::Invalid;
use vestry_edge::binary::to_base64;
use vestry_edge::{Body, Call, Code, Json, Problem};

use super::{HPKE, check_encryption};
use crate::v1::shapes::{optional_id, wallet_type_input};

pub(crate) const ERRORS: &[Code] = &[Code::NotFound, Code::TooManyAttempts, Code::Sealed];

/// The wallet to be imported.
#[derive(Deserialize, ToSchema)]
#[schema(as = WalletImportBeginRequest)]
pub(crate) struct Request {
    /// Address of the wallet. Bitcoin: P2WPKH or P2TR, on the network of the environment.
    #[schema(min_length = 1, examples("0x2c7536E3605D9C16a7a3D7b1898e529396a65c23"))]
    public_address: String,
    #[schema(schema_with = wallet_type_input)]
    wallet_type: String,
    /// Encryption scheme: `HPKE` (RFC 9180).
    #[schema(pattern = "^HPKE$", examples("HPKE"))]
    encryption_type: String,
    /// Kind of the secret to import: `private_key`, or `hd` for a BIP-39 phrase.
    #[schema(pattern = "^(private_key|hd)$", examples("private_key"))]
    entropy_type: String,
    /// Index of the key derived from the phrase. Only with `hd`; it can be sent with the import instead. Default: 0.
    #[schema(minimum = 0, maximum = 2_147_483_647_i64)]
    account_index: Option<i64>,
    /// HPKE key encapsulation: `x25519` (default) or `p256`.
    #[schema(pattern = "^(x25519|p256)$")]
    kem: Option<String>,
    /// Id of the user that gets the wallet. If absent or `""`, the import names the user.
    #[schema(pattern = "^(user_[0-9A-Za-z]{27})?$")]
    #[serde(default, deserialize_with = "vestry_edge::json::text_or_absent")]
    user_id: Option<String>,
}

impl Request {
    fn command(self) -> Result<BeginImport, Invalid> {
        check_encryption(&self.encryption_type)?;
        Ok(BeginImport {
            wallet_type: self.wallet_type.parse()?,
            public_address: self.public_address,
            entropy_type: self.entropy_type.parse()?,
            account_index: self.account_index,
            kem: self
                .kem
                .map(|kem| kem.parse())
                .transpose()?
                .unwrap_or_default(),
            user_id: optional_id("user_id", self.user_id)?,
        })
    }
}

/// The public key to encrypt to.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = WalletImportBeginResponse)]
pub(crate) struct Response {
    /// Encryption scheme; always `HPKE`.
    #[schema(pattern = "^HPKE$")]
    encryption_type: &'static str,
    /// Public key, in base64: 32 bytes for `x25519`, 65 bytes (uncompressed) for `p256`.
    #[schema(min_length = 44, max_length = 88)]
    encryption_public_key: String,
}

/// Begin a wallet import
///
/// Returns a public key to which the private key or phrase must be encrypted with HPKE (RFC 9180): mode base, HKDF-SHA256,
/// ChaCha20-Poly1305 or AES-256-GCM. `info` and `aad` are empty unless the import sets them.
///
/// The key is valid for one import of this address within 15 minutes. Other imports can be begun in parallel. Returns 429
/// `too_many_attempts` after too many calls.
///
/// Needs the scope `wallets:write`.
#[utoipa::path(
    post,
    path = "/v1/wallets/import/begin",
    operation_id = "beginWalletImport",
    tag = "Wallets",
    request_body = Request,
    responses((status = 200, description = "The public key", body = Response))
)]
pub(crate) async fn handle(
    call: Call,
    Body(request): Body<Request>,
) -> Result<Json<Response>, Problem> {
    let command = request.command()?;
    let key = call
        .run(|service, caller| async move { service.begin_import(&caller, command).await })
        .await?;
    Ok(Json(Response {
        encryption_type: HPKE,
        encryption_public_key: to_base64(&key.public_key),
    }))
}
