//! Derivation of subkeys from an App key, one for every use (RFC 5869, HKDF-SHA-256).
//!
//! The labels are part of every stored format. Never change one.

use aws_lc_rs::hkdf::{HKDF_SHA256, Prk, Salt};
use aws_lc_rs::hmac::{self, HMAC_SHA256};
use vestry_domain::Secret;
use vestry_domain::envelope::{KeyPurpose, SecretKind, join_with_lengths};
use vestry_ports::entropy::Entropy;
use zeroize::Zeroizing;

use crate::aead::{Aead, KEY_LENGTH, Refused};

const SALT: &[u8] = b"vestry-app-key-v1";

/// The subkeys of a purpose. The purpose is part of the type, so that a key of one purpose cannot be used for another.
pub(crate) trait Subkeys: Sized + Send + Sync {
    const PURPOSE: KeyPurpose;

    /// Derives and expands all subkeys, once per decrypted App key.
    fn derive(app_key: &Secret<[u8; 32]>) -> Result<Self, Refused>;
}

/// Subkeys of an App key of purpose `wallets`.
pub(crate) struct WalletSubkeys {
    /// Wraps data keys, under random nonces. This happens once per wallet and rotation, so no App comes near the 2^32 uses at which random
    /// 96-bit nonces become a risk.
    pub(crate) data_keys: Aead,
    /// Computes the keyed hash of wallet records.
    pub(crate) rows: hmac::Key,
    /// Encrypts the private halves of import key pairs.
    pub(crate) imports: Sealing,
}

impl Subkeys for WalletSubkeys {
    const PURPOSE: KeyPurpose = KeyPurpose::Wallets;

    fn derive(app_key: &Secret<[u8; 32]>) -> Result<Self, Refused> {
        let root = Root::new(app_key);
        Ok(Self {
            data_keys: Aead::new(&*root.expand(&[b"wallets", b"data-keys"])?)?,
            rows: hmac::Key::new(HMAC_SHA256, root.expand(&[b"wallets", b"rows"])?.as_slice()),
            imports: Sealing::derive(&root, &[b"wallets", b"imports"])?,
        })
    }
}

/// Subkeys of an App key of purpose `secrets`.
pub(crate) struct SecretSubkeys {
    code: KindSubkeys,
    outbox_payload: KindSubkeys,
    signing_key: KindSubkeys,
    password: KindSubkeys,
    totp_seed: KindSubkeys,
    recovery_code: KindSubkeys,
    audit: KindSubkeys,
    provider_secret: KindSubkeys,
    oauth_flow: KindSubkeys,
    oauth_identity: KindSubkeys,
    webhook_secret: KindSubkeys,
    kept_answer: KindSubkeys,
}

impl SecretSubkeys {
    pub(crate) const fn of(&self, kind: SecretKind) -> &KindSubkeys {
        match kind {
            SecretKind::Code => &self.code,
            SecretKind::OutboxPayload => &self.outbox_payload,
            SecretKind::SigningKey => &self.signing_key,
            SecretKind::Password => &self.password,
            SecretKind::TotpSeed => &self.totp_seed,
            SecretKind::RecoveryCode => &self.recovery_code,
            SecretKind::Audit => &self.audit,
            SecretKind::ProviderSecret => &self.provider_secret,
            SecretKind::OauthFlow => &self.oauth_flow,
            SecretKind::OauthIdentity => &self.oauth_identity,
            SecretKind::WebhookSecret => &self.webhook_secret,
            SecretKind::StoredResponse => &self.kept_answer,
        }
    }
}

impl Subkeys for SecretSubkeys {
    const PURPOSE: KeyPurpose = KeyPurpose::Secrets;

    fn derive(app_key: &Secret<[u8; 32]>) -> Result<Self, Refused> {
        let root = Root::new(app_key);
        Ok(Self {
            code: KindSubkeys::derive(&root, SecretKind::Code)?,
            outbox_payload: KindSubkeys::derive(&root, SecretKind::OutboxPayload)?,
            signing_key: KindSubkeys::derive(&root, SecretKind::SigningKey)?,
            password: KindSubkeys::derive(&root, SecretKind::Password)?,
            totp_seed: KindSubkeys::derive(&root, SecretKind::TotpSeed)?,
            recovery_code: KindSubkeys::derive(&root, SecretKind::RecoveryCode)?,
            audit: KindSubkeys::derive(&root, SecretKind::Audit)?,
            provider_secret: KindSubkeys::derive(&root, SecretKind::ProviderSecret)?,
            oauth_flow: KindSubkeys::derive(&root, SecretKind::OauthFlow)?,
            oauth_identity: KindSubkeys::derive(&root, SecretKind::OauthIdentity)?,
            webhook_secret: KindSubkeys::derive(&root, SecretKind::WebhookSecret)?,
            kept_answer: KindSubkeys::derive(&root, SecretKind::StoredResponse)?,
        })
    }
}

/// Returns the kind of secret whose keyed-hash key a narrow purpose preserves.
const fn kept_kind(purpose: KeyPurpose) -> Option<SecretKind> {
    match purpose {
        KeyPurpose::PastAudit => Some(SecretKind::Audit),
        // These keyed hashes had this kind before any key had a second version.
        KeyPurpose::Decoys => Some(SecretKind::Code),
        KeyPurpose::Wallets | KeyPurpose::Secrets | KeyPurpose::Audit => None,
    }
}

