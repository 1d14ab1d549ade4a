//! The PasswordHasher port: Argon2id, and the hash formats of other services.
//!
//! | module | contents |
//! |---|---|
//! | `settings` | parameters, and how many hashes may run and wait |
//! | `threads` | the hashing threads, each with its own memory, and the queue in front of them (P-7) |
//! | `scheme` | schemes; parsing of parameters, salt and hash; cost limits (P-6) |
//! | `text` | the parts of a hash's text |
//! | `compute` | the hash functions |
//!
//! Memory is bounded. Each thread hashes with one buffer of `memory_kib`, which it keeps while there is work and frees when there is none.
//! An imported hash replaces that buffer; of those that need more, one runs at a time. The total is therefore at most `threads ×
//! memory_kib`, plus [`LARGEST_MIB`] MiB (and 64 KiB of scrypt) while such a hash is verified.

mod compute;
mod scheme;
mod settings;
mod text;
mod threads;

use std::sync::Arc;

use vestry_domain::Secret;
use vestry_domain::password::{Normalization, Password, PasswordHash};
use vestry_ports::entropy::Entropy;
use vestry_ports::meter::Meter;
use vestry_ports::passwords::{ForeignHashError, HasherError, PasswordHasher};
use vestry_ports::port;

pub use scheme::LARGEST_MIB;
pub use settings::{Settings, SettingsError};

use compute::Memory;
use scheme::{Argon2Kind, Scheme};
use threads::Threads;

/// Length of a new salt in bytes (P-4).
const SALT: usize = 16;
/// Length of a new hash in bytes.
const OUTPUT: usize = 32;
/// The text normalization of new hashes.
const FORM: Normalization = Normalization::Nfc;

/// Hashes passwords with Argon2id.
pub struct Argon2Hasher {
    settings: Settings,
    threads: Threads,
    entropy: Arc<dyn Entropy>,
    /// The scheme that [`PasswordHasher::pretend`] computes; it belongs to no user.
    decoy: Scheme,
}

impl Argon2Hasher {
    /// Starts the threads.
    ///
    /// # Errors
    /// Argon2 does not allow the parameters, or the system cannot start a thread.
    pub fn new(settings: Settings, entropy: Arc<dyn Entropy>) -> Result<Self, SettingsError> {
        settings.check()?;
        let mut salt = vec![0; SALT];
        entropy.fill(&mut salt);
        let decoy = Self::scheme(settings, salt, vec![0; OUTPUT]);
        Ok(Self {
            settings,
            threads: Threads::start(settings)?,
            entropy,
            decoy,
        })
    }

    /// Measures waits and refusals with `meter` from now on. A second call does nothing.
    pub fn measured_by(&self, meter: Arc<dyn Meter>) {
        let _is_second = self.threads.meter.set(meter);
    }

    /// Returns a scheme with the current parameters.
    const fn scheme(settings: Settings, salt: Vec<u8>, output: Vec<u8>) -> Scheme {
        Scheme::Argon2 {
            kind: Argon2Kind::Id,
            version: argon2::Version::V0x13,
            memory_kib: settings.memory_kib,
            iterations: settings.iterations,
            parallelism: settings.parallelism,
            salt,
            output,
        }
    }

    /// Compares on one of the threads.
    async fn compare(
        &self,
        password: &Password,
        form: Normalization,
        scheme: Scheme,
    ) -> Result<bool, HasherError> {
        let text = password.in_form(form).clone();
        self.threads
            .run(move |memory| memory.matches(&scheme, text.expose().as_bytes()))
            .await?
    }
}

#[port]
impl PasswordHasher for Argon2Hasher {
    fn has_room(&self) -> bool {
        self.threads.have_room()
    }

    async fn hash(&self, password: &Password) -> Result<PasswordHash, HasherError> {
        let mut salt = vec![0; SALT];
        self.entropy.fill(&mut salt);
        let scheme = Self::scheme(self.settings, salt, vec![0; OUTPUT]);
        let text = password.in_form(FORM).clone();
        let computed = self
            .threads
            .run(move |memory: &mut Memory| {
                let output = memory.compute(&scheme, text.expose().as_bytes())?;
                Ok(scheme.with_output(output.to_vec()))
            })
            .await??;
        Ok(PasswordHash {
            normalization: FORM,
            text: Secret::new(computed.to_text()),
        })
    }

    async fn verify(&self, password: &Password, hash: &PasswordHash) -> Result<bool, HasherError> {
        let scheme = Scheme::read(hash.text.expose());
        let scheme = scheme.map_err(|_unreadable| HasherError::Failed("stored hash"))?;
        self.compare(password, hash.normalization, scheme).await
    }

    async fn pretend(&self, password: &Password) -> Result<(), HasherError> {
        self.compare(password, FORM, self.decoy.clone())
            .await
            .map(drop)
    }

    fn is_outdated(&self, hash: &PasswordHash) -> bool {
        let good = Scheme::read(hash.text.expose()).is_ok_and(|scheme| {
            // A hash of another normalization is replaced, unless that would weaken it.
            let may_stay = hash.normalization == FORM || !scheme.has_parameters_of(&self.decoy);
            scheme.is_as_strong_as(&self.decoy) && may_stay
        });
        !good
    }

    fn admit(&self, hash: &PasswordHash) -> Result<PasswordHash, ForeignHashError> {
        let scheme = Scheme::read(hash.text.expose())?;
        scheme.check_cost()?;
        Ok(PasswordHash {
            normalization: hash.normalization,
            text: Secret::new(scheme.to_text()),
        })
    }
}

#[cfg(test)]
mod tests;
