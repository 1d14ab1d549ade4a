//! The keys of an issuer, and id tokens signed with them.

use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, EncodingKey, crypto};
use p256::ecdsa::signature::Signer;
use p256::ecdsa::{Signature, SigningKey};
use serde_json::{Map, Value, json};

use crate::custody::NOW;
use crate::provider::{CLIENT_ID, NONCE, TENANT};

/// The issuer; nothing is fetched from it.
pub const ISSUER: &str = "https://issuer.example.com";
/// An issuer with one name per tenant, as configured.
pub const TENANTS: &str = "https://issuer.example.com/{tenantid}/v2.0";
/// The subject that signs in.
pub const SUBJECT: &str = "1001";

/// The key of RFC 8037, appendix A.1, in its ASN.1 wrapper (RFC 8410).
const ED25519_KEY: &str = "302e020100300506032b6570042204209d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60";
const ED25519_X: &str = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";
/// A key for tests only, in the format of RFC 8017.
const RSA_KEY: &[u8] = include_bytes!("rsa_key.der");
const RSA_N: &str = "sJdsW9q3GW1U5bHN-aNSsX_L76NIl2a3HliKQmMciKDJMTInb2Sy1rML8MByzCrk9hktZeL9zz3mJ_Dl01dyAbl8DdSt7znuBFY2NCewpxnZG349-MfSKibs6Q-rUanzt41pXkTCxYli5ZGEGoO8ez8cZFxQX3-zj1ZicBWP8_l3rdxch-xDGebe3rTucyivO5cTHDqlGnJLubTS3XaBbjV6xx63FiRqbCrKpaKPUSHBm81xBGS5T6M6WLYRWhHC961OXrQDJ3_VqlkNVGg7_XVX-bhIRzxWPhU7R_IXWxvFFvIxQfc_oCNyln56olah_5fZnOUDmMeO-NA8hr88Aw";

static P256: LazyLock<SigningKey> =
    LazyLock::new(|| SigningKey::from_slice(&[0x42; 32]).expect("a key"));

/// The signing algorithm of a token. Signatures are deterministic, so that findings are reproducible.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignsBy {
    /// ECDSA on P-256, with the nonces of RFC 6979.
    Es256,
    /// Ed25519.
    EdDsa,
    /// RSA, PKCS #1 v1.5.
    Rs256,
}

impl SignsBy {
    /// All algorithms.
    pub const ALL: [Self; 3] = [Self::Es256, Self::EdDsa, Self::Rs256];

    /// The name in `alg`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Es256 => "ES256",
            Self::EdDsa => "EdDSA",
            Self::Rs256 => "RS256",
        }
    }

    /// The published public key. Its `kid` is the name of the algorithm.
    pub fn published(self) -> Map<String, Value> {
        let material = match self {
            Self::Es256 => {
                let point = P256.verifying_key().to_sec1_point(false);
                let point = point.as_bytes();
                let (x, y) = (encoded(&point[1..33]), encoded(&point[33..]));
                json!({"kty": "EC", "crv": "P-256", "x": x, "y": y})
            }
            Self::EdDsa => json!({"kty": "OKP", "crv": "Ed25519", "x": ED25519_X}),
            Self::Rs256 => json!({"kty": "RSA", "n": RSA_N, "e": "AQAB"}),
        };
        let mut key = map(material);
        for (name, value) in [("kid", self.name()), ("use", "sig"), ("alg", self.name())] {
            key.insert(name.to_owned(), json!(value));
        }
        key
    }

    /// The header of a token.
    pub fn header(self) -> Map<String, Value> {
        map(json!({"alg": self.name(), "kid": self.name(), "typ": "JWT"}))
    }

    /// A correctly signed token with arbitrary header and claims bytes.
    ///
    /// # Panics
    /// If the library does not sign.
    pub fn token(self, header: &[u8], claims: &[u8]) -> String {
        let message = format!("{}.{}", encoded(header), encoded(claims));
        let signature = match self {
            Self::Es256 => {
                let signature: Signature = P256.sign(message.as_bytes());
                encoded(&signature.to_bytes())
            }
            Self::EdDsa => {
                let key = EncodingKey::from_ed_der(&hex::decode(ED25519_KEY).expect("hex"));
                crypto::sign(message.as_bytes(), &key, Algorithm::EdDSA).expect("a signature")
            }
            Self::Rs256 => {
                let key = EncodingKey::from_rsa_der(RSA_KEY);
                crypto::sign(message.as_bytes(), &key, Algorithm::RS256).expect("a signature")
            }
        };
        format!("{message}.{signature}")
    }
}

/// The claims of a valid token.
pub fn claims() -> Map<String, Value> {
    map(json!({
        "iss": ISSUER, "aud": CLIENT_ID, "sub": SUBJECT, "nonce": NONCE,
        "iat": NOW.unix(), "exp": NOW.unix() + 3600,
        "email": "ada@example.com", "email_verified": true,
        "name": "Ada Lovelace", "given_name": "Ada", "family_name": "Lovelace",
    }))
}

/// The claims of a valid token of a tenant.
pub fn claims_of_tenant() -> Map<String, Value> {
    let mut claims = claims();
    claims.insert(
        "iss".to_owned(),
        json!(TENANTS.replace("{tenantid}", TENANT)),
    );
    claims.insert("tid".to_owned(), json!(TENANT));
    claims.insert("xms_edov".to_owned(), json!(true));
    claims
}

/// The object as JSON bytes.
///
/// # Panics
/// Never: an object can be serialized.
pub fn json_of(map: &Map<String, Value>) -> Vec<u8> {
    serde_json::to_vec(map).expect("JSON")
}

/// Bytes in base64url.
pub fn encoded(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// The value as an object.
///
/// # Panics
/// If it is not one.
pub fn map(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        other => panic!("{other} is not an object"),
    }
}
