//! EIP-7702 authorizations: an account lets a contract act as its code.

use alloy_eips::eip7702::Authorization;
use alloy_eips::eip7702::constants::MAGIC;
use alloy_primitives::{Signature, U256};
use alloy_rlp::Encodable;
use serde_json::{Value, json};
use vestry_domain::random::ByteSource;
use vestry_domain::signing::{Fields, Signed, SigningRefused};

use super::digest::SignsDigest;
use super::fields::{Field, Object};
use super::{Ethereum, transaction};
use crate::{ChainError, Prepared, PrivateKey, Signer};

/// Signs an authorization and returns it in the form used in `authorizationList` of a transaction.
pub(super) struct SignsAuthorization<'a> {
    digest: SignsDigest<'a>,
    authorization: Authorization,
}

impl<'a> SignsAuthorization<'a> {
    /// Reads an authorization.
    ///
    /// # Errors
    /// [`SigningRefused::Invalid`] with the path of the field; [`SigningRefused::Denied`] for chain 0, which means every chain.
    pub(super) fn read(
        chain: &'a Ethereum,
        params: &Object<'_>,
        signer: Signer<'_>,
    ) -> Result<Self, SigningRefused> {
        let address = params.need_aliased(&["contractAddress", "contract"], Field::address)?;
        let field = params.need("chainId")?;
        if field.quantity()?.is_zero() {
            return Err(SigningRefused::Denied(
                "an authorization for chainId 0 is valid on every chain and therefore not allowed"
                    .into(),
            ));
        }
        let authorization = Authorization {
            chain_id: U256::from(transaction::chain_id(&field)?),
            address,
            nonce: transaction::nonce(&params.need("nonce")?)?,
        };
        let mut payload = vec![MAGIC];
        authorization.encode(&mut payload);
        let digest = SignsDigest::new(chain, &payload, signer);
        Ok(Self {
            digest,
            authorization,
        })
    }
}

impl Prepared for SignsAuthorization<'_> {
    fn sign(&self, key: &PrivateKey, _source: &mut dyn ByteSource) -> Result<Signed, ChainError> {
        let bytes = self.digest.signature(key)?;
        let signature =
            Signature::from_raw(&bytes).map_err(|_no_signature| ChainError::Signature)?;
        let signed = json!({
            "chainId": format!("{:#x}", self.authorization.chain_id),
            "address": self.authorization.address.to_checksum(None),
            "nonce": format!("{:#x}", self.authorization.nonce),
            "yParity": if signature.v() { "0x1" } else { "0x0" },
            "r": format!("{:#x}", signature.r()),
            "s": format!("{:#x}", signature.s()),
        });
        let members: [(String, Value); 1] = [("authorization".to_owned(), signed)];
        Ok(Signed {
            fields: Fields::from_iter(members),
            payload: self.digest.payload,
        })
    }
}
