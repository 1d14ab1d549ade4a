//! Keys on secp256k1, shared by Ethereum and Bitcoin.

use std::sync::{Mutex, PoisonError};

use ::bitcoin::secp256k1::{All, PublicKey, Secp256k1};
use vestry_domain::Secret;

use crate::scalar::Scalar;
use crate::{ChainError, PrivateKey};

/// The curve. `blinding` masks secret-dependent multiplications against side channels.
pub(crate) fn curve(blinding: &Secret<[u8; 32]>) -> Secp256k1<All> {
    let mut curve = Secp256k1::new();
    curve.seeded_randomize(blinding.expose());
    curve
}

/// A number from 1 to n − 1, 32 bytes big-endian.
pub(crate) fn private_key(bytes: &[u8]) -> Result<PrivateKey, ChainError> {
    let bytes: &[u8; PrivateKey::LENGTH] = bytes
        .first_chunk()
        .filter(|chunk| chunk.len() == bytes.len())
        .ok_or(ChainError::PrivateKey)?;
    Scalar::new(bytes)?;
    Ok(PrivateKey::copied_from(bytes))
}

/// The public key, compressed to 33 bytes (SEC 1 section 2.3.3).
pub(crate) fn public_key(curve: &Secp256k1<All>, key: &PrivateKey) -> Result<Vec<u8>, ChainError> {
    let scalar = Scalar::new(key.seed()?)?;
    let public_key = PublicKey::from_secret_key(curve, scalar.expose());
    Ok(public_key.serialize().to_vec())
}

/// Parses a public key of 33 bytes. The library also accepts uncompressed keys; only one form is allowed here, so that a key has one name.
pub(crate) fn parse_public_key(bytes: &[u8]) -> Result<PublicKey, ChainError> {
    bytes
        .first_chunk::<33>()
        .filter(|compressed| compressed.len() == bytes.len())
        .and_then(|compressed| PublicKey::from_slice(compressed).ok())
        .ok_or(ChainError::PublicKey)
}

/// A cache of decompressed public keys for verification.
///
/// Decompressing a point costs a square root, a tenth of a verification. Each key maps to one slot, which another key can take over.
/// Nothing in it is secret.
pub(crate) struct Points(Box<[Mutex<Option<PublicKey>>]>);

impl Points {
    /// The number of slots, about 70 KB.
    const PLACES: usize = 1024;

    pub(crate) fn new() -> Self {
        Self((0..Self::PLACES).map(|_| Mutex::new(None)).collect())
    }

    /// Like [`parse_public_key`], with caching.
    pub(crate) fn parse(&self, bytes: &[u8]) -> Result<PublicKey, ChainError> {
        let place = bytes.last_chunk().and_then(|last| {
            let place = usize::from(u16::from_be_bytes(*last)) % Self::PLACES;
            self.0.get(place)
        });
        let Some(place) = place else {
            return parse_public_key(bytes);
        };
        let remembered = *place.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(point) = remembered
            && point.serialize() == bytes
        {
            return Ok(point);
        }
        let point = parse_public_key(bytes)?;
        *place.lock().unwrap_or_else(PoisonError::into_inner) = Some(point);
        Ok(point)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// More keys than slots, each parsed twice in a row and again after another key has taken its slot.
    #[test]
    fn every_key_is_its_own_point_whichever_was_there_before() {
        let curve = Secp256k1::new();
        let keys: Vec<PublicKey> = (1_u64..)
            .take(Points::PLACES + 200)
            .map(|number| {
                let mut scalar = [0; 32];
                scalar[24..].copy_from_slice(&number.to_be_bytes());
                let scalar = Scalar::new(&scalar).unwrap();
                PublicKey::from_secret_key(&curve, scalar.expose())
            })
            .collect();
        let points = Points::new();
        for key in keys.iter().chain(keys.iter().rev()) {
            let bytes = key.serialize();
            // The mirror image maps to the same slot, and an invalid key takes no slot.
            let mut mirrored = bytes;
            mirrored[0] ^= 1;
            let mut nothing = bytes;
            nothing[0] = 4;
            for _ in 0..2 {
                assert_eq!(points.parse(&bytes), Ok(*key));
            }
            assert_eq!(points.parse(&nothing), Err(ChainError::PublicKey));
            assert_eq!(points.parse(&bytes[..32]), Err(ChainError::PublicKey));
            assert_eq!(points.parse(&mirrored), Ok(key.negate(&curve)));
            assert_eq!(points.parse(&bytes), Ok(*key));
        }
        assert_eq!(points.parse(&[]), Err(ChainError::PublicKey));
    }
}
