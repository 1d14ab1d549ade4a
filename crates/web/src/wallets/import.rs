//! `POST /v1/wallets/import`

use actix_web::web::Json;
use serde::Deserialize;
use utoipa::ToSchema;
use vestry_app::wallets::ImportWallet;
use vestry_domain::Invalid;
use vestry_domain::ids::UserId;
use vestry_domain::key_transfer::SealedMessage;

use super::check_encryption;
use crate::binary::from_base64;
use crate::body::Body;
use crate::call::Call;
use crate::problem::{Code, Problem};
use crate::shapes::{ImportedWallet, parse_id, wallet_type_input};

pub(crate) const ERRORS: &[Code] = &[
    Code::DecryptionFailed,
    Code::AddressMismatch,
    Code::NotFound,
    Code::Duplicate,
    Code::Sealed,
];

/// Whose wallet, and its sealed key.
#[derive(Deserialize, ToSchema)]
#[schema(as = ImportWalletRequest)]
pub(crate) struct Request {
    /// The user who gets it.
    #[schema(pattern = "^user_[0-9A-Za-z]{27}$")]
    user_id: String,
    wallet: SealedWallet,
}

/// A wallet whose key is sealed to the public key of `wallets/import/begin`.
#[derive(Deserialize, ToSchema)]
#[schema(as = SealedWalletInput)]
struct SealedWallet {
    /// As in `begin`.
    #[schema(min_length = 1, examples("0x2c7536E3605D9C16a7a3D7b1898e529396a65c23"))]
    public_address: String,
    #[schema(schema_with = wallet_type_input)]
    wallet_type: String,
    /// `HPKE` (RFC 9180).
    #[schema(pattern = "^HPKE$", examples("HPKE"))]
    encryption_type: String,
    /// As in `begin`: `private_key` or `hd`.
    #[schema(pattern = "^(private_key|hd)$", examples("private_key"))]
    entropy_type: String,
    /// Base64 of ciphertext and tag, at most 1024 bytes. In it: the key as raw bytes, or as text in hex, base58, base64 or
    /// the chain's own form; the first of these that has the address counts. With `hd`: the phrase, as UTF-8.
    #[schema(min_length = 1)]
    ciphertext: String,
    /// Base64 of the sender's half of the agreement.
    #[schema(min_length = 1)]
    encapsulated_key: String,
    /// Which key of the phrase, with `hd` only, unless `begin` said so.
    #[schema(minimum = 0, maximum = 2_147_483_647_i64)]
    account_index: Option<i64>,
    /// How it was sealed, where that is not as usual.
    hpke_config: Option<HpkeConfig>,
}

/// How a message was sealed.
#[derive(Deserialize, ToSchema)]
#[schema(as = HpkeConfigInput)]
struct HpkeConfig {
    /// `CHACHA20_POLY1305` or `AES_GCM256`. When absent both are tried.
    #[schema(pattern = "^(CHACHA20_POLY1305|AES_GCM256)$")]
    aead_algorithm: Option<String>,
    /// Base64 of the `info`, at most 1024 bytes; empty when absent.
    info: Option<String>,
    /// Base64 of the associated data, at most 1024 bytes; empty when absent.
    aad: Option<String>,
}

impl Request {
    fn command(self) -> Result<ImportWallet, Invalid> {
        let user_id = parse_id("user_id", &self.user_id)?;
        self.wallet
            .command(user_id)
            .map_err(|invalid| invalid.within("wallet"))
    }
}

impl SealedWallet {
    fn command(self, user_id: UserId) -> Result<ImportWallet, Invalid> {
        check_encryption(&self.encryption_type)?;
        let mut message = SealedMessage {
            encapsulated_key: from_base64("encapsulated_key", &self.encapsulated_key)?,
            ciphertext: from_base64("ciphertext", &self.ciphertext)?,
            aead: None,
            info: Vec::new(),
            aad: Vec::new(),
        };
        if let Some(config) = self.hpke_config {
            let applied = config.apply_to(&mut message);
            applied.map_err(|invalid| invalid.within("hpke_config"))?;
        }
        Ok(ImportWallet {
            user_id,
            wallet_type: self.wallet_type.parse()?,
            public_address: self.public_address,
            entropy_type: self.entropy_type.parse()?,
            account_index: self.account_index,
            message,
        })
    }
}

impl HpkeConfig {
    fn apply_to(self, message: &mut SealedMessage) -> Result<(), Invalid> {
        message.aead = self.aead_algorithm.map(|name| name.parse()).transpose()?;
        message.info = from_base64("info", &self.info.unwrap_or_default())?;
        message.aad = from_base64("aad", &self.aad.unwrap_or_default())?;
        Ok(())
    }
}

/// Import a wallet
///
/// Opens what was sealed to the public key of `wallets/import/begin` and keeps the key as a wallet of the user, which is the
/// default one of its type if the user has none. The public key is used up by a success and by nothing else.
///
/// 400 `decryption_failed` whenever the message does not open, and nobody learns why: there is no open `begin` for this App,
/// environment, type, address and user, it was used or has expired, or the message is not as it was sealed.
/// 400 `address_mismatch` when it opens and holds no key or phrase of the address. 409 `duplicate` when the address is in the
/// environment already, also as a wallet that somebody signs in with.
///
/// Needs the scope `wallets:write`.
#[utoipa::path(
    post,
    path = "/v1/wallets/import",
    operation_id = "importWallet",
    tag = "Wallets",
    request_body = Request,
    responses((status = 200, description = "The wallet", body = ImportedWallet))
)]
pub(crate) async fn handle(
    call: Call,
    Body(request): Body<Request>,
) -> Result<Json<ImportedWallet>, Problem> {
    let command = request.command()?;
    let wallet = call
        .run(|service, caller| async move { service.import_wallet(&caller, command).await })
        .await?;
    Ok(Json(wallet.into()))
}