/// Returns the part of an App key of purpose `secrets` that remains as a key of the given purpose.
pub(crate) fn narrowed(
    app_key: &Secret<[u8; 32]>,
    purpose: KeyPurpose,
) -> Result<Secret<[u8; 32]>, Refused> {
    let kind = kept_kind(purpose).ok_or(Refused)?;
    let key = hash_key(&Root::new(app_key), kind)?;
    Ok(Secret::new(*key))
}

fn hash_key(root: &Root, kind: SecretKind) -> Result<Zeroizing<[u8; KEY_LENGTH]>, Refused> {
    root.expand(&[b"secrets", b"hash", kind.label().as_bytes()])
}

/// An App key of purpose `past-audit`: the key of the audit log's keyed hashes, and nothing else.
pub(crate) struct PastAuditKey(pub(crate) hmac::Key);

impl Subkeys for PastAuditKey {
    const PURPOSE: KeyPurpose = KeyPurpose::PastAudit;

    fn derive(app_key: &Secret<[u8; 32]>) -> Result<Self, Refused> {
        Ok(Self(hmac::Key::new(HMAC_SHA256, app_key.expose())))
    }
}

/// An App key of purpose `decoys`: the key that decoys are derived from, and nothing else.
pub(crate) struct DecoyKey(pub(crate) hmac::Key);

impl Subkeys for DecoyKey {
    const PURPOSE: KeyPurpose = KeyPurpose::Decoys;

    fn derive(app_key: &Secret<[u8; 32]>) -> Result<Self, Refused> {
        Ok(Self(hmac::Key::new(HMAC_SHA256, app_key.expose())))
    }
}

/// Subkeys of an App key of purpose `audit`: the seed of the Ed25519 key for checkpoints. The key pair is derived for each signature, which
/// happens once a minute.
pub(crate) struct AuditSubkeys {
    pub(crate) checkpoints: Zeroizing<[u8; KEY_LENGTH]>,
}

impl Subkeys for AuditSubkeys {
    const PURPOSE: KeyPurpose = KeyPurpose::Audit;

    fn derive(app_key: &Secret<[u8; 32]>) -> Result<Self, Refused> {
        let checkpoints = Root::new(app_key).expand(&[b"audit", b"checkpoints"])?;
        Ok(Self { checkpoints })
    }
}

/// Subkeys of one kind of secret.
pub(crate) struct KindSubkeys {
    /// Encrypts secrets.
    pub(crate) sealing: Sealing,
    /// Computes keyed hashes.
    pub(crate) hashes: hmac::Key,
}

impl KindSubkeys {
    fn derive(root: &Root, kind: SecretKind) -> Result<Self, Refused> {
        let label = kind.label().as_bytes();
        let hashes = hash_key(root, kind)?;
        Ok(Self {
            sealing: Sealing::derive(root, &[b"secrets", b"seal", label])?,
            hashes: hmac::Key::new(HMAC_SHA256, hashes.as_slice()),
        })
    }
}

/// Encrypts any number of small secrets.
pub(crate) struct Sealing(Root);

impl Sealing {
    /// Length in bytes of the salt that precedes the ciphertext.
    pub(crate) const SALT_LENGTH: usize = 16;

    fn derive(root: &Root, label: &[&[u8]]) -> Result<Self, Refused> {
        let key = root.expand(label)?;
        let prk = Prk::new_less_safe(HKDF_SHA256, key.as_slice());
        Ok(Self(Root(prk)))
    }

    /// Returns `salt ‖ nonce ‖ ciphertext ‖ tag`. The salt selects a separate key for each secret. There is one secret per message sent,
    /// and replicas share no counter, so the number of uses must not matter.
    pub(crate) fn seal(
        &self,
        entropy: &dyn Entropy,
        associated_data: &[u8],
        plaintext: &[u8],
    ) -> Result<Vec<u8>, Refused> {
        let mut salt = [0; Self::SALT_LENGTH];
        entropy.fill(&mut salt);
        let sealed = self
            .one_time(&salt)?
            .seal(entropy, associated_data, plaintext)?;
        Ok([salt.as_slice(), &sealed].concat())
    }

    /// Decrypts the output of [`Sealing::seal`].
    pub(crate) fn open(
        &self,
        associated_data: &[u8],
        sealed: &[u8],
    ) -> Result<Zeroizing<Vec<u8>>, Refused> {
        let (salt, sealed) = sealed
            .split_first_chunk::<{ Self::SALT_LENGTH }>()
            .ok_or(Refused)?;
        self.one_time(salt)?.open(associated_data, sealed)
    }

    fn one_time(&self, salt: &[u8; Self::SALT_LENGTH]) -> Result<Aead, Refused> {
        Aead::new(&*self.0.expand(&[b"one-time", salt])?)
    }
}

/// A key that is only used to derive other keys. The library wipes it.
struct Root(Prk);

impl Root {
    fn new(app_key: &Secret<[u8; 32]>) -> Self {
        Self(Salt::new(HKDF_SHA256, SALT).extract(app_key.expose()))
    }

    fn expand(&self, label: &[&[u8]]) -> Result<Zeroizing<[u8; KEY_LENGTH]>, Refused> {
        let info = join_with_lengths(label.iter().copied());
        let mut key = Zeroizing::new([0; KEY_LENGTH]);
        self.0
            .expand(&[&info], HKDF_SHA256)
            .and_then(|okm| okm.fill(key.as_mut_slice()))
            .map_err(|_unspecified| Refused)?;
        Ok(key)
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod wycheproof;
