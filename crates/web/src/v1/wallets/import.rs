//! `POST /v1/wallets/import`

use serde::Deserialize;
use utoipa::ToSchema;
use vestry_app::wallets::ImportWallet;
use vestry_domain::Invalid;
use vestry_domain::ids::UserId;
use vestry_domain::key_transfer::SealedMessage;
use vestry_edge::binary::from_base64;
use vestry_edge::{Body, Call, Code, Json, Problem};

use super::check_encryption;
use crate::v1::shapes::{ImportedWallet, parse_id, wallet_type_input};

pub(crate) const ERRORS: &[Code] = &[
    Code::DecryptionFailed,
    Code::AddressMismatch,
    Code::NotFound,
    Code::Duplicate,
    Code::Sealed,
];

/// The owner of the wallet, and its encrypted key.
#[derive(Deserialize, ToSchema)]
#[schema(as = ImportWalletRequest)]
pub(crate) struct Request {
    /// Id of the user that gets the wallet.
    #[schema(pattern = "^user_[0-9A-Za-z]{27}$")]
    user_id: String,
    wallet: SealedWallet,
}

/// A wallet whose key is encrypted to the public key from `wallets/import/begin`.
#[derive(Deserialize, ToSchema)]
#[schema(as = SealedWalletInput)]
struct SealedWallet {
    /// Address of the wallet, as sent to `begin`.
    #[schema(min_length = 1, examples("0x2c7536E3605D9C16a7a3D7b1898e529396a65c23"))]
    public_address: String,
    #[schema(schema_with = wallet_type_input)]
    wallet_type: String,
    /// Encryption scheme: `HPKE` (RFC 9180).
    #[schema(pattern = "^HPKE$", examples("HPKE"))]
    encryption_type: String,
    /// Kind of the secret, as sent to `begin`: `private_key`, or `hd` for a BIP-39 phrase.
    #[schema(pattern = "^(private_key|hd)$", examples("private_key"))]
    entropy_type: String,
    /// Ciphertext with tag, in base64, at most 1024 bytes.
    ///
    /// The plaintext of a `private_key` is the raw key, or its text in hex, base58, base64 or the chain's own format. The first of these
    /// that yields the address is used. The plaintext of `hd` is the phrase in UTF-8.
    #[schema(min_length = 1)]
    ciphertext: String,
    /// HPKE encapsulated key of the sender, in base64.
    #[schema(min_length = 1)]
    encapsulated_key: String,
    /// Index of the key derived from the phrase. Only with `hd`, and only if `begin` did not set it.
    #[schema(minimum = 0, maximum = 2_147_483_647_i64)]
    account_index: Option<i64>,
    /// HPKE parameters that differ from the defaults.
    hpke_config: Option<HpkeConfig>,
}

/// HPKE parameters of a message.
#[derive(Deserialize, ToSchema)]
#[schema(as = HpkeConfigInput)]
struct HpkeConfig {
    /// `CHACHA20_POLY1305` or `AES_GCM256`. If absent, both are tried.
    #[schema(pattern = "^(CHACHA20_POLY1305|AES_GCM256)$")]
    aead_algorithm: Option<String>,
    /// HPKE `info`, in base64, at most 1024 bytes. Default: empty.
    info: Option<String>,
    /// Associated data, in base64, at most 1024 bytes. Default: empty.
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
/// Decrypts a key that was encrypted to the public key from `wallets/import/begin` and stores it as a wallet of the user. The wallet
/// becomes the default of its type if the user has none. Only a successful import uses up the public key.
///
/// Errors:
///
/// 400 `decryption_failed`: the message could not be decrypted. The reason is not revealed: there is no pending import for this App,
/// environment, type, address and user, it was used or has expired, or the message was altered.
///
/// 400 `address_mismatch`: the plaintext contains no key or phrase of the address.
///
/// 409 `duplicate`: the environment already has the address, possibly as a wallet that a user signs in with.
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
