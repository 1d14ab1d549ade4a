//! BIP-340 signatures by the plain key, or by the key tweaked for a taproot output (BIP-341).

use ::bitcoin::TapNodeHash;
use ::bitcoin::hashes::Hash;
use ::bitcoin::secp256k1::schnorr::Signature;
use ::bitcoin::secp256k1::{Keypair, Message, Scalar as Tweak, XOnlyPublicKey};
use ::bitcoin::taproot::TapTweakHash;
use vestry_domain::random::ByteSource;
use zeroize::Zeroize;

use super::Bitcoin;
use crate::scalar::Scalar;
use crate::{ChainError, PrivateKey};

/// A key pair for the duration of one signature.
///
/// The library's own type is `Copy` and does not wipe itself. It stays in this box and is overwritten when the box is dropped.
struct Pair(Box<Keypair>);

impl Drop for Pair {
    fn drop(&mut self) {
        self.0.non_secure_erase();
    }
}

/// The key that makes a taproot signature.
#[derive(Clone, Copy)]
pub(super) enum Tweaked {
    /// The output key: the internal key tweaked with itself and the root of its scripts, if any.
    ToOutput(Option<TapNodeHash>),
    /// The plain key, for a script that names it.
    Not,
}

impl Bitcoin {
    /// A BIP-340 signature over a digest, verified against the public key.
    pub(super) fn sign_schnorr(
        &self,
        key: &PrivateKey,
        tweaked: Tweaked,
        digest: [u8; 32],
        public_key: &XOnlyPublicKey,
        source: &mut dyn ByteSource,
    ) -> Result<Signature, ChainError> {
        let scalar = Scalar::new(key.seed()?)?;
        let mut pair = Pair(Box::new(Keypair::from_secret_key(
            &self.curve,
            scalar.expose(),
        )));
        if let Tweaked::ToOutput(merkle_root) = tweaked {
            let (internal, _parity) = pair.0.x_only_public_key();
            let tweak = tweak(internal, merkle_root).ok_or(ChainError::Signature)?;
            let output = pair
                .0
                .add_xonly_tweak(&self.curve, &tweak)
                .map_err(|_negligible| ChainError::Signature)?;
            pair = Pair(Box::new(output));
        }
        let mut auxiliary = [0; 32];
        source.fill(&mut auxiliary);
        let message = Message::from_digest(digest);
        let signature = self
            .curve
            .sign_schnorr_with_aux_rand(&message, &pair.0, &auxiliary);
        auxiliary.zeroize();
        self.verify_schnorr(&signature, digest, public_key)?;
        Ok(signature)
    }

    pub(super) fn verify_schnorr(
        &self,
        signature: &Signature,
        digest: [u8; 32],
        public_key: &XOnlyPublicKey,
    ) -> Result<(), ChainError> {
        self.curve
            .verify_schnorr(signature, &Message::from_digest(digest), public_key)
            .map_err(|_wrong| ChainError::Signature)
    }

    /// The output key for an internal key and the root of its scripts; `None` for a hash at or above the group order, which does not happen
    /// in practice.
    pub(super) fn output_key(
        &self,
        internal: XOnlyPublicKey,
        merkle_root: Option<TapNodeHash>,
    ) -> Option<XOnlyPublicKey> {
        let (output, _parity) = internal
            .add_tweak(&self.curve, &tweak(internal, merkle_root)?)
            .ok()?;
        Some(output)
    }
}

fn tweak(internal: XOnlyPublicKey, merkle_root: Option<TapNodeHash>) -> Option<Tweak> {
    let hash = TapTweakHash::from_key_and_tweak(internal, merkle_root);
    Tweak::from_be_bytes(hash.to_byte_array()).ok()
}
