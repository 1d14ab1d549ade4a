//! Envelope encryption of wallet keys and of small secrets; the only crate besides `chains` that sees a private key.
//!
//! ```text
//! root key, one per purpose (key providers)    never here
//!  └─ wraps  App key, per App, environment, purpose and version
//!      ├─ purpose `wallets`, HKDF-SHA-256
//!      │   ├─ wraps data keys: one random data key per wallet key
//!      │   │                    └─ encrypts the private key
//!      │   ├─ row MAC: HMAC-SHA-256 over the wallet record
//!      │   └─ seals the private halves of key pairs for imports (HPKE)
//!      ├─ purpose `audit`, of the built-in App, HKDF-SHA-256: the Ed25519 key of checkpoints
//!      └─ purpose `secrets`, HKDF-SHA-256, per kind of secret
//!          ├─ seals small secrets
//!          └─ keyed hashes: HMAC-SHA-256
//!              ├─ stays as an App key of purpose `past-audit` when its version is destroyed: that of the audit log
//!              └─ stays as an App key of purpose `decoys` from the first rotation on: what decoys are made of
//! ```
//!
//! Every encryption of what is stored is AES-256-GCM with associated data that say exactly where the ciphertext belongs, so that a
//! ciphertext in any other place does not open. All of it fails closed: there is one error for "altered", no repair
//! and no second try under another key.
//!
//! What is **not** detected: a row and its key set back *together* to an older state of their own, by somebody who can
//! write the database. That takes a counter outside the database (T4).
//!
//! Opened App keys are kept in memory for a limited time, wallet keys only for the length of one call.

mod aead;
mod alarm;
mod envelope;
mod key_ring;
mod notary;
mod sealed_message;
mod secrets;
mod subkeys;
mod transfers;
mod wallets;

use std::sync::Arc;
use std::time::Duration;

use vestry_chains::Chains;
use vestry_domain::Secret;
use vestry_ports::custody::{CustodyError, NEWEST_WITHIN};
use vestry_ports::entropy::Entropy;
use vestry_ports::store::Store;
use vestry_ports::vault::Vaults;

use alarm::Alarm;
use key_ring::{KeyRing, Times};
use subkeys::{AuditSubkeys, DecoyKey, PastAuditKey, SecretSubkeys, WalletSubkeys};

/// How long an opened App key stays in use without asking the key provider again. When the provider is gone, keys
/// opened before go on working for this long.
const LEASE: Duration = Duration::from_secs(60 * 60);

/// Makes wallet keys, signs with them, and seals small secrets.
pub struct Custody {
    vaults: Vaults,
    entropy: Arc<dyn Entropy>,
    chains: Chains,
    wallet_keys: KeyRing<WalletSubkeys>,
    secret_keys: KeyRing<SecretSubkeys>,
    past_audit_keys: KeyRing<PastAuditKey>,
    decoy_keys: KeyRing<DecoyKey>,
    audit_keys: KeyRing<AuditSubkeys>,
    alarm: Arc<Alarm>,
}

impl Custody {
    /// Custody under the key providers. Of the store it only ever reads App keys.
    ///
    /// # Errors
    /// [`CustodyError::Failed`] when the source of randomness repeats itself at start.
    pub fn new(
        vaults: Vaults,
        store: Arc<dyn Store>,
        entropy: Arc<dyn Entropy>,
    ) -> Result<Self, CustodyError> {
        Self::with_times(
            vaults,
            store,
            entropy,
            Times {
                lease: LEASE,
                // So that a rotation by another process is noticed.
                recheck: NEWEST_WITHIN,
            },
        )
    }

    fn with_times(
        vaults: Vaults,
        store: Arc<dyn Store>,
        entropy: Arc<dyn Entropy>,
        times: Times,
    ) -> Result<Self, CustodyError> {
        let blinding = healthy_draw(entropy.as_ref())?;
        let alarm = Arc::new(Alarm::default());
        Ok(Self {
            wallet_keys: KeyRing::new(&vaults, &store, &alarm, times),
            secret_keys: KeyRing::new(&vaults, &store, &alarm, times),
            past_audit_keys: KeyRing::new(&vaults, &store, &alarm, times),
            decoy_keys: KeyRing::new(&vaults, &store, &alarm, times),
            audit_keys: KeyRing::new(&vaults, &store, &alarm, times),
            chains: Chains::new(&blinding),
            vaults,
            entropy,
            alarm,
        })
    }

    /// How many altered or misplaced records and keys were met since the start; each one is also in the log. Anything
    /// but 0 means that somebody, or a broken disk, wrote to the database behind our back.
    pub fn alarms(&self) -> u64 {
        self.alarm.count()
    }
}

/// A source that repeats itself is the one failure of randomness that can be noticed; every key would be the same.
/// Three draws that differ say nothing good about a source, two that agree say all that is needed.
fn healthy_draw(entropy: &dyn Entropy) -> Result<Secret<[u8; 32]>, CustodyError> {
    let draw = || {
        let mut bytes = [0; 32];
        entropy.fill(&mut bytes);
        Secret::new(bytes)
    };
    let (first, second, third) = (draw(), draw(), draw());
    let repeats = first.expose() == second.expose()
        || second.expose() == third.expose()
        || first.expose() == third.expose();
    if repeats {
        return Err(CustodyError::Failed(
            "the source of randomness repeats itself",
        ));
    }
    Ok(first)
}

#[cfg(test)]
mod tests;
