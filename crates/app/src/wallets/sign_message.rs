//! `wallets/{wallet_id}/sign_message`.

use vestry_domain::ids::WalletId;
use vestry_domain::signing::{MessageRequest, SigningRequest};

use super::{SignError, SignedByWallet};
use crate::{Caller, Service};

/// What the caller sent.
#[derive(Clone)]
pub struct SignMessage {
    /// The wallet.
    pub wallet_id: WalletId,
    /// The message, and how it is meant.
    pub request: MessageRequest,
}

impl Service {
    /// Signs a message by the standard of the wallet's chain; Ethereum: EIP-191 version 0x45.
    ///
    /// # Errors
    /// [`SignError`]; nothing is signed then.
    pub async fn sign_message(
        &self,
        caller: &Caller,
        command: SignMessage,
    ) -> Result<SignedByWallet, SignError> {
        let request = SigningRequest::Message(command.request);
        self.sign(caller, command.wallet_id, |_| Ok(request.clone()))
            .await
    }
}
