//! Public keys as `COSE_Key` (RFC 9052, RFC 9053), in the one form that section 6.5.1 allows for each algorithm.

use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_ASN1, ECDSA_P384_SHA384_ASN1, ECDSA_P521_SHA512_ASN1, ED25519,
    RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents, UnparsedPublicKey, VerificationAlgorithm,
};

use crate::cbor::{self, Item};

const ES256: i64 = -7;
const EDDSA: i64 = -8;
const ES384: i64 = -35;
const ES512: i64 = -36;
const RS256: i64 = -257;

/// The offered and accepted algorithms; the most widely supported one is first.
pub(crate) const ALGORITHMS: [i64; 5] = [ES256, EDDSA, ES384, ES512, RS256];

// Labels of COSE_Key and of its key types.
const KTY: i64 = 1;
const ALG: i64 = 3;
const CRV_OR_N: i64 = -1;
const X_OR_E: i64 = -2;
const Y: i64 = -3;

/// A public key with its algorithm.
pub(crate) struct PublicKey<'a> {
    material: Material<'a>,
}

enum Material<'a> {
    /// A point in the curve's own encoding: SEC 1 uncompressed, or the 32 bytes of Ed25519.
    Point(&'static dyn VerificationAlgorithm, Vec<u8>),
    Rsa(RsaPublicKeyComponents<&'a [u8]>),
}

impl<'a> PublicKey<'a> {
    /// Parses a key; `None` if its algorithm was not offered, if it has missing or extra members, or if it is malformed.
    pub(crate) fn parse(bytes: &'a [u8]) -> Option<Self> {
        let key = cbor::whole(bytes)?;
        let members = key.map()?;
        let number = |label| cbor::numbered(members, label).and_then(Item::number);
        let algorithm = number(ALG)?;
        let (kty, crv, count) = (number(KTY)?, number(CRV_OR_N), members.len());
        let material = match (algorithm, kty, crv, count) {
            (ES256, 2, Some(1), 5) => Self::point(members, 32, &ECDSA_P256_SHA256_ASN1)?,
            (ES384, 2, Some(2), 5) => Self::point(members, 48, &ECDSA_P384_SHA384_ASN1)?,
            (ES512, 2, Some(3), 5) => Self::point(members, 66, &ECDSA_P521_SHA512_ASN1)?,
            (EDDSA, 1, Some(6), 4) => {
                Material::Point(&ED25519, sized(members, X_OR_E, 32)?.to_vec())
            }
            (RS256, 3, None, 4) => Material::Rsa(RsaPublicKeyComponents {
                n: positive(members, CRV_OR_N)?,
                e: positive(members, X_OR_E)?,
            }),
            _ => return None,
        };
        let key = Self { material };
        key.can_be_used().then_some(key)
    }

    fn point(
        members: &[(Item<'a>, Item<'a>)],
        size: usize,
        algorithm: &'static dyn VerificationAlgorithm,
    ) -> Option<Material<'a>> {
        let (x, y) = (sized(members, X_OR_E, size)?, sized(members, Y, size)?);
        Some(Material::Point(algorithm, [&[4], x, y].concat()))
    }

    /// Whether the point is on its curve. An RSA key is a pair of numbers, whose sizes are checked at each use.
    fn can_be_used(&self) -> bool {
        match &self.material {
            Material::Point(algorithm, point) => {
                UnparsedPublicKey::new(*algorithm, point).parse().is_ok()
            }
            Material::Rsa(key) => (2048..=8192).contains(&bits(key.n)) && bits(key.e) > 1,
        }
    }

    /// Whether the signature of the message is valid under this key. ECDSA signatures are ASN.1 (section 6.5.5).
    pub(crate) fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        match &self.material {
            Material::Point(algorithm, point) => UnparsedPublicKey::new(*algorithm, point)
                .verify(message, signature)
                .is_ok(),
            Material::Rsa(key) => key
                .verify(&RSA_PKCS1_2048_8192_SHA256, message, signature)
                .is_ok(),
        }
    }
}

fn sized<'a>(members: &[(Item<'a>, Item<'a>)], label: i64, size: usize) -> Option<&'a [u8]> {
    let bytes = cbor::numbered(members, label)?.bytes()?;
    (bytes.len() == size).then_some(bytes)
}

/// Returns a number without leading zeros (RFC 8230, section 4).
fn positive<'a>(members: &[(Item<'a>, Item<'a>)], label: i64) -> Option<&'a [u8]> {
    let bytes = cbor::numbered(members, label)?.bytes()?;
    bytes
        .first()
        .is_some_and(|first| *first != 0)
        .then_some(bytes)
}

/// Returns the bit length of a number without leading zeros.
fn bits(number: &[u8]) -> usize {
    let zeros = number.first().map_or(0, |first| first.leading_zeros());
    (number.len() * 8).saturating_sub(usize::try_from(zeros).unwrap_or(8))
}

#[cfg(test)]
mod wycheproof;
