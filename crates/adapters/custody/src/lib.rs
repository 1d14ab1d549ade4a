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
//! All stored data are encrypted with AES-256-GCM. The associated data state exactly where a ciphertext belongs, so that it does not open
//! anywhere else. All of it fails closed: there is a single error for "altered", no repair and no second attempt with another key.
//!
//! **Not** detected: a row and its key rolled back *together* to their own older state by someone with write access to the database. That
//! would need a counter outside of the database (T4).
//!
//! Decrypted App keys are kept in memory for a limited time, wallet keys only for the duration of one call.

mod aead;
mod alarm;
mod checkpoint_signer;
mod envelope;
mod key_ring;
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
use vestry_ports::meter::Meter;
use vestry_ports::store::Store;
use vestry_ports::vault::Vaults;

use alarm::Alarm;
use key_ring::{KeyRing, Times};
use subkeys::{AuditSubkeys, DecoyKey, PastAuditKey, SecretSubkeys, WalletSubkeys};

/// How long a decrypted App key is used without another call to the key provider. If the provider is unavailable, keys decrypted before
/// keep working for this long.
const LEASE: Duration = Duration::from_secs(60 * 60);

/// Creates wallet keys, signs with them, and encrypts small secrets.
pub struct Custody {
    vaults: Vaults,
    entropy: Arc<dyn Entropy>,
    chains: Chains,
    wallet_keys: Arc<KeyRing<WalletSubkeys>>,
    secret_keys: Arc<KeyRing<SecretSubkeys>>,
    past_audit_keys: Arc<KeyRing<PastAuditKey>>,
    decoy_keys: Arc<KeyRing<DecoyKey>>,
    audit_keys: Arc<KeyRing<AuditSubkeys>>,
    alarm: Arc<Alarm>,
}

impl Custody {
    /// Creates custody with these key providers. It reads only App keys from the store.
    ///
    /// # Errors
    /// [`CustodyError::Failed`] if the source of randomness repeats itself at startup.
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
                // Detects rotations by other processes.
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

    /// Counts alarms about altered data, and measures the key provider, with `meter`. A second call does nothing.
    pub fn measured_by(&self, meter: Arc<dyn Meter>) {
        let _is_second = self.alarm.meter.set(meter);
    }

    /// Returns how many altered or misplaced records and keys were found since the start; each one is also logged. Anything but 0 means
    /// that the database was changed by something other than the service, such as a person or a broken disk.
    pub fn alarms(&self) -> u64 {
        self.alarm.count()
    }
}

/// Draws from the source, and fails if it repeats itself. That is the only failure of randomness that can be detected, and every key would
/// be the same. Three draws that differ prove nothing about a source, two equal ones prove that it is broken.
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
