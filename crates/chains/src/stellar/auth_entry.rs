//! `xlm_signAuthEntry`: authorizes a contract to act for an account (Soroban; `signAuthEntry` of SEP-43).

use alloy_primitives::hex;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use stellar_xdr::HashIdPreimage;
use vestry_domain::random::ByteSource;
use vestry_domain::signing::{Fields, PayloadHash, Signed, SigningRefused};

use super::{network, xdr};
use crate::object::Object;
use crate::{ChainError, Prepared, PrivateKey, Signer, ed25519};

/// Signs the hash that a contract host computes for an authorization (CAP-46-11), or for one that is bound to an address (CAP-71).
pub(super) struct SignsAuthEntry {
    hash: [u8; 32],
    public_key: Vec<u8>,
}

impl SignsAuthEntry {
    /// Reads `auth_entry`, base64 of a `HashIdPreimage`, and the optional `network_passphrase`.
    ///
    /// The account need not be the wallet's own, because the wallet may be one of its signers.
    ///
    /// # Errors
    /// [`SigningRefused::Denied`] for a network other than the environment's. `auth_entry` is also rejected for other preimages, whose
    /// hashes are ids and not authorizations.
    pub(super) fn read(fields: &Object<'_>, signer: Signer<'_>) -> Result<Self, SigningRefused> {
        let text = fields.text("auth_entry")?;
        network::check(fields, signer.environment)?;
        let refusal = |rule: &str| fields.refusal("auth_entry", rule);
        let preimage: HashIdPreimage =
            xdr::read(text, "a HashIdPreimage").map_err(|rule| refusal(&rule))?;
        let network_id = match &preimage {
            HashIdPreimage::SorobanAuthorization(entry) => &entry.network_id,
            HashIdPreimage::SorobanAuthorizationWithAddress(entry) => &entry.network_id,
            HashIdPreimage::OpId(_)
            | HashIdPreimage::PoolRevokeOpId(_)
            | HashIdPreimage::ContractId(_) => {
                return Err(refusal("must be a HashIdPreimage of a Soroban authorization").into());
            }
        };
        if network_id.0 != network::id(signer.environment) {
            return Err(network::denied(signer.environment));
        }
        Ok(Self {
            hash: xdr::hash(&preimage).ok_or_else(|| refusal("cannot be hashed"))?,
            public_key: signer.public_key.to_vec(),
        })
    }
}

impl Prepared for SignsAuthEntry {
    /// Returns `signature` in base64, as named by `encoding`, and the signed `hash` in hex.
    fn sign(&self, key: &PrivateKey, _source: &mut dyn ByteSource) -> Result<Signed, ChainError> {
        let signature = ed25519::sign(key, &self.public_key, &self.hash)?;
        let fields = [
            ("signature", Value::String(STANDARD.encode(signature))),
            ("encoding", Value::from("base64")),
            ("hash", Value::String(hex::encode(self.hash))),
        ];
        let fields = fields.map(|(name, value)| (name.to_owned(), value));
        Ok(Signed {
            fields: Fields::from_iter(fields),
            payload: PayloadHash(self.hash),
        })
    }
}
