//! Signing in with a user's own wallet: a challenge, and a signature over it.
//!
//! The first signature of an address stores it as a read-only wallet of its user. Addresses whose keys are stored here cannot sign in: we
//! could make their signatures ourselves.

pub mod begin;
pub mod verify;

pub use begin::BeginWalletSignIn;
pub use verify::{SignedText, VerifiedWallet, VerifyWallet};

use vestry_domain::wallet::WalletType;
use vestry_domain::{Invalid, wallet_sign_in};

use crate::Service;

impl Service {
    /// The canonical form of an address that can be used to sign in.
    pub(crate) fn signing_address(
        &self,
        wallet_type: WalletType,
        text: &str,
    ) -> Result<String, Invalid> {
        wallet_sign_in::check_type(wallet_type)?;
        let signatures = &self.ports.signatures;
        signatures
            .canonical_address(wallet_type, text)
            .ok_or_else(|| {
                let message = format!("public_address is not an address of {wallet_type}");
                Invalid::value("public_address", message)
            })
    }
}
