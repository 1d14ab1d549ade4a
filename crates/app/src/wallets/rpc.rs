//! `wallets/{wallet_id}/rpc`.

use vestry_domain::ids::WalletId;
use vestry_domain::signing::{Fields, SigningRefused, SigningRequest};
use vestry_domain::wallet::WalletType;

use super::SigningCommand;

/// Calls an RPC method of the wallet's chain. All methods sign something; none of them contacts a node.
#[derive(Clone)]
pub struct CallMethod {
    /// The wallet.
    pub wallet_id: WalletId,
    /// Name of a method of the wallet's chain.
    pub method: String,
    /// Its parameters.
    pub params: Fields,
}

impl SigningCommand for CallMethod {
    fn wallet_id(&self) -> WalletId {
        self.wallet_id
    }

    fn request(&self, _wallet_type: WalletType) -> Result<SigningRequest, SigningRefused> {
        Ok(SigningRequest::Method {
            name: self.method.clone(),
            params: self.params.clone(),
        })
    }
}
