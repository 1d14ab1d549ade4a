//! Signatures by Standard Webhooks 1.0 (<https://www.standardwebhooks.com>).

use data_encoding::BASE64;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use zeroize::Zeroizing;

use crate::{Invalid, Secret, Timestamp};

const PREFIX: &str = "whsec_";
/// The standard's limits on the length of a secret in bytes, for secrets from other services.
const LENGTHS: std::ops::RangeInclusive<usize> = 24..=64;

/// The secret that signs requests to an endpoint. Its text form is `whsec_` and base64.
#[derive(Debug, Clone)]
pub struct SigningSecret(Secret<Vec<u8>>);

impl SigningSecret {
    /// Creates a secret from 32 random bytes.
    pub fn new(random: [u8; 32]) -> Self {
        Self(Secret::new(random.to_vec()))
    }

    /// Creates a secret from its bytes.
    pub const fn of(bytes: Secret<Vec<u8>>) -> Self {
        Self(bytes)
    }

    /// The bytes, for encryption.
    pub const fn bytes(&self) -> &Secret<Vec<u8>> {
        &self.0
    }

    /// Parses the text form.
    ///
    /// # Errors
    /// If it is not `whsec_` and the base64 of 24 to 64 bytes; names `secret`.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let bytes = text
            .strip_prefix(PREFIX)
            .and_then(|base64| BASE64.decode(base64.as_bytes()).ok())
            .filter(|bytes| LENGTHS.contains(&bytes.len()));
        let bytes = bytes.ok_or_else(|| {
            let message = "secret must be whsec_ followed by the base64 of 24 to 64 bytes";
            Invalid::value("secret", message)
        })?;
        Ok(Self(Secret::new(bytes)))
    }

    /// The text form.
    pub fn text(&self) -> Secret<String> {
        Secret::new(format!("{PREFIX}{}", BASE64.encode(self.0.expose())))
    }

    /// The last four characters, by which its owner can recognize it.
    pub fn last_four(&self) -> String {
        let text = self.text();
        let start = text.expose().len().saturating_sub(4);
        text.expose().get(start..).unwrap_or_default().to_owned()
    }

    fn sign(&self, id: &str, at: Timestamp, body: &[u8]) -> Option<String> {
        // HMAC accepts keys of any length.
        let mut mac = Hmac::<Sha256>::new_from_slice(self.0.expose()).ok()?;
        mac.update(id.as_bytes());
        mac.update(b".");
        mac.update(at.unix().to_string().as_bytes());
        mac.update(b".");
        mac.update(body);
        let tag = Zeroizing::new(mac.finalize().into_bytes().to_vec());
        Some(format!("v1,{}", BASE64.encode(&tag)))
    }
}

/// The value of `webhook-signature`: signatures of `id.timestamp.body` under each of the secrets, in order.
pub fn signatures(secrets: &[SigningSecret], id: &str, at: Timestamp, body: &[u8]) -> String {
    let signed = secrets
        .iter()
        .filter_map(|secret| secret.sign(id, at, body));
    signed.collect::<Vec<_>>().join(" ")
}
