//! `wallets/{wallet_id}/rpc`.

use vestry_domain::ids::WalletId;
use vestry_domain::signing::{Fields, SigningRequest};

use super::{SignError, SignedByWallet};
use crate::{Caller, Service};

/// What the caller sent.
#[derive(Clone)]
pub struct CallMethod {
    /// The wallet.
    pub wallet_id: WalletId,
    /// Name of a method of the wallet's chain.
    pub method: String,
    /// Its parameters.
    pub params: Fields,
}

impl Service {
    /// Answers a method of the wallet's chain. All of them sign something; none of them goes out to a node.
    ///
    /// # Errors
    /// [`SignError`]; nothing is signed then.
    pub async fn call_method(
        &self,
        caller: &Caller,
        command: CallMethod,
    ) -> Result<SignedByWallet, SignError> {
        let request = SigningRequest::Method {
            name: command.method,
            params: command.params,
        };
        self.sign(caller, command.wallet_id, |_| Ok(request.clone()))
            .await
    }
}
