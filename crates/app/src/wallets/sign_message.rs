//! `wallets/{wallet_id}/sign_message`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use vestry_domain::Invalid;
use vestry_domain::api_key::Scope;
use vestry_domain::ids::WalletId;
use vestry_domain::wallet::{MESSAGE_MAX, Wallet};
use vestry_ports::custody::{CustodyError, MessageSignature};

use crate::{Caller, Fault, NotAllowed, Service};

/// What the caller sent.
#[derive(Clone)]
pub struct SignMessage {
    /// The wallet.
    pub wallet_id: WalletId,
    /// The message, in `encoding`.
    pub message: String,
    /// `utf-8` (default), `hex` or `base64`: how `message` names its bytes. Text that starts with `0x` is text.
    pub encoding: Option<String>,
}

/// A signature that was verified against the wallet's public key.
#[derive(Debug, Clone)]
pub struct SignedMessage {
    /// The wallet.
    pub wallet: Wallet,
    /// The signature.
    pub signature: MessageSignature,
}

/// Why nothing was signed.
#[derive(Debug, thiserror::Error)]
pub enum SignMessageError {
    /// See [`NotAllowed`].
    #[error(transparent)]
    NotAllowed(#[from] NotAllowed),
    /// A field was refused.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// No such wallet in this world.
    #[error("the wallet does not exist")]
    NotFound,
    /// The wallet has no key here.
    #[error("the wallet is read-only")]
    ReadOnly,
    /// See [`Fault`].
    #[error(transparent)]
    Fault(#[from] Fault),
}

impl Service {
    /// Signs a message by the standard of the wallet's chain; Ethereum: EIP-191 version 0x45.
    ///
    /// # Errors
    /// [`SignMessageError`]; nothing is signed then.
    pub async fn sign_message(
        &self,
        caller: &Caller,
        command: SignMessage,
    ) -> Result<SignedMessage, SignMessageError> {
        caller.require(Scope::WalletsSign)?;
        let message = decode(command.message, command.encoding.as_deref())?;
        let mut read = self.ports.store.read().await.map_err(Fault::from)?;
        let found = read
            .wallets()
            .find_with_key(&caller.world, command.wallet_id)
            .await
            .map_err(Fault::from)?;
        drop(read);
        let (stored, key) = found.ok_or(SignMessageError::NotFound)?;
        let Some(key) = key.filter(|_| !stored.wallet.is_read_only) else {
            self.keyless(stored).await?;
            return Err(SignMessageError::ReadOnly);
        };
        let signed = self
            .ports
            .custodian
            .sign_message(stored, key, &message)
            .await;
        let (wallet, signature) = signed.map_err(|error| match error {
            CustodyError::Refused(why) => SignMessageError::Invalid(Invalid::value("message", why)),
            other => Fault::from(other).into(),
        })?;
        Ok(SignedMessage { wallet, signature })
    }
}

fn decode(message: String, encoding: Option<&str>) -> Result<Vec<u8>, Invalid> {
    let bytes = match encoding {
        None | Some("utf-8") => message.into_bytes(),
        Some("hex") => {
            hex::decode(message.strip_prefix("0x").unwrap_or(&message)).map_err(|_malformed| {
                Invalid::value(
                    "message",
                    "message is not hex: an even number of the digits 0-9 a-f, 0x in front or not",
                )
            })?
        }
        Some("base64") => STANDARD.decode(message).map_err(|_malformed| {
            Invalid::value("message", "message is not standard base64 with padding")
        })?,
        Some(_) => {
            return Err(Invalid::value(
                "encoding",
                "encoding is utf-8, hex or base64",
            ));
        }
    };
    if bytes.len() > MESSAGE_MAX {
        return Err(Invalid::value(
            "message",
            format!("message is at most {MESSAGE_MAX} bytes"),
        ));
    }
    Ok(bytes)
}
