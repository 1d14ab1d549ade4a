//! `wallets/{wallet_id}/sign_message`.

use vestry_domain::ids::WalletId;
use vestry_domain::signing::{MessageRequest, SigningRefused, SigningRequest};
use vestry_domain::wallet::WalletType;

use super::SigningCommand;

/// Signs a message by the standard of the wallet's chain; Ethereum: EIP-191 version 0x45.
#[derive(Clone)]
pub struct SignMessage {
    /// The wallet.
    pub wallet_id: WalletId,
    /// The message and its encoding.
    pub request: MessageRequest,
}

impl SigningCommand for SignMessage {
    fn wallet_id(&self) -> WalletId {
        self.wallet_id
    }

    fn request(&self, _wallet_type: WalletType) -> Result<SigningRequest, SigningRefused> {
        Ok(SigningRequest::Message(self.request.clone()))
    }
}
