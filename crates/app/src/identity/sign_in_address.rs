//! Addresses of users' own wallets, with which they sign in.

use vestry_domain::wallet::WalletType;
use vestry_domain::{Invalid, wallet_sign_in};
use vestry_ports::custody::SignatureVerifier;

/// Returns the canonical form of an address that can be used to sign in.
pub(crate) fn sign_in_address(
    signatures: &dyn SignatureVerifier,
    wallet_type: WalletType,
    text: &str,
) -> Result<String, Invalid> {
    wallet_sign_in::check_type(wallet_type)?;
    signatures
        .canonical_address(wallet_type, text)
        .ok_or_else(|| {
            let message = format!("public_address is not an address of {wallet_type}");
            Invalid::value("public_address", message)
        })
}
